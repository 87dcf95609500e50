use std::sync::Arc;

use proptest::prelude::*;
use weft_graph_format::address::DeposedKey;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::digest::Digest;
use weft_graph_format::path::Path;
use weft_graph_format::placement::InstanceBound;
use weft_graph_format::run::{RunId, WorkerId};
use weft_graph_format::shown::ShownName;
use weft_graph_format::stored::{InstanceObject, Opaque, OutputRecord, OutputWrite, PathStep, RawJson};

use super::*;
use crate::diagnostics::encode_diagnostics;
use crate::frame::{OutputLine, RunLine, RunOrders};
use crate::greeting::{Greeting, HeldPackage, HeldPhase, HeldTask, Welcome};
use crate::order::{Export, OpenShard, Order, SettleOrder, ShardPackage};
use crate::report::{Candidate, ObjectChange, ObjectWrite, Report, SettleVerdict, TaskDone, TaskResult, TaskWrites};
use crate::{PROTOCOL, Task};

fn run(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

fn task() -> Task {
    Task::new(3, 2)
}

fn written(change: ObjectChange, deposed: Option<&str>) -> ObjectWrite {
    let deposed = deposed.map(|key| DeposedKey::parse(key).unwrap());
    ObjectWrite { address: "a.b[0]".parse().unwrap(), provider: "provider[\"h/n/t\"]".into(), deposed, change }
}

fn whole_object() -> InstanceObject {
    InstanceObject {
        sensitive_paths: vec![vec![
            PathStep::Attribute("users".into()),
            PathStep::Index(RawJson::new("0")),
            PathStep::Attribute("key".into()),
        ]],
        private: Opaque(vec![7]),
        dependencies: vec!["a.c".into()],
        create_before_destroy: true,
        skip_destroy: true,
        tainted: true,
        identity: Some(RawJson::new("{\"id\":1}")),
        identity_schema_version: 4,
        ..InstanceObject::new(2, RawJson::new("{\"a\":1.50}"))
    }
}

fn whole_result() -> TaskDone {
    let key = DeposedKey::parse("0badcafe").unwrap();
    let output = OutputRecord {
        value: RawJson::new("1"),
        value_type: RawJson::new("\"number\""),
        sensitive: true,
        deprecated: None,
    };
    TaskDone {
        writes: TaskWrites {
            objects: vec![
                written(ObjectChange::Put(Box::new(whole_object())), None),
                written(ObjectChange::Remove, Some("00000001")),
                written(ObjectChange::DeposeAs(key.clone()), None),
                written(ObjectChange::RestoreFrom(key), None),
                written(ObjectChange::DeposedFrom("a.c".parse().unwrap()), None),
                written(ObjectChange::Untaint, None),
            ],
            outputs: vec![
                OutputWrite { name: "x".into(), record: Some(output) },
                OutputWrite { name: "y".into(), record: None },
            ],
        },
        local: Arc::from([1]),
        exports: vec![Arc::from([]), Arc::from([2, 3])],
        diagnostics: Opaque(vec![9]),
        shown: Some(ShownName { attribute: "id".into(), value: "i-1".into() }),
    }
}

fn round(frame: WorkerFrame) {
    assert_eq!(WorkerFrame::decode(&frame.clone().encode()), Ok(frame));
}

#[test]
fn every_report_round_trips() {
    let results = [
        TaskResult::Done(whole_result()),
        TaskResult::Failed {
            writes: whole_result().writes,
            diagnostics: Opaque(vec![1]),
            absence_unproven: true,
            unopened: true,
        },
        TaskResult::InDoubt { reason: "lost".into(), provider_dead: true, diagnostics: Opaque(vec![2]) },
        TaskResult::NotCalled { reason: "late".into() },
    ];
    let verdicts = [
        SettleVerdict::Applied(Box::new(whole_result())),
        SettleVerdict::NotApplied { holder_dead: true },
        SettleVerdict::Unknown("cannot tell".into()),
        SettleVerdict::Unopened(encode_diagnostics(&[Diagnostic::error("No", "It cannot be.")])),
        SettleVerdict::Found(Box::new(Candidate {
            reason: "may be older".into(),
            id: "bucket".into(),
            attributes: vec![("arn".into(), "\"arn:x\"".into())],
        })),
    ];
    let mut reports = vec![
        Report::Intent { task: task(), planned: Digest([7; 32]) },
        Report::Returned(task()),
        Report::Refused { shard: 5, diagnostics: Opaque(vec![3]) },
    ];
    reports.extend(results.map(|result| Report::Result { task: task(), result: Arc::new(result) }));
    reports.extend(verdicts.map(|verdict| Report::Settled { task: task(), verdict }));
    round(WorkerFrame::of_reports(reports.into_iter().map(|report| (run("r"), report))));
}

/// A coordinator that does not know a verdict reads it as `unknown`, with a reason.
#[test]
fn new_verdicts_are_unknown_to_earlier_coordinators() {
    let diagnostics = encode_diagnostics(&[Diagnostic::error("No", "It cannot be.")]);
    let report = Report::Settled { task: task(), verdict: SettleVerdict::Unopened(diagnostics) };
    let frame = WorkerFrame::of_reports([(run("r"), report)].into_iter()).encode();
    let frame = proto::WorkerFrame::decode(frame.as_slice()).unwrap();
    let Some(proto::worker_item::Item::Settled(settled)) = frame.reports[0].items[0].item.clone() else {
        panic!("{frame:?}")
    };
    assert_eq!(settled.verdict, Some(proto::settle_result::Verdict::Unknown("No: It cannot be.".into())));
    assert!(settled.candidate.is_none() && !settled.unopened.is_empty());
}

#[test]
fn every_order_round_trips() {
    let package = ShardPackage {
        fragment: Arc::from([1, 2]),
        exports: vec![Export { operation: 4, paths: vec![Path::ROOT.attribute("id")] }],
        inputs: [("var.x".to_owned(), vec![1])].into(),
        plan: Digest([8; 32]),
        bound: Some(InstanceBound { rule: 2, most: 4 }),
    };
    let open = OpenShard { shard: 1, restored: vec![(2, Arc::from([3]))], package: Some(package) };
    let orders = vec![
        Order::Open(Box::new(open)),
        Order::Close(1),
        Order::Foreign { shard: 1, operation: 2, export: 3, value: Arc::from([4]) },
        Order::Restored { shard: 1, operation: 2, value: Arc::from([5]) },
        Order::Start { shard: 1, task: task(), read_first: true },
        Order::Granted(task()),
        Order::IntentRefused(task()),
        Order::Acknowledged(task()),
        Order::Drop(task()),
        Order::Settle(SettleOrder {
            shard: 1,
            task: task(),
            holder: WorkerId("w/1".into()),
            holder_dead: true,
            adopt: Some("i-1".into()),
            planned: Some(Digest([6; 32])),
        }),
        Order::Drain,
        Order::Stop,
        Order::Leave,
    ];
    let frame = CoordinatorFrame {
        welcome: Some(Welcome {
            heartbeat_ms: 1,
            pause_ms: 2,
            intent_age_ms: 3,
            protocol: PROTOCOL,
            refused: None,
            sealed: true,
        }),
        heartbeat: 9,
        orders: vec![RunOrders { run: run("r"), epoch: 6, orders }],
    };
    assert_eq!(CoordinatorFrame::decode(&frame.clone().encode()), Ok(frame));
}

#[test]
fn a_greeting_round_trips() {
    let phases = [HeldPhase::Preparing, HeldPhase::Asked, HeldPhase::Called, HeldPhase::Finished];
    let greeting = Greeting {
        name: "w".into(),
        incarnation: "i".into(),
        labels: [("region".to_owned(), "eu".to_owned())].into(),
        capacity: 4,
        packages: vec![HeldPackage {
            source: "registry.opentofu.org/hashicorp/aws".parse().unwrap(),
            version: "5.0.0".into(),
            checksums: vec!["h1:x".into()],
        }],
        held: phases.map(|phase| HeldTask { run: run("r"), task: task(), phase, maker: Some("old".into()) }).to_vec(),
        protocol: PROTOCOL,
        version: "0.1.0".into(),
    };
    round(WorkerFrame { greeting: Some(greeting), leaving: true, heartbeat: 3, ..WorkerFrame::default() });
    let line = OutputLine { address: "a.b".into(), provisioner: "local-exec".into(), text: "one".into() };
    round(WorkerFrame { lines: vec![RunLine { run: run("r"), line }], ..WorkerFrame::default() });
}

#[test]
fn consecutive_reports_of_a_run_share_an_entry() {
    let report = |run_name: &str| (run(run_name), Report::Returned(task()));
    let frame = WorkerFrame::of_reports([report("a"), report("a"), report("b")].into_iter());
    assert_eq!(frame.reports.iter().map(|of_run| of_run.reports.len()).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn invalid_frames_are_refused() {
    let of = |item| proto::WorkerFrame {
        reports: vec![proto::RunReport { run: "r".into(), items: vec![proto::WorkerItem { item }] }],
        ..Default::default()
    };
    let intent = proto::IntentRequest { operation: 1, attempt: 1, planned: vec![1] };
    let put = |deposed: &str, attributes: Vec<u8>| {
        let object = proto::ResourceObject { attributes, ..Default::default() };
        let change = Some(proto::object_write::Change::Put(object));
        let write = proto::ObjectWrite { deposed: deposed.into(), change, ..Default::default() };
        let writes = Some(proto::Writes { objects: vec![write], outputs: Vec::new() });
        let done = proto::Done { writes, ..Default::default() };
        let outcome = Some(proto::task_result::Outcome::Done(done));
        of(Some(proto::worker_item::Item::Result(proto::TaskResult { operation: 1, attempt: 1, outcome })))
    };
    let table = [
        (of(None), FrameError::Missing("a report")),
        (of(Some(proto::worker_item::Item::Intent(intent))), FrameError::Digest(1)),
        (put("1", b"{}".to_vec()), FrameError::DeposedKey("1".into())),
        (put("", vec![0xff]), FrameError::Text("an object")),
        (put("", b"{}".to_vec()), FrameError::Address(String::new())),
    ];
    for (frame, expected) in table {
        assert_eq!(WorkerFrame::from_wire(frame), Err(expected));
    }
    let foreign = proto::RunReport { run: "../x".into(), items: Vec::new() };
    let frame = proto::WorkerFrame { reports: vec![foreign], ..Default::default() };
    assert_eq!(WorkerFrame::from_wire(frame), Err(FrameError::Run("../x".into())));
    let order = |order| proto::CoordinatorFrame {
        orders: vec![proto::RunOrders { run: "r".into(), epoch: 1, orders: vec![proto::Order { order }] }],
        ..Default::default()
    };
    let export = proto::Export { operation: 1, paths: vec![0xff] };
    let open = proto::OpenShard { exports: vec![export], plan: Digest::default().hex(), ..Default::default() };
    let open = order(Some(proto::order::Order::Open(open))).encode_to_vec();
    assert_eq!(CoordinatorFrame::decode(&open), Err(FrameError::Paths));
    assert_eq!(CoordinatorFrame::decode(&order(None).encode_to_vec()), Err(FrameError::Missing("an order")));
}

proptest! {
    /// No bytes cause a panic of the reader.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = CoordinatorFrame::decode(&bytes);
        let _ = WorkerFrame::decode(&bytes);
    }
}
