//! Frames to plain data and back. Nothing of the generated types goes further than this module, the hub and the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_proto::cluster as proto;
use weft_state::{
    Attempt, Digest, InstanceObject, Opaque, OutputRecord, OutputWrite, PathStep, RawJson, SensitivePath,
};

use crate::plan::RunPlan;
use crate::worker::{
    FromWorker, HeldPhase, HeldTask, ObjectChange, ObjectWrite, Order, Task, TaskDone, TaskResult, TaskWrites, Verdict,
};

/// What a worker sent makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A oneof without content, or of a later version.
    #[error("{0} is missing or of a later version")]
    Missing(&'static str),
    /// A digest is not 32 bytes.
    #[error("a digest has {0} bytes")]
    Digest(usize),
    /// Text that must be JSON is no UTF-8.
    #[error("{0} is not UTF-8")]
    Text(&'static str),
    /// The bytes are no frame.
    #[error("not a frame")]
    Undecodable,
}

fn task(operation: u32, attempt: u32) -> Task {
    Task { operation, attempt: Attempt(attempt) }
}

fn json(bytes: Vec<u8>, what: &'static str) -> Result<RawJson, FrameError> {
    String::from_utf8(bytes).map(RawJson::new).map_err(|_| FrameError::Text(what))
}

pub(crate) fn held(held: &proto::HeldTask) -> Option<HeldTask> {
    use proto::held_task::Phase;
    let phase = match held.phase() {
        Phase::Unspecified => return None,
        Phase::Preparing => HeldPhase::Preparing,
        Phase::Asked => HeldPhase::Asked,
        Phase::Called => HeldPhase::Called,
        Phase::Finished => HeldPhase::Finished,
    };
    Some(HeldTask { task: task(held.operation, held.attempt), phase })
}

pub(crate) fn from_worker(item: proto::WorkerItem) -> Result<FromWorker, FrameError> {
    use proto::worker_item::Item;
    Ok(match item.item.ok_or(FrameError::Missing("the item"))? {
        Item::Intent(intent) => FromWorker::Intent {
            task: task(intent.operation, intent.attempt),
            planned: Digest(intent.planned.try_into().map_err(|bytes: Vec<u8>| FrameError::Digest(bytes.len()))?),
        },
        Item::Result(result) => FromWorker::Result {
            task: task(result.operation, result.attempt),
            result: task_result(result.outcome.ok_or(FrameError::Missing("the outcome"))?)?,
        },
        Item::Settled(settled) => FromWorker::Settled {
            task: task(settled.operation, settled.attempt),
            verdict: match settled.verdict.ok_or(FrameError::Missing("the verdict"))? {
                proto::settle_result::Verdict::Applied(done) => Verdict::Applied(Box::new(task_done(done)?)),
                proto::settle_result::Verdict::NotApplied(not) => Verdict::NotApplied { holder_dead: not.holder_dead },
                proto::settle_result::Verdict::Unknown(reason) => Verdict::Unknown(reason),
            },
        },
        Item::Returned(name) => FromWorker::Returned(task(name.operation, name.attempt)),
        Item::Refused(refused) => {
            FromWorker::Refused { shard: refused.shard, diagnostics: Opaque(refused.diagnostics) }
        }
    })
}

fn task_result(outcome: proto::task_result::Outcome) -> Result<TaskResult, FrameError> {
    use proto::task_result::Outcome;
    Ok(match outcome {
        Outcome::Done(done) => TaskResult::Done(task_done(done)?),
        Outcome::Failed(failed) => TaskResult::Failed {
            writes: writes(failed.writes)?,
            diagnostics: Opaque(failed.diagnostics),
            absence_unproven: failed.absence_unproven,
        },
        Outcome::InDoubt(doubt) => TaskResult::InDoubt {
            reason: doubt.reason,
            provider_dead: doubt.provider_dead,
            diagnostics: Opaque(doubt.diagnostics),
        },
        Outcome::NotCalled(not) => TaskResult::NotCalled { reason: not.reason },
    })
}

fn task_done(done: proto::Done) -> Result<TaskDone, FrameError> {
    Ok(TaskDone {
        writes: writes(done.writes)?,
        local: done.local.into(),
        exports: done.exports.into_iter().map(Arc::from).collect(),
        diagnostics: Opaque(done.diagnostics),
    })
}

fn writes(writes: Option<proto::Writes>) -> Result<TaskWrites, FrameError> {
    let Some(writes) = writes else { return Ok(TaskWrites::default()) };
    let objects = writes.objects.into_iter().map(object_write).collect::<Result<_, _>>()?;
    let outputs = writes.outputs.into_iter().map(output_write).collect::<Result<_, _>>()?;
    Ok(TaskWrites { objects, outputs })
}

fn object_write(write: proto::ObjectWrite) -> Result<ObjectWrite, FrameError> {
    use proto::object_write::Change;
    let change = match write.change.ok_or(FrameError::Missing("the change of an object"))? {
        Change::Put(object) => ObjectChange::Put(Box::new(resource_object(object)?)),
        Change::Remove(_) => ObjectChange::Remove,
        Change::DeposeAs(key) => ObjectChange::DeposeAs(key),
        Change::RestoreFrom(key) => ObjectChange::RestoreFrom(key),
        Change::DeposedFrom(address) => ObjectChange::DeposedFrom(address),
        Change::Untaint(_) => ObjectChange::Untaint,
    };
    let deposed = (!write.deposed.is_empty()).then_some(write.deposed);
    Ok(ObjectWrite { address: write.address, provider: write.provider, deposed, change })
}

fn resource_object(object: proto::ResourceObject) -> Result<InstanceObject, FrameError> {
    let identity = match object.identity.is_empty() {
        true => None,
        false => Some(json(object.identity, "an identity")?),
    };
    Ok(InstanceObject {
        sensitive_paths: object.sensitive.into_iter().map(sensitive_path).collect::<Result<_, _>>()?,
        private: Opaque(object.private),
        dependencies: object.dependencies,
        create_before_destroy: object.create_before_destroy,
        skip_destroy: object.skip_destroy,
        tainted: object.tainted,
        identity,
        identity_schema_version: object.identity_schema_version,
        ..InstanceObject::new(object.schema_version, json(object.attributes, "an object")?)
    })
}

fn sensitive_path(path: proto::AttributePath) -> Result<SensitivePath, FrameError> {
    let step = |step: proto::AttributeStep| match step.step {
        Some(proto::attribute_step::Step::Attribute(name)) => Ok(PathStep::Attribute(name)),
        Some(proto::attribute_step::Step::Index(key)) => Ok(PathStep::Index(RawJson::new(key))),
        None => Err(FrameError::Missing("a step of a path")),
    };
    path.steps.into_iter().map(step).collect()
}

fn output_write(write: proto::OutputWrite) -> Result<OutputWrite, FrameError> {
    let record = match write.removed {
        true => None,
        false => Some(OutputRecord {
            value: json(write.value, "an output")?,
            value_type: json(write.value_type, "the type of an output")?,
            sensitive: write.sensitive,
            deprecated: write.deprecated,
        }),
    };
    Ok(OutputWrite { name: write.name, record })
}

fn name(task: Task) -> proto::TaskName {
    proto::TaskName { operation: task.operation, attempt: task.attempt.0 }
}

/// Encodes the orders of one run, with the parts of the plan that they name. The paths of exports are encoded once.
#[derive(Debug)]
pub(crate) struct OrderEncoder {
    plan: RunPlan,
    /// By operation number and export.
    paths: BTreeMap<(u32, u32), Vec<u8>>,
    /// Operations with exports, by shard.
    exporters: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl OrderEncoder {
    pub(crate) fn new(plan: RunPlan) -> OrderEncoder {
        let mut paths = BTreeMap::new();
        let mut exporters: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for operation in &plan.outline.operations {
            for (index, export) in operation.exports.iter().enumerate() {
                let key = (operation.index, index as u32);
                paths.insert(key, postcard::to_stdvec(&export.paths).unwrap_or_default());
                exporters.entry(operation.shard).or_default().push(key);
            }
        }
        OrderEncoder { plan, paths, exporters }
    }

    pub(crate) fn encode(&self, order: Order) -> proto::Order {
        use proto::order::Order as O;
        let order = match order {
            Order::Open { shard, restored } => O::Open(self.open(shard, restored)),
            Order::Close(shard) => O::Close(shard),
            Order::Foreign { shard, operation, export, value } => O::Foreign(proto::ForeignResult {
                shard,
                operation,
                paths: self.paths.get(&(operation, export)).cloned().unwrap_or_default(),
                value: value.to_vec(),
            }),
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
            Order::Settle { shard, task, holder, holder_dead, adopt } => O::Settle(proto::SettleTask {
                shard,
                operation: task.operation,
                attempt: task.attempt.0,
                holder: holder.0,
                holder_dead,
                adopt,
            }),
            Order::Drain => O::Drain(true),
            Order::Stop => O::Stop(true),
            Order::Leave => O::Leave(true),
        };
        proto::Order { order: Some(order) }
    }

    fn open(&self, shard: u32, restored: Vec<(u32, Arc<[u8]>)>) -> proto::OpenShard {
        let fragment = self.plan.fragments.get(shard as usize);
        let restored = restored.into_iter();
        let exporters = self.exporters.get(&shard).into_iter().flatten();
        proto::OpenShard {
            shard,
            fragment: fragment.map(|bytes| bytes.to_vec()).unwrap_or_default(),
            restored: restored
                .map(|(operation, value)| proto::LocalResult { operation, value: value.to_vec() })
                .collect(),
            exports: exporters
                .map(|key| proto::Export { operation: key.0, paths: self.paths.get(key).cloned().unwrap_or_default() })
                .collect(),
            inputs: self.plan.inputs.clone().into_iter().collect(),
            plan: self.plan.digest.hex(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(from_worker(proto::WorkerItem { item: None }), Err(FrameError::Missing("the item")));
        let intent = proto::IntentRequest { operation: 1, attempt: 1, planned: vec![1] };
        let item = proto::WorkerItem { item: Some(proto::worker_item::Item::Intent(intent)) };
        assert_eq!(from_worker(item), Err(FrameError::Digest(1)));
    }

    #[test]
    fn results_arrive_whole() {
        let object = proto::ResourceObject { attributes: b"{}".to_vec(), tainted: true, ..Default::default() };
        let write = proto::ObjectWrite {
            address: "a.b".into(),
            provider: "p".into(),
            deposed: String::new(),
            change: Some(proto::object_write::Change::Put(object)),
        };
        let done = proto::Done {
            writes: Some(proto::Writes { objects: vec![write], outputs: Vec::new() }),
            local: vec![1],
            exports: vec![vec![2]],
            diagnostics: Vec::new(),
        };
        let outcome = Some(proto::task_result::Outcome::Done(done));
        let result = proto::TaskResult { operation: 3, attempt: 2, outcome };
        let item = proto::WorkerItem { item: Some(proto::worker_item::Item::Result(result)) };
        let Ok(FromWorker::Result { task, result: TaskResult::Done(done) }) = from_worker(item) else {
            panic!("not a result");
        };
        assert_eq!(task, super::task(3, 2));
        let ObjectChange::Put(object) = &done.writes.objects[0].change else { panic!("not an object") };
        assert!(object.tainted && object.attributes.as_str() == "{}");
        assert_eq!((done.local.as_ref(), done.exports[0].as_ref()), ([1].as_slice(), [2].as_slice()));
    }
}
