//! Bare resources: entries in the state for resources without instances. They are written together when a term ends.
//!
//! As in OpenTofu, a run that fails adds to the state the resources that it reached before the failure, even those that
//! have no object. A run that succeeds removes all resources without instances from the state.

use std::collections::BTreeSet;

use weft_graph_format::address::{AbsResource, InstanceKey};
use weft_graph_format::bare::BareResource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_protocol::diagnostics::decode_diagnostics;
use weft_state::{Opaque, OutputWrite, StoredProvider};

use super::Position;
use super::operation::State;
use super::operations::Operations;
use crate::outline::{Need, OperationKind, Outline, OutlineOperation};

/// Resources without instances.
#[derive(Debug)]
pub(super) struct BareResources {
    /// The resources in the state.
    stored: BTreeSet<BareResource>,
    /// The operations that the run reached and that ended without a call that made or read the object.
    reached: BTreeSet<Position>,
    /// Whether the resources were compared with the state.
    compared: bool,
}

impl BareResources {
    /// Creates the resources of a term. `stored` are the resources in the state.
    pub(super) fn new(stored: Vec<BareResource>) -> BareResources {
        BareResources { stored: stored.into_iter().collect(), reached: BTreeSet::new(), compared: false }
    }

    /// Records that an operation failed with these diagnostics, without an intent. If an error is about the provider of
    /// the operation, the provider could not be configured, and the run did not reach the object.
    pub(super) fn failed(&mut self, outline: &Outline, position: Position, diagnostics: &Opaque) {
        let provider = outline.shard(outline.at(position).shard).map(|shard| shard.key.provider_instance());
        let about_provider = |told: &Diagnostic| told.is_error() && told.address.as_deref() == provider;
        if !decode_diagnostics(diagnostics).iter().any(about_provider) {
            self.failed_before_call(outline, position);
        }
    }

    /// Records that the run reached an operation, but did not call the provider.
    fn failed_before_call(&mut self, outline: &Outline, position: Position) {
        if makes_object(outline.at(position)) {
            self.reached.insert(position);
        }
    }

    /// Records that an operation is done. `unread` says that the operation is the data source of a check block, and
    /// that this source could not be read. The run then reached the operation without reading an object.
    pub(super) fn done(&mut self, outline: &Outline, position: Position, unread: bool) {
        if unread {
            self.failed_before_call(outline, position);
        } else {
            self.reached.remove(&position);
        }
    }

    /// Records that an operation is skipped. If a precondition of its own object does not hold, the run has reached the
    /// object.
    pub(super) fn skipped(&mut self, outline: &Outline, position: Position, because: Position) {
        let (operation, cause) = (outline.at(position), outline.at(because));
        if cause.kind == OperationKind::Check && cause.instance() == operation.instance() {
            self.failed_before_call(outline, position);
        }
    }

    /// The writes at the end of a term. Returned once.
    pub(super) fn take_writes(&mut self, outline: &Outline, operations: &Operations) -> Vec<OutputWrite> {
        let is_done = operations.positions().all(|position| operations.state(position) == State::Done);
        if std::mem::replace(&mut self.compared, true) || self.stored.is_empty() && (is_done || self.reached.is_empty())
        {
            return Vec::new();
        }
        let wanted = if is_done { BTreeSet::new() } else { self.wanted(outline, operations) };
        let removed = self.stored.difference(&wanted).map(|bare| (bare, None));
        let added = wanted.difference(&self.stored).map(|bare| (bare, Some(BareResource::record())));
        removed.chain(added).map(|(bare, record)| OutputWrite { name: bare.to_string(), record }).collect()
    }

    /// The resources without instances after a run that did not finish everything.
    fn wanted(&self, outline: &Outline, operations: &Operations) -> BTreeSet<BareResource> {
        let mut planned: BTreeSet<AbsResource> = BTreeSet::new();
        let mut settled: BTreeSet<AbsResource> = BTreeSet::new();
        let mut wanted: BTreeSet<BareResource> = BTreeSet::new();
        let mut read: Option<BTreeSet<u32>> = None;
        for position in operations.positions() {
            let operation = outline.at(position);
            let has_object = operation.kind == OperationKind::Update && operation.deposed.is_none();
            let concerns = has_object || makes_object(operation);
            let Some(instance) = concerns.then(|| operation.instance()).flatten() else { continue };
            let address = instance.all();
            if self.reached.contains(&position) {
                // As in OpenTofu, a resource below a module instance with a key is listed only if something reads it.
                if !has_key(&address) || read.get_or_insert_with(|| read_by_others(outline)).contains(&operation.index)
                {
                    wanted.extend(provider(outline, operation, &address));
                }
            } else if has_object
                || matches!(operations.state(position), State::Done | State::Failed { .. } | State::InDoubt(_))
            {
                // The instance is in the state, or its failed call has removed the resource.
                settled.insert(address.clone());
            }
            planned.insert(address);
        }
        wanted.retain(|bare| !settled.contains(&bare.resource));
        let kept = self.stored.iter().filter(|bare| !planned.contains(&bare.resource));
        wanted.extend(kept.cloned());
        wanted
    }
}

/// Whether an operation creates an object, or reads a data source.
fn makes_object(operation: &OutlineOperation) -> bool {
    matches!(operation.kind, OperationKind::Create | OperationKind::Read) && operation.deposed.is_none()
}

/// Whether an instance of a module above a resource has a key.
fn has_key(resource: &AbsResource) -> bool {
    resource.module.0.iter().any(|step| step.key != InstanceKey::None)
}

/// The numbers of the operations for which an operation of another subject waits.
fn read_by_others(outline: &Outline) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut waiters: Vec<u32> = Vec::new();
    for operation in &outline.operations {
        for need in &operation.needs {
            match need {
                Need::Operation(index) => {
                    let other = outline.operation(*index).filter(|other| other.address != operation.address);
                    found.extend(other.map(|other| other.index));
                }
                Need::Waiter(waiter) => waiters.push(*waiter),
            }
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(waiter) = waiters.pop() {
        if !seen.insert(waiter) {
            continue;
        }
        for need in outline.waiters.get(waiter as usize).into_iter().flat_map(|waiter| &waiter.needs) {
            match need {
                Need::Operation(index) => drop(found.insert(*index)),
                Need::Waiter(inner) => waiters.push(*inner),
            }
        }
    }
    found
}

/// The resource with the provider of the operation.
fn provider(outline: &Outline, operation: &OutlineOperation, resource: &AbsResource) -> Option<BareResource> {
    let provider = StoredProvider::read(outline.shard(operation.shard)?.key.provider_instance());
    Some(BareResource { resource: resource.clone(), provider: provider.instance().ok()?.config() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::{OutlineShard, ShardKey, Waiter};
    use weft_protocol::diagnostics::encode_diagnostics;

    const PROVIDER: &str = "provider[\"a/b/c\"]";

    /// Two creates of one resource, a read, and a precondition of the read.
    fn outline() -> Outline {
        let operations = [
            (OperationKind::Create, "a.b[0]"),
            (OperationKind::Create, "a.b[1]"),
            (OperationKind::Read, "data.a.d"),
            (OperationKind::Check, "data.a.d"),
        ];
        let operations = operations.into_iter().zip(0..);
        Outline {
            operations: operations.map(|((kind, at), index)| OutlineOperation::new(index, kind, at, 0)).collect(),
            shards: vec![OutlineShard::new(ShardKey::Provider(format!("{PROVIDER}.x[\"k\"]")))],
            ..Outline::default()
        }
    }

    fn operations(states: [State; 4]) -> Operations {
        let mut operations = Operations::new(4, 0);
        for (position, state) in (0..).map(Position).zip(states) {
            operations.restore(position, state, 1, None);
        }
        operations
    }

    fn bare(resource: &str) -> BareResource {
        BareResource { resource: resource.parse().unwrap(), provider: format!("{PROVIDER}.x").parse().unwrap() }
    }

    fn written(stored: &[&str], reached: &[u32], states: [State; 4]) -> Vec<(String, bool)> {
        let outline = outline();
        let mut resources = BareResources::new(stored.iter().map(|resource| bare(resource)).collect());
        reached.iter().for_each(|at| resources.failed_before_call(&outline, Position(*at)));
        let writes = resources.take_writes(&outline, &operations(states));
        assert!(resources.take_writes(&outline, &operations(states)).is_empty(), "once in a term");
        writes.into_iter().map(|write| (write.name, write.record.is_some())).collect()
    }

    const FAILED: State = State::Failed { keeps: false };

    #[test]
    fn a_failed_run_lists_the_resources_that_it_reached() {
        use State::{Done, Skipped};
        let (both, read) = (bare("a.b").to_string(), bare("data.a.d").to_string());
        assert_eq!(written(&[], &[0, 1], [FAILED, FAILED, Skipped, Done]), [(both, true)]);
        assert_eq!(written(&[], &[2], [Done, Done, FAILED, Done]), [(read, true)]);
        assert!(written(&[], &[0], [FAILED, FAILED, Done, Done]).is_empty(), "a failed call has removed the resource");
        assert!(written(&[], &[0], [FAILED, Done, Done, Done]).is_empty(), "the resource has an instance");
    }

    #[test]
    fn a_resource_whose_provider_cannot_be_configured_is_not_reached() {
        let outline = outline();
        let provider = format!("{PROVIDER}.x[\"k\"]");
        for (about, reached) in [(provider.as_str(), false), ("a.b[0]", true)] {
            let mut resources = BareResources::new(Vec::new());
            let told = [Diagnostic::error("x", "y").about(about)];
            resources.failed(&outline, Position(0), &encode_diagnostics(&told));
            let operations = operations([FAILED, State::Skipped, State::Skipped, State::Done]);
            assert_eq!(resources.take_writes(&outline, &operations).is_empty(), !reached, "{about}");
        }
    }

    #[test]
    fn below_modules_with_keys_only_what_others_read_is_listed() {
        for (needs, listed) in [(Vec::new(), false), (vec![Need::Operation(0)], true), (vec![Need::Waiter(1)], true)] {
            let reader =
                OutlineOperation { needs, ..OutlineOperation::new(1, OperationKind::Create, "module.m[0].a.c", 0) };
            let check = OutlineOperation {
                needs: vec![Need::Operation(0)],
                ..OutlineOperation::new(2, OperationKind::Check, "module.m[0].a.b", 0)
            };
            let outline = Outline {
                operations: vec![OutlineOperation::new(0, OperationKind::Create, "module.m[0].a.b", 0), reader, check],
                waiters: vec![Waiter { needs: vec![Need::Operation(0)] }, Waiter { needs: vec![Need::Waiter(0)] }],
                shards: outline().shards,
                ..Outline::default()
            };
            let mut operations = Operations::new(3, 0);
            for (position, state) in (0..).map(Position).zip([FAILED, State::Skipped, State::Done]) {
                operations.restore(position, state, 1, None);
            }
            let mut resources = BareResources::new(Vec::new());
            resources.failed_before_call(&outline, Position(0));
            assert_eq!(resources.take_writes(&outline, &operations).len(), usize::from(listed));
        }
    }

    #[test]
    fn a_false_precondition_counts_as_reached() {
        let outline = outline();
        let mut resources = BareResources::new(Vec::new());
        resources.skipped(&outline, Position(2), Position(3));
        resources.skipped(&outline, Position(1), Position(3));
        let operations = operations([FAILED, State::Skipped, State::Skipped, FAILED]);
        let names: Vec<_> = resources.take_writes(&outline, &operations).into_iter().map(|write| write.name).collect();
        assert_eq!(names, [bare("data.a.d").to_string()]);
    }

    #[test]
    fn a_data_source_of_a_check_that_is_not_read_counts_as_reached() {
        let outline = outline();
        let mut resources = BareResources::new(Vec::new());
        resources.failed_before_call(&outline, Position(0));
        resources.done(&outline, Position(0), false);
        resources.done(&outline, Position(2), true);
        let operations = operations([State::Done, FAILED, State::Done, State::Done]);
        let names: Vec<_> = resources.take_writes(&outline, &operations).into_iter().map(|write| write.name).collect();
        assert_eq!(names, [bare("data.a.d").to_string()]);
    }

    #[test]
    fn a_run_removes_what_it_planned_and_a_successful_run_removes_everything() {
        use State::{Done, Skipped};
        let (gone, planned) = (bare("a.gone").to_string(), bare("data.a.d").to_string());
        assert_eq!(written(&["a.gone", "data.a.d"], &[], [FAILED, Done, Skipped, Done]), [(planned.clone(), false)]);
        assert_eq!(written(&["a.gone", "data.a.d"], &[], [Done; 4]), [(planned, false), (gone, false)]);
    }
}
