//! Plain messages to frames and back. Nothing of the generated types goes further than this module.

use prost::Message;
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::{Path, Step};
use weft_proto::cluster as proto;

use crate::message::{
    Done, ObjectChange, ObjectWrite, OpenShard, Order, Orders, OutputWrite, Phase, Report, RunId, RunOrders,
    SettleOrder, StoredObject, Task, TaskResult, Verdict, Welcome, Writes,
};
use crate::options::WorkerOptions;

/// The protocol that this worker speaks.
pub(crate) const PROTOCOL: u32 = 1;

/// What a coordinator sent makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("not a frame")]
    Undecodable,
    #[error("an order is missing or of a later version")]
    Order,
    #[error("the paths of an export cannot be read")]
    Paths,
}

/// Reads a frame.
pub(crate) fn orders(bytes: &[u8]) -> Result<Orders, FrameError> {
    let frame = proto::CoordinatorFrame::decode(bytes).map_err(|_| FrameError::Undecodable)?;
    let welcome = frame.welcome.map(|w| Welcome {
        heartbeat_ms: w.heartbeat_ms,
        pause_ms: w.pause_ms,
        intent_age_ms: w.intent_age_ms,
        refused: w.refused,
    });
    let mut orders = Vec::new();
    for of_run in frame.orders {
        let one = |one: proto::Order| order(one.order.ok_or(FrameError::Order)?);
        orders.push(RunOrders {
            run: RunId::from(of_run.run),
            epoch: of_run.epoch,
            orders: of_run.orders.into_iter().map(one).collect::<Result<_, _>>()?,
        });
    }
    Ok(Orders { welcome, orders })
}

fn task(name: &proto::TaskName) -> Task {
    Task { operation: name.operation, attempt: name.attempt }
}

fn order(order: proto::order::Order) -> Result<Order, FrameError> {
    use proto::order::Order as O;
    Ok(match order {
        O::Open(open) => Order::Open(Box::new(open_shard(open)?)),
        O::Close(shard) => Order::Close(shard),
        O::Foreign(f) => Order::Foreign { shard: f.shard, operation: f.operation, value: f.value },
        O::Start(s) => {
            let task = Task { operation: s.operation, attempt: s.attempt };
            Order::Start { shard: s.shard, task, read_first: s.read_first }
        }
        O::Granted(name) => Order::Granted(task(&name)),
        O::Refused(name) => Order::Refused(task(&name)),
        O::Acknowledged(name) => Order::Acknowledged(task(&name)),
        O::Drop(name) => Order::Drop(task(&name)),
        O::Settle(s) => Order::Settle(SettleOrder {
            shard: s.shard,
            task: Task { operation: s.operation, attempt: s.attempt },
            holder_dead: s.holder_dead,
            adopt: s.adopt,
        }),
        O::Drain(_) => Order::Drain,
        O::Stop(_) => Order::Stop,
        O::Leave(_) => Order::Leave,
        O::Restored(r) => {
            let value = r.value.ok_or(FrameError::Order)?;
            Order::Restored { shard: r.shard, operation: value.operation, value: value.value }
        }
    })
}

fn open_shard(open: proto::OpenShard) -> Result<OpenShard, FrameError> {
    let exports = open.exports.into_iter().map(|export| {
        let paths: Vec<Path> = postcard::from_bytes(&export.paths).map_err(|_| FrameError::Paths)?;
        Ok((export.operation, paths))
    });
    Ok(OpenShard {
        shard: open.shard,
        fragment: open.fragment,
        restored: open.restored.into_iter().map(|r| (r.operation, r.value)).collect(),
        exports: exports.collect::<Result<_, _>>()?,
        inputs: open.inputs.into_iter().collect(),
    })
}

/// The first frame of a worker.
pub(crate) fn hello(options: &WorkerOptions, held: Vec<(RunId, Task, Phase)>) -> Vec<u8> {
    use proto::held_task::Phase as P;
    let held = held.into_iter().map(|(run, task, phase)| proto::HeldTask {
        run: run.to_string(),
        operation: task.operation,
        attempt: task.attempt,
        phase: match phase {
            Phase::Preparing => P::Preparing,
            Phase::Asked => P::Asked,
            Phase::Called => P::Called,
            Phase::Finished => P::Finished,
        } as i32,
    });
    let packages = options.packages.held().into_iter().map(|package| proto::ProviderPackage {
        source: package.source.to_string(),
        version: package.version,
        checksums: package.checksums,
    });
    let hello = proto::WorkerHello {
        name: options.name.clone(),
        incarnation: options.incarnation.clone(),
        labels: options.labels.clone().into_iter().collect(),
        capacity: options.capacity.max(1),
        packages: packages.collect(),
        held: held.collect(),
        protocol: PROTOCOL,
    };
    proto::WorkerFrame { hello: Some(hello), ..Default::default() }.encode_to_vec()
}

/// A frame that only says that the worker lives.
pub(crate) fn heartbeat(count: u64) -> Vec<u8> {
    proto::WorkerFrame { heartbeat: count, ..Default::default() }.encode_to_vec()
}

/// A frame that says that the worker is about to leave.
pub(crate) fn leaving() -> Vec<u8> {
    proto::WorkerFrame { leaving: true, ..Default::default() }.encode_to_vec()
}

/// Reports as a frame, in their order.
pub(crate) fn reports(reports: impl Iterator<Item = (RunId, Report)>) -> Vec<u8> {
    let mut frame = proto::WorkerFrame::default();
    for (run, report) in reports {
        let item = proto::WorkerItem { item: Some(item(report)) };
        match frame.reports.last_mut() {
            Some(last) if *last.run == *run => last.items.push(item),
            _ => frame.reports.push(proto::RunReport { run: run.to_string(), items: vec![item] }),
        }
    }
    frame.encode_to_vec()
}

fn name(task: Task) -> proto::TaskName {
    proto::TaskName { operation: task.operation, attempt: task.attempt }
}

fn item(report: Report) -> proto::worker_item::Item {
    use proto::worker_item::Item;
    match report {
        Report::Intent { task, planned } => Item::Intent(proto::IntentRequest {
            operation: task.operation,
            attempt: task.attempt,
            planned: planned.to_vec(),
        }),
        Report::Result { task, result } => Item::Result(proto::TaskResult {
            operation: task.operation,
            attempt: task.attempt,
            outcome: Some(outcome(&result)),
        }),
        Report::Settled { task, verdict } => {
            use proto::settle_result::Verdict as V;
            let verdict = match verdict {
                Verdict::Applied(found) => V::Applied(done(&found)),
                Verdict::NotApplied { holder_dead } => V::NotApplied(proto::NotApplied { holder_dead }),
                Verdict::Unknown(reason) => V::Unknown(reason),
            };
            Item::Settled(proto::SettleResult {
                operation: task.operation,
                attempt: task.attempt,
                verdict: Some(verdict),
            })
        }
        Report::Returned(task) => Item::Returned(name(task)),
        Report::Refused { shard, diagnostics: found } => {
            Item::Refused(proto::ShardRefused { shard, diagnostics: diagnostics(&found) })
        }
    }
}

fn outcome(result: &TaskResult) -> proto::task_result::Outcome {
    use proto::task_result::Outcome;
    match result {
        TaskResult::Done(found) => Outcome::Done(done(found)),
        TaskResult::Failed { writes: left, diagnostics: found, absence_unproven } => Outcome::Failed(proto::Failed {
            writes: writes(left),
            diagnostics: diagnostics(found),
            absence_unproven: *absence_unproven,
        }),
        TaskResult::InDoubt { reason, provider_dead, diagnostics: found } => Outcome::InDoubt(proto::InDoubt {
            reason: reason.clone(),
            provider_dead: *provider_dead,
            diagnostics: diagnostics(found),
        }),
        TaskResult::NotCalled { reason } => Outcome::NotCalled(proto::NotCalled { reason: reason.clone() }),
    }
}

fn done(found: &Done) -> proto::Done {
    proto::Done {
        writes: writes(&found.writes),
        local: found.local.clone(),
        exports: found.exports.clone(),
        diagnostics: diagnostics(&found.diagnostics),
    }
}

fn diagnostics(found: &[Diagnostic]) -> Vec<u8> {
    if found.is_empty() {
        return Vec::new();
    }
    // Plain data of our own always encodes.
    postcard::to_stdvec(found).unwrap_or_default()
}

fn writes(writes: &Writes) -> Option<proto::Writes> {
    if writes.objects.is_empty() && writes.outputs.is_empty() {
        return None;
    }
    Some(proto::Writes {
        objects: writes.objects.iter().map(object_write).collect(),
        outputs: writes.outputs.iter().map(output_write).collect(),
    })
}

fn object_write(write: &ObjectWrite) -> proto::ObjectWrite {
    use proto::object_write::Change;
    let change = match &write.change {
        ObjectChange::Put(object) => Change::Put(stored_object(object)),
        ObjectChange::Remove => Change::Remove(true),
        ObjectChange::DeposeAs(key) => Change::DeposeAs(key.clone()),
        ObjectChange::RestoreFrom(key) => Change::RestoreFrom(key.clone()),
        ObjectChange::DeposedFrom(address) => Change::DeposedFrom(address.clone()),
        ObjectChange::Untaint => Change::Untaint(true),
    };
    proto::ObjectWrite {
        address: write.address.clone(),
        provider: write.provider.clone(),
        deposed: write.deposed.clone().unwrap_or_default(),
        change: Some(change),
    }
}

fn stored_object(object: &StoredObject) -> proto::ResourceObject {
    proto::ResourceObject {
        schema_version: object.schema_version,
        attributes: object.attributes.clone().into_bytes(),
        sensitive: object.sensitive.iter().map(attribute_path).collect(),
        private: object.private.clone(),
        dependencies: object.dependencies.clone(),
        create_before_destroy: object.create_before_destroy,
        skip_destroy: object.skip_destroy,
        tainted: object.tainted,
        identity: object.identity.clone().unwrap_or_default().into_bytes(),
        identity_schema_version: object.identity_schema_version,
    }
}

fn attribute_path(path: &Path) -> proto::AttributePath {
    use proto::attribute_step::Step as S;
    let step = |step: &Step| proto::AttributeStep {
        step: Some(match step {
            Step::Attribute(name) => S::Attribute(name.to_string()),
            Step::Key(key) => {
                let mut text = String::new();
                json::write_string(key, &mut text);
                S::Index(text)
            }
            Step::Index(index) => S::Index(index.to_string()),
        }),
    };
    proto::AttributePath { steps: path.0.iter().map(step).collect() }
}

fn output_write(write: &OutputWrite) -> proto::OutputWrite {
    match &write.value {
        None => proto::OutputWrite { name: write.name.clone(), removed: true, ..Default::default() },
        Some(stored) => proto::OutputWrite {
            name: write.name.clone(),
            removed: false,
            value: stored.value.clone().into_bytes(),
            value_type: stored.value_type.clone().into_bytes(),
            sensitive: stored.sensitive,
            deprecated: stored.deprecated.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(orders(&[0xff, 0xff]).unwrap_err(), FrameError::Undecodable);
        let order = |order| proto::CoordinatorFrame {
            orders: vec![proto::RunOrders { run: "r".into(), epoch: 1, orders: vec![proto::Order { order }] }],
            ..Default::default()
        };
        assert_eq!(orders(&order(None).encode_to_vec()).unwrap_err(), FrameError::Order);
        let export = proto::Export { operation: 1, paths: vec![0xff] };
        let open = proto::OpenShard { exports: vec![export], ..Default::default() };
        let frame = order(Some(proto::order::Order::Open(open)));
        assert_eq!(orders(&frame.encode_to_vec()).unwrap_err(), FrameError::Paths);
    }

    #[test]
    fn reports_of_a_run_share_an_entry() {
        let (a, b): (RunId, RunId) = ("a".into(), "b".into());
        let task = |operation| Report::Returned(Task { operation, attempt: 1 });
        let bytes = reports([(a.clone(), task(1)), (a, task(2)), (b, task(3))].into_iter());
        let frame = proto::WorkerFrame::decode(bytes.as_slice()).unwrap();
        assert_eq!(frame.reports.len(), 2);
        assert_eq!(frame.reports[0].items.len(), 2);
    }

    #[test]
    fn keys_of_paths_are_json() {
        let path = Path(vec![Step::Attribute("a".into()), Step::Key("x\"".into()), Step::Index(3)]);
        let steps: Vec<_> = attribute_path(&path).steps.into_iter().filter_map(|s| s.step).collect();
        use proto::attribute_step::Step as S;
        assert_eq!(steps, [S::Attribute("a".into()), S::Index("\"x\\\"\"".into()), S::Index("3".into())]);
    }
}
