//! What is known about the operations in doubt of a run: the reason of each doubt, and the objects that look-ups have
//! found.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use weft_graph_format::address::ResourceInstance;
use weft_protocol::Candidate;
use weft_state::IdOwners;

use crate::operation_event::{OperationEvent, OperationEventKind};
use crate::problems;

/// What is known about an operation in doubt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownDoubt {
    /// Why the outcome is unknown, or the result of a look-up.
    pub reason: String,
    /// An object that the operation may have created.
    pub candidate: Option<Box<Candidate>>,
}

impl KnownDoubt {
    /// Removes a candidate that another address of the state already has, and says so in the reason. An object belongs
    /// to one address. Also removes the candidate if `address` is `None`, because an object can be adopted only for an
    /// instance.
    pub fn without_owned(mut self, address: Option<&ResourceInstance>, owners: &IdOwners) -> KnownDoubt {
        let Some(found) = &self.candidate else { return self };
        let Some(address) = address else {
            self.candidate = None;
            return self;
        };
        let owner = owners.other_with_attributes(address, &found.attributes);
        if let Some(owner) = owner.or_else(|| owners.other(address, &found.id)) {
            self.reason.push_str(&problems::owned_candidate(&owner));
            self.candidate = None;
        }
        self
    }
}

/// What a term knows about its operations in doubt, by their numbers in the plan. This data is shared by the term and
/// the callers that ask about doubts.
#[derive(Debug, Default)]
pub(crate) struct KnownDoubts(Mutex<BTreeMap<u32, KnownDoubt>>);

impl KnownDoubts {
    /// Updates the doubts from an event.
    pub(crate) fn note(&self, event: &OperationEvent) {
        match &event.what {
            OperationEventKind::InDoubt { reason, candidate } => {
                let known = KnownDoubt { reason: reason.clone(), candidate: candidate.clone() };
                self.0.lock().insert(event.operation, known);
            }
            OperationEventKind::Started
            | OperationEventKind::Done { .. }
            | OperationEventKind::Failed
            | OperationEventKind::Skipped { .. }
            | OperationEventKind::Returned => {
                self.0.lock().remove(&event.operation);
            }
            OperationEventKind::Refused { .. }
            | OperationEventKind::Settling { .. }
            | OperationEventKind::Stray
            | OperationEventKind::Waiting
            | OperationEventKind::NoWorker => {}
        }
    }

    /// What is known about an operation. `None` if the operation is not in doubt, or if the term did not handle it.
    pub(crate) fn get(&self, operation: u32) -> Option<KnownDoubt> {
        self.0.lock().get(&operation).cloned()
    }
}

#[cfg(test)]
mod tests {
    use weft_graph_format::operation_kind::OperationKind;
    use weft_state::{Opaque, WorkerId};

    use super::*;

    fn event(what: OperationEventKind) -> OperationEvent {
        OperationEvent {
            operation: 3,
            address: "a.b".to_owned(),
            deposed: None,
            action: OperationKind::Create.into(),
            provider_instance: String::new(),
            worker: WorkerId("w".to_owned()),
            attempt: 1,
            elapsed_ms: 0,
            diagnostics: Opaque::default(),
            what,
        }
    }

    #[test]
    fn without_an_instance_no_object_is_offered() {
        let found = Candidate { reason: String::new(), id: "b".to_owned(), attributes: Vec::new() };
        let known = KnownDoubt { reason: "may be older".to_owned(), candidate: Some(Box::new(found)) };
        let address = "a.b".parse().ok();
        assert_eq!(known.clone().without_owned(address.as_ref(), &IdOwners::default()), known);
        assert_eq!(known.without_owned(None, &IdOwners::default()).candidate, None);
    }

    #[test]
    fn a_doubt_is_known_until_it_is_settled() {
        let doubts = KnownDoubts::default();
        let found = Candidate { reason: String::new(), id: "b".to_owned(), attributes: Vec::new() };
        let known = KnownDoubt { reason: "may be older".to_owned(), candidate: Some(Box::new(found)) };
        let KnownDoubt { reason, candidate } = known.clone();
        doubts.note(&event(OperationEventKind::InDoubt { reason, candidate }));
        doubts.note(&event(OperationEventKind::Settling { reason: String::new() }));
        assert_eq!((doubts.get(3), doubts.get(4)), (Some(known), None));
        doubts.note(&event(OperationEventKind::Returned));
        assert_eq!(doubts.get(3), None);
    }
}
