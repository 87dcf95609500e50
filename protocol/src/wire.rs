//! Converts messages to the generated types. [`read`] converts in the other direction.

pub(crate) mod read;

use weft_graph_format::shown::ShownName;
use weft_graph_format::stored::{InstanceObject, OutputWrite, PathStep, SensitivePath};
use weft_proto::cluster as proto;

use crate::Task;
use crate::diagnostics::{decode_diagnostics, first_error};
use crate::frame::{CoordinatorFrame, OutputLine, WorkerFrame};
use crate::greeting::{Greeting, HeldPhase, HeldTask};
use crate::order::{OpenShard, Order, SettleOrder};
use crate::report::{Candidate, ObjectChange, ObjectWrite, Report, SettleVerdict, TaskDone, TaskResult, TaskWrites};

pub(crate) fn coordinator_frame(frame: CoordinatorFrame) -> proto::CoordinatorFrame {
    proto::CoordinatorFrame {
        welcome: frame.welcome.map(|welcome| proto::Welcome {
            heartbeat_ms: welcome.heartbeat_ms,
            pause_ms: welcome.pause_ms,
            intent_age_ms: welcome.intent_age_ms,
            protocol: welcome.protocol,
            refused: welcome.refused.unwrap_or_default(),
            sealed: welcome.sealed,
        }),
        heartbeat: frame.heartbeat,
        orders: frame
            .orders
            .into_iter()
            .map(|of_run| proto::RunOrders {
                run: of_run.run.to_string(),
                epoch: of_run.epoch,
                orders: of_run.orders.into_iter().map(order).collect(),
            })
            .collect(),
    }
}

pub(crate) fn worker_frame(frame: WorkerFrame) -> proto::WorkerFrame {
    proto::WorkerFrame {
        hello: frame.greeting.map(greeting),
        heartbeat: frame.heartbeat,
        reports: frame
            .reports
            .into_iter()
            .map(|of_run| proto::RunReport {
                run: of_run.run.to_string(),
                items: of_run.reports.into_iter().map(report).collect(),
            })
            .collect(),
        leaving: frame.leaving,
        lines: frame.lines.into_iter().map(|of_run| line(of_run.run.to_string(), of_run.line)).collect(),
    }
}

fn line(run: String, line: OutputLine) -> proto::OutputLine {
    proto::OutputLine { run, address: line.address, provisioner: line.provisioner, line: line.text }
}

impl OutputLine {
    /// The line as the generated type, for watchers of its run.
    pub fn into_wire(self) -> proto::OutputLine {
        line(String::new(), self)
    }

    /// Reads a line from the generated type.
    pub fn from_wire(line: proto::OutputLine) -> OutputLine {
        OutputLine { address: line.address, provisioner: line.provisioner, text: line.line }
    }
}

impl Candidate {
    /// The object as the generated type, without its reason.
    pub fn into_wire(self) -> proto::Candidate {
        let shown = |(attribute, value)| proto::ShownName { attribute, value };
        proto::Candidate { id: self.id, attributes: self.attributes.into_iter().map(shown).collect() }
    }

    /// Reads an object from the generated type.
    pub fn from_wire(found: proto::Candidate, reason: String) -> Candidate {
        let attributes = found.attributes.into_iter().map(|shown| (shown.attribute, shown.value)).collect();
        Candidate { reason, id: found.id, attributes }
    }
}

fn greeting(greeting: Greeting) -> proto::WorkerHello {
    proto::WorkerHello {
        name: greeting.name,
        incarnation: greeting.incarnation,
        labels: greeting.labels.into_iter().collect(),
        capacity: greeting.capacity,
        packages: greeting
            .packages
            .into_iter()
            .map(|package| proto::ProviderPackage {
                source: package.source.to_string(),
                version: package.version,
                checksums: package.checksums,
            })
            .collect(),
        held: greeting.held.into_iter().map(held).collect(),
        protocol: greeting.protocol,
        version: greeting.version,
    }
}

fn held(held: HeldTask) -> proto::HeldTask {
    use proto::held_task::Phase;
    let phase = match held.phase {
        HeldPhase::Preparing => Phase::Preparing,
        HeldPhase::Asked => Phase::Asked,
        HeldPhase::Called => Phase::Called,
        HeldPhase::Finished => Phase::Finished,
    };
    proto::HeldTask {
        run: held.run.to_string(),
        operation: held.task.operation,
        attempt: held.task.attempt.0,
        phase: phase.into(),
        maker: held.maker.unwrap_or_default(),
    }
}

fn name(task: Task) -> proto::TaskName {
    proto::TaskName { operation: task.operation, attempt: task.attempt.0 }
}

fn order(order: Order) -> proto::Order {
    use proto::order::Order as O;
    let order = match order {
        Order::Open(open) => O::Open(open_shard(*open)),
        Order::Close(shard) => O::Close(shard),
        Order::Foreign { shard, operation, export, value } => {
            O::Foreign(proto::ForeignResult { shard, operation, export, value: value.to_vec() })
        }
        Order::Restored { shard, operation, value } => {
            let value = Some(proto::LocalResult { operation, value: value.to_vec() });
            O::Restored(proto::RestoredResult { shard, value })
        }
        Order::Start { shard, task, read_first } => {
            O::Start(proto::StartTask { shard, operation: task.operation, attempt: task.attempt.0, read_first })
        }
        Order::Granted(task) => O::Granted(name(task)),
        Order::IntentRefused(task) => O::Refused(name(task)),
        Order::Acknowledged(task) => O::Acknowledged(name(task)),
        Order::Drop(task) => O::Drop(name(task)),
        Order::Settle(settle) => O::Settle(settle_task(settle)),
        Order::Drain => O::Drain(true),
        Order::Stop => O::Stop(true),
        Order::Leave => O::Leave(true),
    };
    proto::Order { order: Some(order) }
}

fn settle_task(settle: SettleOrder) -> proto::SettleTask {
    proto::SettleTask {
        shard: settle.shard,
        operation: settle.task.operation,
        attempt: settle.task.attempt.0,
        holder: settle.holder.0,
        holder_dead: settle.holder_dead,
        adopt: settle.adopt,
        planned: settle.planned.map(|digest| digest.0.to_vec()).unwrap_or_default(),
    }
}

fn open_shard(open: OpenShard) -> proto::OpenShard {
    let package = open.package.unwrap_or_default();
    let restored = open.restored.into_iter();
    let exports = package.exports.into_iter().map(|export| proto::Export {
        operation: export.operation,
        // Encoding plain data into memory does not fail.
        paths: postcard::to_stdvec(&export.paths).unwrap_or_default(),
    });
    proto::OpenShard {
        shard: open.shard,
        fragment: package.fragment.to_vec(),
        restored: restored.map(|(operation, value)| proto::LocalResult { operation, value: value.to_vec() }).collect(),
        exports: exports.collect(),
        inputs: package.inputs.into_iter().collect(),
        plan: package.plan.hex(),
        bound_rule: package.bound.map_or(0, |bound| bound.rule),
        bound: package.bound.map_or(0, |bound| bound.most),
    }
}

fn report(report: Report) -> proto::WorkerItem {
    use proto::worker_item::Item;
    let item = match report {
        Report::Intent { task, planned } => Item::Intent(proto::IntentRequest {
            operation: task.operation,
            attempt: task.attempt.0,
            planned: planned.0.to_vec(),
        }),
        Report::Result { task, result } => Item::Result(proto::TaskResult {
            operation: task.operation,
            attempt: task.attempt.0,
            outcome: Some(outcome(&result)),
        }),
        Report::Settled { task, verdict } => {
            use proto::settle_result::Verdict as V;
            let (mut candidate, mut unopened) = (None, Vec::new());
            let verdict = match verdict {
                SettleVerdict::Applied(found) => V::Applied(done(&found)),
                SettleVerdict::NotApplied { holder_dead } => V::NotApplied(proto::NotApplied { holder_dead }),
                SettleVerdict::Unknown(reason) => V::Unknown(reason),
                SettleVerdict::Unopened(diagnostics) => {
                    let reason = first_error(&decode_diagnostics(&diagnostics));
                    unopened = diagnostics.0;
                    V::Unknown(reason)
                }
                SettleVerdict::Found(found) => {
                    let reason = found.reason.clone();
                    candidate = Some(found.into_wire());
                    V::Unknown(reason)
                }
            };
            Item::Settled(proto::SettleResult {
                operation: task.operation,
                attempt: task.attempt.0,
                verdict: Some(verdict),
                candidate,
                unopened,
            })
        }
        Report::Returned(task) => Item::Returned(name(task)),
        Report::Refused { shard, diagnostics } => {
            Item::Refused(proto::ShardRefused { shard, diagnostics: diagnostics.0 })
        }
    };
    proto::WorkerItem { item: Some(item) }
}

fn outcome(result: &TaskResult) -> proto::task_result::Outcome {
    use proto::task_result::Outcome;
    match result {
        TaskResult::Done(found) => Outcome::Done(done(found)),
        TaskResult::Failed { writes: left, diagnostics, absence_unproven, unopened } => {
            Outcome::Failed(proto::Failed {
                writes: writes(left),
                diagnostics: diagnostics.0.clone(),
                absence_unproven: *absence_unproven,
                unopened: *unopened,
            })
        }
        TaskResult::InDoubt { reason, provider_dead, diagnostics } => Outcome::InDoubt(proto::InDoubt {
            reason: reason.clone(),
            provider_dead: *provider_dead,
            diagnostics: diagnostics.0.clone(),
        }),
        TaskResult::NotCalled { reason } => Outcome::NotCalled(proto::NotCalled { reason: reason.clone() }),
    }
}

fn done(found: &TaskDone) -> proto::Done {
    proto::Done {
        writes: writes(&found.writes),
        local: found.local.to_vec(),
        exports: found.exports.iter().map(|value| value.to_vec()).collect(),
        diagnostics: found.diagnostics.0.clone(),
        shown: found.shown.as_ref().map(shown_name),
    }
}

fn shown_name(shown: &ShownName) -> proto::ShownName {
    proto::ShownName { attribute: shown.attribute.clone(), value: shown.value.clone() }
}

fn writes(writes: &TaskWrites) -> Option<proto::Writes> {
    (!writes.is_empty()).then(|| proto::Writes {
        objects: writes.objects.iter().map(object_write).collect(),
        outputs: writes.outputs.iter().map(output_write).collect(),
    })
}

fn object_write(write: &ObjectWrite) -> proto::ObjectWrite {
    use proto::object_write::Change;
    let change = match &write.change {
        ObjectChange::Put(object) => Change::Put(resource_object(object)),
        ObjectChange::Remove => Change::Remove(true),
        ObjectChange::DeposeAs(key) => Change::DeposeAs(key.to_string()),
        ObjectChange::RestoreFrom(key) => Change::RestoreFrom(key.to_string()),
        ObjectChange::DeposedFrom(address) => Change::DeposedFrom(address.to_string()),
        ObjectChange::Untaint => Change::Untaint(true),
    };
    proto::ObjectWrite {
        address: write.address.to_string(),
        provider: write.provider.clone(),
        deposed: write.deposed.as_ref().map(ToString::to_string).unwrap_or_default(),
        change: Some(change),
    }
}

fn resource_object(object: &InstanceObject) -> proto::ResourceObject {
    proto::ResourceObject {
        schema_version: object.schema_version,
        attributes: object.attributes.as_str().as_bytes().to_vec(),
        sensitive: object.sensitive_paths.iter().map(attribute_path).collect(),
        private: object.private.0.clone(),
        dependencies: object.dependencies.clone(),
        create_before_destroy: object.create_before_destroy,
        skip_destroy: object.skip_destroy,
        tainted: object.tainted,
        identity: object.identity.as_ref().map(|text| text.as_str().as_bytes().to_vec()).unwrap_or_default(),
        identity_schema_version: object.identity_schema_version,
    }
}

fn attribute_path(path: &SensitivePath) -> proto::AttributePath {
    use proto::attribute_step::Step;
    let step = |step: &PathStep| proto::AttributeStep {
        step: Some(match step {
            PathStep::Attribute(name) => Step::Attribute(name.clone()),
            PathStep::Index(key) => Step::Index(key.as_str().to_owned()),
        }),
    };
    proto::AttributePath { steps: path.iter().map(step).collect() }
}

fn output_write(write: &OutputWrite) -> proto::OutputWrite {
    match &write.record {
        None => proto::OutputWrite { name: write.name.clone(), removed: true, ..Default::default() },
        Some(stored) => proto::OutputWrite {
            name: write.name.clone(),
            removed: false,
            value: stored.value.as_str().as_bytes().to_vec(),
            value_type: stored.value_type.as_str().as_bytes().to_vec(),
            sensitive: stored.sensitive,
            deprecated: stored.deprecated.clone(),
        },
    }
}
