//! Converts the generated types to messages.

use std::sync::Arc;

use weft_graph_format::address::{DeposedKey, ResourceInstance};
use weft_graph_format::digest::Digest;
use weft_graph_format::placement::InstanceBound;
use weft_graph_format::run::{RunId, WorkerId};
use weft_graph_format::shown::ShownName;
use weft_graph_format::stored::{InstanceObject, Opaque, OutputRecord, OutputWrite, PathStep, RawJson, SensitivePath};
use weft_proto::cluster as proto;

use crate::Task;
use crate::frame::{CoordinatorFrame, FrameError, OutputLine, RunLine, RunOrders, RunReports, WorkerFrame};
use crate::greeting::{Greeting, HeldPackage, HeldPhase, HeldTask, Welcome};
use crate::order::{Export, OpenShard, Order, SettleOrder, ShardPackage};
use crate::report::{Candidate, ObjectChange, ObjectWrite, Report, SettleVerdict, TaskDone, TaskResult, TaskWrites};

pub(crate) fn coordinator_frame(frame: proto::CoordinatorFrame) -> Result<CoordinatorFrame, FrameError> {
    let of_run = |of_run: proto::RunOrders| {
        Ok(RunOrders {
            run: run(of_run.run)?,
            epoch: of_run.epoch,
            orders: of_run.orders.into_iter().map(order).collect::<Result<_, _>>()?,
        })
    };
    Ok(CoordinatorFrame {
        welcome: frame.welcome.map(|welcome| Welcome {
            heartbeat_ms: welcome.heartbeat_ms,
            pause_ms: welcome.pause_ms,
            intent_age_ms: welcome.intent_age_ms,
            protocol: welcome.protocol,
            refused: (!welcome.refused.is_empty()).then_some(welcome.refused),
            sealed: welcome.sealed,
        }),
        heartbeat: frame.heartbeat,
        orders: frame.orders.into_iter().map(of_run).collect::<Result<_, _>>()?,
    })
}

pub(crate) fn worker_frame(frame: proto::WorkerFrame) -> Result<WorkerFrame, FrameError> {
    let of_run = |of_run: proto::RunReport| {
        Ok(RunReports {
            run: run(of_run.run)?,
            reports: of_run.items.into_iter().map(report).collect::<Result<_, _>>()?,
        })
    };
    let line = |mut line: proto::OutputLine| {
        let of_run = run(std::mem::take(&mut line.run))?;
        Ok(RunLine { run: of_run, line: OutputLine::from_wire(line) })
    };
    Ok(WorkerFrame {
        greeting: frame.hello.map(greeting).transpose()?,
        heartbeat: frame.heartbeat,
        leaving: frame.leaving,
        lines: frame.lines.into_iter().map(line).collect::<Result<_, _>>()?,
        reports: frame.reports.into_iter().map(of_run).collect::<Result<_, _>>()?,
    })
}

fn run(text: String) -> Result<RunId, FrameError> {
    RunId::parse(&text).ok_or(FrameError::Run(text))
}

fn task(operation: u32, attempt: u32) -> Task {
    Task::new(operation, attempt)
}

fn named(name: &proto::TaskName) -> Task {
    task(name.operation, name.attempt)
}

fn greeting(hello: proto::WorkerHello) -> Result<Greeting, FrameError> {
    let package = |package: proto::ProviderPackage| {
        Ok(HeldPackage {
            source: package.source.parse().map_err(|_| FrameError::Missing("the source of a provider package"))?,
            version: package.version,
            checksums: package.checksums,
        })
    };
    Ok(Greeting {
        name: hello.name,
        incarnation: hello.incarnation,
        labels: hello.labels.into_iter().collect(),
        capacity: hello.capacity,
        packages: hello.packages.into_iter().map(package).collect::<Result<_, _>>()?,
        held: hello.held.into_iter().map(held).collect::<Result<_, _>>()?,
        protocol: hello.protocol,
        version: hello.version,
    })
}

fn held(held: proto::HeldTask) -> Result<HeldTask, FrameError> {
    use proto::held_task::Phase;
    let phase = match held.phase() {
        Phase::Unspecified => return Err(FrameError::Missing("the phase of a task")),
        Phase::Preparing => HeldPhase::Preparing,
        Phase::Asked => HeldPhase::Asked,
        Phase::Called => HeldPhase::Called,
        Phase::Finished => HeldPhase::Finished,
    };
    let maker = (!held.maker.is_empty()).then_some(held.maker);
    Ok(HeldTask { task: task(held.operation, held.attempt), run: run(held.run)?, phase, maker })
}

fn order(order: proto::Order) -> Result<Order, FrameError> {
    use proto::order::Order as O;
    Ok(match order.order.ok_or(FrameError::Missing("an order"))? {
        O::Open(open) => Order::Open(Box::new(open_shard(open)?)),
        O::Close(shard) => Order::Close(shard),
        O::Foreign(found) => Order::Foreign {
            shard: found.shard,
            operation: found.operation,
            export: found.export,
            value: found.value.into(),
        },
        O::Restored(restored) => {
            let found = restored.value.ok_or(FrameError::Missing("a restored result"))?;
            Order::Restored { shard: restored.shard, operation: found.operation, value: found.value.into() }
        }
        O::Start(start) => Order::Start {
            shard: start.shard,
            task: task(start.operation, start.attempt),
            read_first: start.read_first,
        },
        O::Granted(name) => Order::Granted(named(&name)),
        O::Refused(name) => Order::IntentRefused(named(&name)),
        O::Acknowledged(name) => Order::Acknowledged(named(&name)),
        O::Drop(name) => Order::Drop(named(&name)),
        O::Settle(settle) => Order::Settle(SettleOrder {
            shard: settle.shard,
            task: task(settle.operation, settle.attempt),
            holder: WorkerId(settle.holder),
            holder_dead: settle.holder_dead,
            adopt: settle.adopt,
            planned: settle.planned.try_into().ok().map(Digest),
        }),
        O::Drain(_) => Order::Drain,
        O::Stop(_) => Order::Stop,
        O::Leave(_) => Order::Leave,
    })
}

fn open_shard(open: proto::OpenShard) -> Result<OpenShard, FrameError> {
    let export = |export: proto::Export| {
        let paths = postcard::from_bytes(&export.paths).map_err(|_| FrameError::Paths)?;
        Ok(Export { operation: export.operation, paths })
    };
    let package = ShardPackage {
        fragment: open.fragment.into(),
        exports: open.exports.into_iter().map(export).collect::<Result<_, _>>()?,
        inputs: open.inputs.into_iter().collect(),
        plan: Digest::parse(&open.plan).ok_or(FrameError::Digest(open.plan.len() / 2))?,
        bound: (open.bound > 0).then_some(InstanceBound { rule: open.bound_rule, most: open.bound }),
    };
    let restored = open.restored.into_iter().map(|found| (found.operation, Arc::from(found.value)));
    Ok(OpenShard { shard: open.shard, restored: restored.collect(), package: Some(package) })
}

fn report(item: proto::WorkerItem) -> Result<Report, FrameError> {
    use proto::worker_item::Item;
    Ok(match item.item.ok_or(FrameError::Missing("a report"))? {
        Item::Intent(intent) => Report::Intent {
            task: task(intent.operation, intent.attempt),
            planned: Digest(intent.planned.try_into().map_err(|bytes: Vec<u8>| FrameError::Digest(bytes.len()))?),
        },
        Item::Result(result) => Report::Result {
            task: task(result.operation, result.attempt),
            result: Arc::new(task_result(result.outcome.ok_or(FrameError::Missing("the outcome of a task"))?)?),
        },
        Item::Settled(settled) => Report::Settled {
            task: task(settled.operation, settled.attempt),
            verdict: match settled.verdict.ok_or(FrameError::Missing("the verdict on a doubt"))? {
                proto::settle_result::Verdict::Applied(done) => SettleVerdict::Applied(Box::new(task_done(done)?)),
                proto::settle_result::Verdict::NotApplied(not) => {
                    SettleVerdict::NotApplied { holder_dead: not.holder_dead }
                }
                proto::settle_result::Verdict::Unknown(reason) => match settled.candidate {
                    _ if !settled.unopened.is_empty() => SettleVerdict::Unopened(Opaque(settled.unopened)),
                    Some(found) => SettleVerdict::Found(Box::new(Candidate::from_wire(found, reason))),
                    None => SettleVerdict::Unknown(reason),
                },
            },
        },
        Item::Returned(name) => Report::Returned(named(&name)),
        Item::Refused(refused) => Report::Refused { shard: refused.shard, diagnostics: Opaque(refused.diagnostics) },
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
            unopened: failed.unopened,
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
        shown: done.shown.map(|shown| ShownName { attribute: shown.attribute, value: shown.value }),
    })
}

fn writes(writes: Option<proto::Writes>) -> Result<TaskWrites, FrameError> {
    let Some(writes) = writes else { return Ok(TaskWrites::default()) };
    let objects = writes.objects.into_iter().map(object_write).collect::<Result<_, _>>()?;
    let outputs = writes.outputs.into_iter().map(output_write).collect::<Result<_, _>>()?;
    Ok(TaskWrites { objects, outputs })
}

fn deposed_key(text: String) -> Result<DeposedKey, FrameError> {
    DeposedKey::parse(&text).ok_or(FrameError::DeposedKey(text))
}

fn address(text: String) -> Result<ResourceInstance, FrameError> {
    text.parse().map_err(|_| FrameError::Address(text))
}

fn object_write(write: proto::ObjectWrite) -> Result<ObjectWrite, FrameError> {
    use proto::object_write::Change;
    let change = match write.change.ok_or(FrameError::Missing("the change of an object"))? {
        Change::Put(object) => ObjectChange::Put(Box::new(resource_object(object)?)),
        Change::Remove(_) => ObjectChange::Remove,
        Change::DeposeAs(key) => ObjectChange::DeposeAs(deposed_key(key)?),
        Change::RestoreFrom(key) => ObjectChange::RestoreFrom(deposed_key(key)?),
        Change::DeposedFrom(text) => ObjectChange::DeposedFrom(address(text)?),
        Change::Untaint(_) => ObjectChange::Untaint,
    };
    let deposed = match write.deposed.is_empty() {
        true => None,
        false => Some(deposed_key(write.deposed)?),
    };
    Ok(ObjectWrite { address: address(write.address)?, provider: write.provider, deposed, change })
}

fn json(bytes: Vec<u8>, what: &'static str) -> Result<RawJson, FrameError> {
    String::from_utf8(bytes).map(RawJson::new).map_err(|_| FrameError::Text(what))
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
