//! A tiny coordinator for tests. It opens every shard at one worker, starts ready operations, grants intents, forwards
//! results, and keeps the reports. It has no store and no lease.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prost::Message;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weft_executor::{Channel, Ended, Worker, WorkerHandle, WorkerOptions};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::digest::Digest;
use weft_graph_format::graph::ExecutionGraph;
use weft_graph_format::path::Path;
use weft_graph_format::plan_file::{Manifest, PlanFile};
use weft_proto::cluster as proto;

pub use proto::order::Order;
pub use proto::task_result::Outcome;
pub use proto::worker_item::Item;

/// The one run.
pub const RUN: &str = "run-1";

/// The time limit for every wait in a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// The coordinator's side.
pub struct Coordinator {
    pub plan: PlanFile,
    to_worker: mpsc::Sender<Vec<u8>>,
    from_worker: mpsc::Receiver<Vec<u8>>,
    working: JoinHandle<(Worker, Ended)>,
    pub handle: WorkerHandle,
    pub hello: proto::WorkerHello,
    /// The parts that other shards read: by operation, the paths and their reader.
    exports: BTreeMap<u32, Vec<(Vec<Path>, u32)>>,
    /// Results by operation.
    pub outcomes: BTreeMap<u32, Outcome>,
    /// Operations that asked for an intent.
    pub intents: Vec<u32>,
    /// Items that were received and not handled yet.
    items: std::collections::VecDeque<Item>,
    started: BTreeSet<u32>,
    pub inputs: BTreeMap<String, Vec<u8>>,
    pub attempt: u32,
    pub read_first: bool,
}

pub fn plan_of(graph: ExecutionGraph, schemas: super::Schemas) -> PlanFile {
    PlanFile { manifest: Manifest::default(), changes: Default::default(), schemas, sources: Default::default(), graph }
}

fn welcome() -> proto::Welcome {
    proto::Welcome {
        heartbeat_ms: 50,
        pause_ms: 30_000,
        intent_age_ms: 10_000,
        protocol: 2,
        refused: String::new(),
        sealed: false,
    }
}

impl Coordinator {
    /// A worker with every shard of the plan open.
    pub async fn start(plan: PlanFile, options: WorkerOptions) -> Coordinator {
        let mut coordinator = Coordinator::connect(plan, Worker::new(options)).await;
        coordinator.open_all().await;
        coordinator
    }

    /// Connects a worker that already exists. No shard is open.
    pub async fn connect(plan: PlanFile, worker: Worker) -> Coordinator {
        Coordinator::connect_with(plan, worker, |_| ()).await
    }

    /// Like `connect`, with a changed welcome.
    pub async fn connect_with(
        plan: PlanFile,
        mut worker: Worker,
        greet: impl FnOnce(&mut proto::Welcome),
    ) -> Coordinator {
        let (to_worker, incoming) = mpsc::channel(1024);
        let (outgoing, mut from_worker) = mpsc::channel(1024);
        let handle = worker.handle();
        let working = tokio::spawn(async move {
            let ended = worker.run(Channel { incoming, outgoing }).await;
            (worker, ended)
        });
        let first: Vec<u8> = from_worker.recv().await.expect("a greeting");
        let hello = proto::WorkerFrame::decode(first.as_slice()).unwrap().hello.expect("a greeting");
        let mut exports: BTreeMap<u32, Vec<(Vec<Path>, u32)>> = BTreeMap::new();
        for (shard, fragment) in plan.graph.fragments.iter().enumerate() {
            for foreign in &fragment.foreign {
                exports.entry(foreign.operation.0).or_default().push((foreign.paths.clone(), shard as u32));
            }
        }
        let mut welcome = welcome();
        greet(&mut welcome);
        let coordinator = Coordinator {
            plan,
            to_worker,
            from_worker,
            working,
            handle,
            hello,
            exports,
            outcomes: BTreeMap::new(),
            intents: Vec::new(),
            items: Default::default(),
            started: BTreeSet::new(),
            inputs: BTreeMap::new(),
            attempt: 1,
            read_first: false,
        };
        let greeting = proto::CoordinatorFrame { welcome: Some(welcome), ..Default::default() };
        coordinator.to_worker.send(greeting.encode_to_vec()).await.unwrap();
        coordinator
    }

    pub async fn open_all(&mut self) {
        for shard in 0..self.plan.graph.fragments.len() {
            self.open(shard as u32, Vec::new()).await;
        }
    }

    pub async fn open(&self, shard: u32, restored: Vec<proto::LocalResult>) {
        let package = self.plan.package(shard as usize).unwrap().encode().unwrap();
        let of_shard =
            |operation: &&u32| self.plan.graph.fragments[shard as usize].rows.iter().any(|r| r.id.0 == **operation);
        let mut exports = Vec::new();
        for operation in self.exports.keys().filter(of_shard) {
            for (paths, _) in &self.exports[operation] {
                exports.push(proto::Export { operation: *operation, paths: postcard::to_stdvec(paths).unwrap() });
            }
        }
        self.order(Order::Open(proto::OpenShard {
            shard,
            fragment: package,
            restored,
            exports,
            inputs: self.inputs.clone().into_iter().collect(),
            plan: Digest::default().hex(),
            ..Default::default()
        }))
        .await;
    }

    pub async fn order(&self, order: Order) {
        self.orders(vec![order]).await;
    }

    pub async fn orders(&self, orders: Vec<Order>) {
        let orders = orders.into_iter().map(|order| proto::Order { order: Some(order) }).collect();
        let frame = proto::CoordinatorFrame {
            orders: vec![proto::RunOrders { run: RUN.into(), epoch: 1, orders }],
            ..Default::default()
        };
        let _ = self.to_worker.send(frame.encode_to_vec()).await;
    }

    /// The next item from the worker.
    pub async fn next(&mut self) -> Item {
        loop {
            if let Some(item) = self.items.pop_front() {
                return item;
            }
            let frame = tokio::time::timeout(PATIENCE, self.from_worker.recv()).await.expect("the worker is silent");
            let frame = proto::WorkerFrame::decode(frame.expect("the worker is gone").as_slice()).unwrap();
            self.items.extend(frame.reports.into_iter().flat_map(|r| r.items).filter_map(|i| i.item));
        }
    }

    /// The number of the tracked operation with this address.
    pub fn operation(&self, address: &str) -> u32 {
        self.find(|row| row.address == address)
    }

    pub fn find(&self, test: impl Fn(&weft_graph_format::graph::OutlineRow) -> bool) -> u32 {
        self.plan.graph.outline.iter().find(|row| test(row)).expect("no such operation").id.0
    }

    pub fn shard_of(&self, operation: u32) -> u32 {
        self.find_row(operation).shard
    }

    fn find_row(&self, operation: u32) -> &weft_graph_format::graph::OutlineRow {
        self.plan.graph.outline.iter().find(|row| row.id.0 == operation).unwrap()
    }

    pub fn name(&self, operation: u32) -> proto::TaskName {
        proto::TaskName { operation, attempt: self.attempt }
    }

    pub async fn begin(&mut self, operation: u32) {
        self.started.insert(operation);
        let (shard, attempt, read_first) = (self.shard_of(operation), self.attempt, self.read_first);
        self.order(Order::Start(proto::StartTask { shard, operation, attempt, read_first })).await;
    }

    pub async fn settle(&mut self, operation: u32, adopt: Option<&str>) -> proto::settle_result::Verdict {
        self.settled(operation, adopt).await.verdict.unwrap()
    }

    pub async fn settled(&mut self, operation: u32, adopt: Option<&str>) -> proto::SettleResult {
        let order = proto::SettleTask {
            shard: self.shard_of(operation),
            operation,
            attempt: self.attempt,
            holder: "other/1".into(),
            holder_dead: true,
            adopt: adopt.map(str::to_owned),
            planned: Vec::new(),
        };
        self.order(Order::Settle(order)).await;
        loop {
            if let Item::Settled(found) = self.next().await {
                assert_eq!(found.operation, operation);
                return found;
            }
        }
    }

    fn satisfied(&self, waits: &weft_graph_format::graph::Waits) -> Option<bool> {
        let mut ready = true;
        for operation in &waits.operations {
            match self.outcomes.get(&operation.0) {
                Some(Outcome::Done(_)) => {}
                Some(_) => return None,
                None => ready = false,
            }
        }
        for waiter in &waits.waiters {
            ready &= self.satisfied(&self.plan.graph.waiters[waiter.0 as usize])?;
        }
        Some(ready)
    }

    /// Carries out all operations that can start, and grants each intent. Operations that depend on a failed operation
    /// are not started.
    pub async fn run_all(&mut self) {
        loop {
            let ready: Vec<u32> = self
                .plan
                .graph
                .outline
                .iter()
                .filter(|row| !self.started.contains(&row.id.0) && self.satisfied(&row.needs) == Some(true))
                .map(|row| row.id.0)
                .collect();
            for operation in ready {
                self.begin(operation).await;
            }
            if self.started.iter().all(|operation| self.outcomes.contains_key(operation)) {
                return;
            }
            self.step().await;
        }
    }

    /// Starts all operations of the plan in one frame, in the order of the plan. The operations must not depend on each
    /// other.
    pub async fn run_all_at_once(&mut self) {
        let all: Vec<u32> = self.plan.graph.outline.iter().map(|row| row.id.0).collect();
        let shard = self.shard_of(all[0]);
        let start = |operation: &u32| {
            Order::Start(proto::StartTask { shard, operation: *operation, attempt: self.attempt, read_first: false })
        };
        let orders = all.iter().map(start).collect();
        self.orders(orders).await;
        while self.outcomes.len() < all.len() {
            self.step().await;
        }
    }

    /// Handles one item: grants intents, records results, and forwards results to other shards.
    pub async fn step(&mut self) {
        match self.next().await {
            Item::Intent(intent) => {
                assert_eq!(intent.planned.len(), 32);
                self.intents.push(intent.operation);
                self.order(Order::Granted(self.name(intent.operation))).await;
            }
            Item::Result(result) => self.note(result).await,
            Item::Refused(refused) => {
                let problems: Vec<Diagnostic> = postcard::from_bytes(&refused.diagnostics).unwrap();
                panic!("shard refused: {problems:?}");
            }
            other => panic!("unexpected: {other:?}"),
        }
    }

    pub async fn note(&mut self, result: proto::TaskResult) {
        let outcome = result.outcome.unwrap();
        if let Outcome::Done(done) = &outcome
            && let Some(exports) = self.exports.get(&result.operation).cloned()
        {
            assert_eq!(done.exports.len(), exports.len());
            for (export, ((_, shard), value)) in exports.into_iter().zip(&done.exports).enumerate() {
                let (export, value) = (export as u32, value.clone());
                let foreign = proto::ForeignResult { shard, operation: result.operation, export, value };
                self.order(Order::Foreign(foreign)).await;
            }
        }
        self.order(Order::Acknowledged(self.name(result.operation))).await;
        self.outcomes.insert(result.operation, outcome);
    }

    pub fn done(&self, operation: u32) -> &proto::Done {
        match &self.outcomes[&operation] {
            Outcome::Done(done) => done,
            other => panic!("not done: {}", told(other)),
        }
    }

    pub fn failed(&self, operation: u32) -> (&proto::Failed, Vec<Diagnostic>) {
        match &self.outcomes[&operation] {
            Outcome::Failed(failed) => (failed, postcard::from_bytes(&failed.diagnostics).unwrap()),
            other => panic!("not failed: {}", told(other)),
        }
    }

    /// The object that an operation wrote, as JSON.
    pub fn object(&self, operation: u32) -> String {
        let writes = self.done(operation).writes.clone().unwrap();
        String::from_utf8(put(&writes.objects[writes.objects.len() - 1]).attributes.clone()).unwrap()
    }

    /// The text of an output.
    pub fn output(&self, name: &str) -> String {
        let writes = self.done(self.operation(&format!("output.{name}"))).writes.clone().unwrap();
        String::from_utf8(writes.outputs[0].value.clone()).unwrap()
    }

    /// Breaks the connection. The worker keeps running.
    pub async fn hang_up(self) -> (Worker, Ended) {
        drop(self.to_worker);
        drop(self.from_worker);
        self.working.await.unwrap()
    }

    /// Waits for the worker to end by itself.
    pub async fn ended(self) -> Ended {
        tokio::time::timeout(PATIENCE, self.working).await.expect("it does not end").unwrap().1
    }

    pub fn is_working(&self) -> bool {
        !self.working.is_finished()
    }
}

pub fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(failed) => {
            format!("{:?}", postcard::from_bytes::<Vec<Diagnostic>>(&failed.diagnostics).unwrap_or_default())
        }
        other => format!("{other:?}"),
    }
}

pub fn put(write: &proto::ObjectWrite) -> &proto::ResourceObject {
    match write.change.as_ref().unwrap() {
        proto::object_write::Change::Put(object) => object,
        other => panic!("not an object: {other:?}"),
    }
}

/// Grants the next intent that the worker asks for.
pub async fn granted(run: &mut Coordinator) {
    match run.next().await {
        Item::Intent(intent) => run.order(Order::Granted(run.name(intent.operation))).await,
        other => panic!("{other:?}"),
    }
}
