//! A worker for tests. It follows the protocol over real frames, and its calls take no time.

use std::collections::BTreeMap;
use std::time::Duration;

use prost::Message;
use weft_coordinator::WorkerEnd;
use weft_coordinator::process::incarnation;
use weft_graph_format::diagnostic::Diagnostic;
use weft_proto::cluster as proto;
use weft_protocol::diagnostics::encode_diagnostics;

/// The duration of a slow call.
const MOMENT: Duration = Duration::from_millis(200);

/// How a test worker behaves.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// The name of the worker.
    pub name: String,
    /// The labels of the worker.
    pub labels: BTreeMap<String, String>,
    /// Addresses whose call returns an error.
    pub failing: Vec<String>,
    /// Addresses that end in doubt, and for which no evidence is found.
    pub doubtful: Vec<String>,
    /// Addresses whose call takes a moment.
    pub slow: Vec<String>,
    /// The number of calls after which the worker ends without notice.
    pub calls_left: Option<u32>,
}

/// Works until the connection ends.
pub async fn work(mut end: WorkerEnd, mut habits: Habits) {
    let hello = proto::WorkerHello {
        name: habits.name.clone(),
        incarnation: incarnation(),
        labels: habits.labels.clone().into_iter().collect(),
        capacity: 256,
        protocol: 1,
        ..Default::default()
    };
    let greeting = proto::WorkerFrame { hello: Some(hello), ..Default::default() };
    if end.outgoing.send(greeting.encode_to_vec()).await.is_err() {
        return;
    }
    let mut addresses: BTreeMap<u32, (String, bool)> = BTreeMap::new();
    let mut exports: BTreeMap<u32, usize> = BTreeMap::new();
    while let Some(bytes) = end.incoming.recv().await {
        let frame = proto::CoordinatorFrame::decode(bytes.as_slice()).expect("a frame");
        if let Some(welcome) = &frame.welcome {
            assert_eq!(welcome.refused, "");
        }
        let mut reports = Vec::new();
        let mut late = Vec::new();
        for orders in frame.orders {
            let mut items = Vec::new();
            for order in orders.orders {
                use proto::order::Order;
                match order.order.expect("an order") {
                    Order::Open(open) => {
                        let text = String::from_utf8(open.fragment).expect("text");
                        for line in text.lines() {
                            let mut words = line.split(' ');
                            let mut word = || words.next().expect("a word").to_owned();
                            let (index, address, kind) = (word(), word(), word());
                            addresses.insert(index.parse().expect("a number"), (address, kind == "world"));
                        }
                        for export in open.exports {
                            *exports.entry(export.operation).or_default() += 1;
                        }
                    }
                    Order::Start(start) => {
                        let (address, world) = &addresses[&start.operation];
                        items.push(match world {
                            true => proto::worker_item::Item::Intent(proto::IntentRequest {
                                operation: start.operation,
                                attempt: start.attempt,
                                planned: vec![7; 32],
                            }),
                            false => result(start.operation, start.attempt, done(address, false, &exports)),
                        });
                    }
                    Order::Granted(task) => {
                        if let Some(left) = &mut habits.calls_left {
                            if *left == 0 {
                                return;
                            }
                            *left -= 1;
                        }
                        let (address, _) = &addresses[&task.operation];
                        let outcome = if habits.failing.contains(address) {
                            let words = [Diagnostic::error("No", "The provider does not want to.")];
                            let diagnostics = encode_diagnostics(&words).0;
                            proto::task_result::Outcome::Failed(proto::Failed { diagnostics, ..Default::default() })
                        } else if habits.doubtful.contains(address) {
                            let reason = "no reply".to_owned();
                            proto::task_result::Outcome::InDoubt(proto::InDoubt { reason, ..Default::default() })
                        } else {
                            done(address, true, &exports)
                        };
                        match habits.slow.contains(address) {
                            true => late.push((orders.run.clone(), result(task.operation, task.attempt, outcome))),
                            false => items.push(result(task.operation, task.attempt, outcome)),
                        }
                    }
                    Order::Settle(settle) => {
                        let (address, _) = &addresses[&settle.operation];
                        let found = proto::Candidate { id: "found".to_owned(), attributes: Vec::new() };
                        let candidate = settle.adopt.is_none().then_some(found);
                        let verdict = match (&settle.adopt, habits.doubtful.contains(address)) {
                            (None, true) => proto::settle_result::Verdict::Unknown("cannot tell".to_owned()),
                            _ => {
                                let proto::task_result::Outcome::Done(done) = done(address, true, &exports) else {
                                    unreachable!("done gives done")
                                };
                                proto::settle_result::Verdict::Applied(done)
                            }
                        };
                        items.push(proto::worker_item::Item::Settled(proto::SettleResult {
                            operation: settle.operation,
                            attempt: settle.attempt,
                            verdict: Some(verdict),
                            candidate,
                            unopened: Vec::new(),
                        }));
                    }
                    _ => {}
                }
            }
            let items: Vec<_> = items.into_iter().map(|item| proto::WorkerItem { item: Some(item) }).collect();
            if !items.is_empty() {
                reports.push(proto::RunReport { run: orders.run, items });
            }
        }
        if !reports.is_empty() {
            let frame = proto::WorkerFrame { reports, ..Default::default() };
            if end.outgoing.send(frame.encode_to_vec()).await.is_err() {
                return;
            }
        }
        for (run, item) in late {
            tokio::time::sleep(MOMENT).await;
            let reports = vec![proto::RunReport { run, items: vec![proto::WorkerItem { item: Some(item) }] }];
            let frame = proto::WorkerFrame { reports, ..Default::default() };
            if end.outgoing.send(frame.encode_to_vec()).await.is_err() {
                return;
            }
        }
    }
}

fn result(operation: u32, attempt: u32, outcome: proto::task_result::Outcome) -> proto::worker_item::Item {
    proto::worker_item::Item::Result(proto::TaskResult { operation, attempt, outcome: Some(outcome) })
}

fn done(address: &str, world: bool, exports: &BTreeMap<u32, usize>) -> proto::task_result::Outcome {
    let object = proto::ResourceObject { attributes: b"{\"id\":\"x\"}".to_vec(), ..Default::default() };
    let write = proto::ObjectWrite {
        address: address.to_owned(),
        provider: "provider[\"h/n/t\"]".to_owned(),
        deposed: String::new(),
        change: Some(proto::object_write::Change::Put(object)),
    };
    let objects = if world { vec![write] } else { Vec::new() };
    let most = exports.values().max().copied().unwrap_or_default();
    proto::task_result::Outcome::Done(proto::Done {
        writes: Some(proto::Writes { objects, outputs: Vec::new() }),
        local: vec![1],
        exports: vec![vec![2]; most],
        diagnostics: Vec::new(),
        shown: None,
    })
}
