//! Events of operations, and their encoding between a coordinator and a command line.

use std::str::FromStr;

use weft_graph_format::operation_kind::NamedAction;
use weft_proto::cluster as proto;
use weft_protocol::{Candidate, ShownName};
use weft_state::{Opaque, WorkerId};

use crate::process::worker_name;

/// An event of an operation, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationEvent {
    /// The operation's number.
    pub operation: u32,
    /// The address of the operation.
    pub address: String,
    /// The key of the deposed object, if the operation changes a deposed object.
    pub deposed: Option<String>,
    /// The action of the operation.
    pub action: NamedAction,
    /// The provider instance as text; empty if there is none.
    pub provider_instance: String,
    /// The number of the attempt.
    pub attempt: u32,
    /// The worker that executes the operation; empty if there is none.
    pub worker: WorkerId,
    /// Milliseconds since a worker received the operation.
    pub elapsed_ms: u64,
    /// What happened.
    pub what: OperationEventKind,
    /// Encoded diagnostics.
    pub diagnostics: Opaque,
}

/// What happened to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationEventKind {
    /// A worker has received the operation.
    Started,
    /// The worker returned the operation, and it is pending again. If the worker could not open the provider, the event
    /// has the worker's diagnostics.
    Returned,
    /// The operation is done, and the result is durable.
    Done {
        /// Whether there was an intent. If so, a real object may have changed. A planned change that turned out to be
        /// unnecessary has no intent.
        intended: bool,
        /// How progress lines name the object.
        shown: Option<ShownName>,
    },
    /// The operation failed, and the failure is durable.
    Failed,
    /// The provider refused the call temporarily. The operation is retried after a pause.
    Refused {
        /// The pause in milliseconds.
        pause: u64,
    },
    /// The operation is skipped, because another operation failed or is in doubt.
    Skipped {
        /// The number of the other operation.
        because: u32,
    },
    /// The outcome is unknown. A worker looks for evidence.
    Settling {
        /// Why the outcome is unknown.
        reason: String,
    },
    /// The outcome is unknown, and no evidence was found.
    InDoubt {
        /// Why no evidence was found, as text for the user.
        reason: String,
        /// An object that the operation may have created.
        candidate: Option<Box<Candidate>>,
    },
    /// A superseded attempt reported an object that differs from the recorded object. The reported object is recorded
    /// as a stray.
    Stray,
    /// No connected worker is suitable for the shard of this operation. If a worker could not open the provider
    /// earlier, the event has the diagnostics of that worker.
    Waiting,
    /// No worker has been connected for [`crate::timing::NO_WORKER_NOTICE`]. This operation is the first that waits for
    /// a worker.
    NoWorker,
}

impl OperationEventKind {
    /// The name of the kind on the wire and in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            OperationEventKind::Started => "started",
            OperationEventKind::Returned => "returned",
            OperationEventKind::Done { .. } => "done",
            OperationEventKind::Failed => "failed",
            OperationEventKind::Refused { .. } => "refused",
            OperationEventKind::Skipped { .. } => "skipped",
            OperationEventKind::Settling { .. } => "settling",
            OperationEventKind::InDoubt { .. } => "in-doubt",
            OperationEventKind::Stray => "stray",
            OperationEventKind::Waiting => "waiting",
            OperationEventKind::NoWorker => "no-worker",
        }
    }
}

impl OperationEvent {
    /// The event for the wire. It contains only the name of the worker, not its incarnation.
    pub(crate) fn into_wire(self) -> proto::OperationEvent {
        let status = self.what.word().to_owned();
        let (mut reason, mut intended, mut shown, mut candidate) = (String::new(), false, None, None);
        match self.what {
            OperationEventKind::Settling { reason: why } => reason = why,
            OperationEventKind::InDoubt { reason: why, candidate: found } => {
                reason = why;
                candidate = found.map(|found| found.into_wire());
            }
            OperationEventKind::Refused { pause } => reason = pause.to_string(),
            OperationEventKind::Skipped { because } => reason = because.to_string(),
            OperationEventKind::Done { intended: called, shown: name } => {
                intended = called;
                shown = name.map(|name| proto::ShownName { attribute: name.attribute, value: name.value });
            }
            OperationEventKind::Started
            | OperationEventKind::Returned
            | OperationEventKind::Failed
            | OperationEventKind::Stray
            | OperationEventKind::Waiting
            | OperationEventKind::NoWorker => {}
        }
        proto::OperationEvent {
            operation: self.operation,
            address: self.address,
            action: self.action.word().to_owned(),
            provider_instance: self.provider_instance,
            worker: worker_name(&self.worker).to_owned(),
            elapsed_ms: self.elapsed_ms,
            status,
            diagnostics: self.diagnostics.0,
            deposed: self.deposed.unwrap_or_default(),
            attempt: self.attempt,
            reason,
            intended,
            shown,
            candidate,
        }
    }

    /// The event from the wire; `None` for a kind that a later version added.
    ///
    /// # Errors
    /// Returns an error if the number in an event is not a number.
    pub(crate) fn from_wire(event: proto::OperationEvent) -> Result<Option<OperationEvent>, MalformedEvent> {
        let (reason, status) = (event.reason, event.status);
        let what = match status.as_str() {
            "started" => OperationEventKind::Started,
            "returned" => OperationEventKind::Returned,
            "done" => {
                let shown = event.shown.map(|name| ShownName { attribute: name.attribute, value: name.value });
                OperationEventKind::Done { intended: event.intended, shown }
            }
            "failed" => OperationEventKind::Failed,
            "refused" => OperationEventKind::Refused { pause: number(&status, reason)? },
            "skipped" => OperationEventKind::Skipped { because: number(&status, reason)? },
            "settling" => OperationEventKind::Settling { reason },
            "in-doubt" => {
                let found = event.candidate.map(|found| Box::new(Candidate::from_wire(found, reason.clone())));
                OperationEventKind::InDoubt { reason, candidate: found }
            }
            "stray" => OperationEventKind::Stray,
            "waiting" => OperationEventKind::Waiting,
            "no-worker" => OperationEventKind::NoWorker,
            _ => return Ok(None),
        };
        Ok(Some(OperationEvent {
            operation: event.operation,
            address: event.address,
            deposed: (!event.deposed.is_empty()).then_some(event.deposed),
            action: event.action.as_str().into(),
            provider_instance: event.provider_instance,
            attempt: event.attempt,
            worker: WorkerId(event.worker),
            elapsed_ms: event.elapsed_ms,
            what,
            diagnostics: Opaque(event.diagnostics),
        }))
    }
}

/// An event from the wire that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event `{status}` of an operation has {found:?} in place of a number")]
pub struct MalformedEvent {
    status: String,
    found: String,
}

/// The number of a refused or skipped operation's event. The message has it in the field for the reason.
fn number<N: FromStr>(status: &str, text: String) -> Result<N, MalformedEvent> {
    text.parse().map_err(|_| MalformedEvent { status: status.to_owned(), found: text })
}

#[cfg(test)]
mod tests {
    use weft_graph_format::operation_kind::OperationKind;

    use super::*;

    #[test]
    fn every_kind_round_trips() {
        let shown = ShownName { attribute: "id".to_owned(), value: "i-1".to_owned() };
        let kinds = [
            OperationEventKind::Started,
            OperationEventKind::Returned,
            OperationEventKind::Done { intended: true, shown: Some(shown) },
            OperationEventKind::Done { intended: false, shown: None },
            OperationEventKind::Failed,
            OperationEventKind::Refused { pause: 900 },
            OperationEventKind::Skipped { because: 7 },
            OperationEventKind::Settling { reason: "lost".to_owned() },
            OperationEventKind::InDoubt { reason: "lost".to_owned(), candidate: None },
            OperationEventKind::InDoubt {
                reason: "there".to_owned(),
                candidate: Some(Box::new(Candidate {
                    reason: "there".to_owned(),
                    id: "b".to_owned(),
                    attributes: vec![("id".to_owned(), "\"b\"".to_owned())],
                })),
            },
            OperationEventKind::Stray,
            OperationEventKind::Waiting,
            OperationEventKind::NoWorker,
        ];
        for what in kinds {
            let progress = OperationEvent {
                operation: 3,
                address: "a.b".to_owned(),
                deposed: Some("0badcafe".to_owned()),
                action: OperationKind::Create.into(),
                provider_instance: "provider[\"h/n/t\"]".to_owned(),
                attempt: 2,
                worker: WorkerId("w".to_owned()),
                elapsed_ms: 9,
                what,
                diagnostics: Opaque(vec![1]),
            };
            assert_eq!(OperationEvent::from_wire(progress.clone().into_wire()), Ok(Some(progress)));
        }
        let later = proto::OperationEvent { status: "pondering".to_owned(), ..Default::default() };
        assert_eq!(OperationEvent::from_wire(later), Ok(None));
    }

    #[test]
    fn an_event_without_its_number_is_an_error() {
        for (status, reason) in [("skipped", "a.b"), ("skipped", ""), ("refused", "-1")] {
            let (status, reason) = (status.to_owned(), reason.to_owned());
            let event = proto::OperationEvent { status: status.clone(), reason: reason.clone(), ..Default::default() };
            assert_eq!(OperationEvent::from_wire(event), Err(MalformedEvent { status, found: reason }));
        }
    }
}
