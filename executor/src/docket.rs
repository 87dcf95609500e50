//! The decisions of a worker about orders and about the ends of tasks. Plain functions over data; the caller passes in
//! times in milliseconds of one clock. [`crate::desk`] carries out the actions. The simulation (`tests/simulation`)
//! runs the same decisions against those of a coordinator.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weft_graph_format::digest::Digest;
use weft_graph_format::run::RunId;
use weft_graph_format::stored::Opaque;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_protocol::{HeldTask, OpenShard, Order, Report, SettleOrder, SettleVerdict, Task, TaskResult};

use crate::held::{Dropped, Grant, HeldTasks, Start, UnfinishedWork};
use crate::problems::{self, reasons};
use crate::spool::{SpoolWork, SpooledResult};

/// An action for the desk.
#[derive(Clone, Debug, PartialEq)]
pub enum DeskAction {
    /// Open a shard, and report the outcome with [`Docket::opened`].
    Open(RunId, Box<OpenShard>),
    /// A shard is needed again while it is open: parts that failed to start may be started again.
    Reopened(RunId, u32),
    /// Results for a shard: numbers of operations, and values.
    Arrived(RunId, u32, Vec<(u32, Arc<[u8]>)>),
    /// Carry out a task.
    Begin {
        /// The run.
        run: RunId,
        /// The shard, which is open.
        shard: u32,
        /// The task.
        task: Task,
        /// Whether to read the object first.
        read_first: bool,
    },
    /// The task that asked for its intent may make its call.
    Call(RunId, Task),
    /// The task is no longer wanted, and made no call.
    Abort(RunId, Task),
    /// Look for evidence.
    Settle(RunId, SettleOrder),
    /// The shard gets no more tasks: close it once [`Docket::may_close`] returns `true`.
    Close(RunId, u32),
    /// A new term of the run has begun. The run continues even if an earlier term stopped it.
    NewTerm(RunId),
    /// Ask the providers of the run to end their calls early.
    Stop(RunId),
    /// The run is over at this worker. These tasks are no longer wanted.
    Leave(RunId, Vec<Task>),
}

/// The time of an order.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Milliseconds of the worker's clock, which also counts while the machine is suspended.
    pub ms: u64,
    /// The age in milliseconds from which a granted intent is too old.
    pub intent_age: u64,
}

#[derive(Debug, Default)]
struct RunState {
    /// The epoch of the newest term that gave orders.
    epoch: u64,
    shards: BTreeMap<u32, ShardState>,
}

#[derive(Debug)]
enum ShardState {
    /// The shard is being opened. The orders that have arrived for it, in order.
    Opening(Vec<WaitingOrder>),
    /// The shard cannot be opened at this worker.
    Refused,
    Open {
        closing: bool,
    },
}

/// An order that waits until its shard is open.
#[derive(Debug)]
enum WaitingOrder {
    Arrived(Vec<(u32, Arc<[u8]>)>),
    Begin(Task, bool),
    Settle(SettleOrder),
    Close,
}

/// The runs, shards and tasks of a worker, and its unsent reports.
#[derive(Debug, Default)]
pub struct Docket {
    held: HeldTasks,
    runs: BTreeMap<RunId, RunState>,
    /// Unsent reports, in order.
    reports: VecDeque<(RunId, Report)>,
}

impl Docket {
    /// All held tasks, for a greeting.
    pub fn held(&self) -> Vec<HeldTask> {
        self.held.all()
    }

    /// Handles a new connection to a coordinator with this version of the protocol. Intents and results without an
    /// answer are queued again, because the previous connection may not have delivered them. Unsent verdicts about
    /// evidence stay in the queue. Sent verdicts are not queued again, because no message acknowledges a verdict.
    pub fn connected(&mut self, protocol: u32) {
        self.reports.retain(|(_, report)| matches!(report, Report::Settled { .. }));
        self.reports.extend(self.held.unanswered(protocol));
    }

    /// Takes over the results that an earlier process of this name left in the spool.
    pub fn restore(&mut self, results: Vec<SpooledResult>) {
        self.held.restore(results);
    }

    /// The changes that the spool must write now. If `all` is false, a result is included only if it was already
    /// unacknowledged at the previous call. `maker` is the incarnation of this process. Call [`Docket::spooled`]
    /// afterwards.
    pub fn spool_work(&mut self, all: bool, maker: &str) -> SpoolWork {
        self.held.spool_work(all, maker)
    }

    /// Records that results are in the spool, or could not be written.
    pub fn spooled(&mut self, results: &[SpooledResult], written: bool) {
        self.held.spooled(results, written);
    }

    /// The number of results that would be lost if this process ended now.
    pub fn not_durable(&self) -> usize {
        self.held.not_durable()
    }

    /// The number of unsent reports.
    pub fn reports(&self) -> usize {
        self.reports.len()
    }

    /// Takes the oldest reports, at most `most`.
    pub fn take_reports(&mut self, most: usize) -> impl Iterator<Item = (RunId, Report)> {
        let count = self.reports.len().min(most);
        self.reports.drain(..count)
    }

    /// Whether nothing remains that a coordinator must receive: neither a report nor an unfinished task.
    pub fn is_idle(&self) -> bool {
        self.reports.is_empty() && self.held.nothing_open()
    }

    /// Whether nothing is running, so that only results without an acknowledgement remain.
    pub fn only_results(&self) -> bool {
        self.held.only_results()
    }

    /// The number of running calls, and of results without an acknowledgement.
    pub fn open(&self) -> UnfinishedWork {
        self.held.open()
    }

    fn say(&mut self, run: &RunId, report: Report) {
        self.reports.push_back((run.clone(), report));
    }

    /// Records the term that gives orders for a run. The caller calls this method before it handles the orders. A new
    /// term continues a run that an earlier term stopped, even if no shard is open. Otherwise this worker would return
    /// every task of the run forever.
    pub fn heard(&mut self, run: &RunId, epoch: u64) -> Vec<DeskAction> {
        let state = self.runs.entry(run.clone()).or_insert_with(|| RunState { epoch, ..RunState::default() });
        if epoch <= state.epoch {
            return Vec::new();
        }
        state.epoch = epoch;
        self.held.new_term(run);
        vec![DeskAction::NewTerm(run.clone())]
    }

    /// Handles an order.
    pub fn ordered(&mut self, run: &RunId, epoch: u64, order: Order, now: Now) -> Vec<DeskAction> {
        match order {
            Order::Open(open) => self.open_shard(run, epoch, open),
            Order::Close(shard) => self.at_shard(run, shard, WaitingOrder::Close),
            Order::Foreign { shard, operation, value, .. } | Order::Restored { shard, operation, value } => {
                self.at_shard(run, shard, WaitingOrder::Arrived(vec![(operation, value)]))
            }
            Order::Start { shard, task, read_first } => self.start(run, shard, task, read_first),
            Order::Granted(task) => match self.held.granted(run, task, now.ms, now.intent_age) {
                Grant::Call => vec![DeskAction::Call(run.clone(), task)],
                Grant::Answer(result) => self.answer(run, task, result),
                Grant::Ignore => Vec::new(),
            },
            Order::IntentRefused(task) => match self.held.refused(run, task) {
                true => vec![DeskAction::Abort(run.clone(), task)],
                false => Vec::new(),
            },
            Order::Drop(task) => match self.held.dropped(run, task) {
                Dropped::Forgotten => vec![DeskAction::Abort(run.clone(), task)],
                Dropped::Answer(result) => self.answer(run, task, result),
                Dropped::Ignore => Vec::new(),
            },
            Order::Acknowledged(task) => {
                self.held.acknowledged(run, task);
                Vec::new()
            }
            Order::Settle(settle) => self.at_shard(run, settle.shard, WaitingOrder::Settle(settle)),
            Order::Drain => self.drain_run(run),
            Order::Stop => {
                let mut actions = self.drain_run(run);
                actions.push(DeskAction::Stop(run.clone()));
                actions
            }
            Order::Leave => {
                let gone = self.held.leave(run);
                self.runs.remove(run);
                vec![DeskAction::Leave(run.clone(), gone)]
            }
        }
    }

    fn start(&mut self, run: &RunId, shard: u32, task: Task, read_first: bool) -> Vec<DeskAction> {
        match self.held.start(run, shard, task) {
            Start::Begin => self.at_shard(run, shard, WaitingOrder::Begin(task, read_first)),
            Start::Return => {
                self.say(run, Report::Returned(task));
                Vec::new()
            }
            Start::Known => {
                if let Some(result) = self.held.result(run, task) {
                    self.say(run, result);
                }
                Vec::new()
            }
        }
    }

    /// Reports the end of a task that made no call.
    fn answer(&mut self, run: &RunId, task: Task, result: Arc<TaskResult>) -> Vec<DeskAction> {
        self.say(run, Report::Result { task, result });
        vec![DeskAction::Abort(run.clone(), task)]
    }

    fn open_shard(&mut self, run: &RunId, epoch: u64, open: Box<OpenShard>) -> Vec<DeskAction> {
        let number = open.shard;
        let state = self.runs.entry(run.clone()).or_insert_with(|| RunState { epoch, ..RunState::default() });
        match state.shards.get_mut(&number) {
            Some(ShardState::Open { closing }) => {
                *closing = false;
                let mut actions = vec![DeskAction::Reopened(run.clone(), number)];
                actions.extend(self.at_shard(run, number, WaitingOrder::Arrived(open.restored)));
                actions
            }
            Some(ShardState::Opening(_)) => self.at_shard(run, number, WaitingOrder::Arrived(open.restored)),
            Some(ShardState::Refused) | None => {
                state.shards.insert(number, ShardState::Opening(Vec::new()));
                vec![DeskAction::Open(run.clone(), open)]
            }
        }
    }

    /// Handles an order for a shard, now or after the shard is open.
    fn at_shard(&mut self, run: &RunId, number: u32, what: WaitingOrder) -> Vec<DeskAction> {
        let run = run.clone();
        match self.runs.get_mut(&run).and_then(|state| state.shards.get_mut(&number)) {
            None => self.no_shard(&run, number, what),
            Some(ShardState::Opening(waiting)) => {
                waiting.push(what);
                Vec::new()
            }
            Some(ShardState::Refused) => match what {
                WaitingOrder::Begin(..) => {
                    self.held.shard_refused(&run, number);
                    Vec::new()
                }
                WaitingOrder::Settle(_) => self.no_shard(&run, number, what),
                WaitingOrder::Arrived(_) | WaitingOrder::Close => Vec::new(),
            },
            Some(ShardState::Open { closing }) => vec![match what {
                WaitingOrder::Arrived(results) => DeskAction::Arrived(run, number, results),
                WaitingOrder::Begin(task, read_first) => DeskAction::Begin { run, shard: number, task, read_first },
                WaitingOrder::Settle(order) => DeskAction::Settle(run, order),
                WaitingOrder::Close => {
                    *closing = true;
                    DeskAction::Close(run, number)
                }
            }],
        }
    }

    /// Handles an order for a shard that was never opened at this worker.
    fn no_shard(&mut self, run: &RunId, number: u32, what: WaitingOrder) -> Vec<DeskAction> {
        match what {
            WaitingOrder::Begin(task, _) => {
                let problem = problems::shard_not_open(number);
                self.finished(run, task, TaskResult::failed(encode_diagnostics(&[problem])));
            }
            WaitingOrder::Settle(order) => {
                let verdict = SettleVerdict::Unknown(reasons::shard_not_open(number));
                self.settled(run, order.task, verdict);
            }
            WaitingOrder::Arrived(_) | WaitingOrder::Close => {
                tracing::warn!(%run, shard = number, "an order for a shard that is not open");
            }
        }
        Vec::new()
    }

    /// Handles a shard that was opened, or that could not be opened. In the second case, `outcome` has the encoded
    /// diagnostics.
    pub fn opened(&mut self, run: &RunId, number: u32, outcome: Result<(), Opaque>) -> Option<Vec<DeskAction>> {
        // The run may have ended in the meantime.
        let state = self.runs.get_mut(run)?;
        let Some(ShardState::Opening(_)) = state.shards.get(&number) else { return None };
        let next = if outcome.is_ok() { ShardState::Open { closing: false } } else { ShardState::Refused };
        let Some(ShardState::Opening(waiting)) = state.shards.insert(number, next) else { return None };
        let mut actions = Vec::new();
        if let Err(diagnostics) = outcome {
            self.held.shard_refused(run, number);
            self.say(run, Report::Refused { shard: number, diagnostics });
        }
        for what in waiting {
            // A task that was forgotten while it waited does not begin.
            if matches!(&what, WaitingOrder::Begin(task, _) if !self.held.holds(run, *task)) {
                continue;
            }
            actions.extend(self.at_shard(run, number, what));
        }
        Some(actions)
    }

    /// Handles a task that is ready for its call.
    pub fn asked(&mut self, run: &RunId, task: Task, planned: Digest, now_ms: u64) {
        if self.held.asked(run, task, planned, now_ms) {
            self.say(run, Report::Intent { task, planned });
        }
    }

    /// Handles the end of a task.
    pub fn finished(&mut self, run: &RunId, task: Task, result: TaskResult) {
        if let Some(report) = self.held.finished(run, task, result) {
            self.say(run, report);
        }
    }

    /// Handles a task that ended with a panic.
    pub fn broken(&mut self, run: &RunId, task: Task) {
        let problem = problems::task_broken();
        let diagnostics = encode_diagnostics(&[problem]);
        let result = match self.held.is_called(run, task) {
            true => TaskResult::InDoubt { reason: reasons::task_broken(), provider_dead: false, diagnostics },
            false => TaskResult::failed(diagnostics),
        };
        self.finished(run, task, result);
    }

    /// Handles the end of a search for evidence.
    pub fn settled(&mut self, run: &RunId, task: Task, verdict: SettleVerdict) {
        self.say(run, Report::Settled { task, verdict });
    }

    /// Whether a shard is closed and no task uses it. If so, the shard is forgotten.
    pub fn may_close(&mut self, run: &RunId, number: u32) -> bool {
        let over = match self.runs.get(run).and_then(|state| state.shards.get(&number)) {
            Some(ShardState::Open { closing }) => *closing,
            Some(ShardState::Opening(_)) => false,
            Some(ShardState::Refused) | None => true,
        };
        if !over || self.held.uses(run, number) {
            return false;
        }
        if let Some(state) = self.runs.get_mut(run) {
            state.shards.remove(&number);
        }
        true
    }

    fn drain_run(&mut self, run: &RunId) -> Vec<DeskAction> {
        let gone = self.held.drain(run);
        gone.into_iter().map(|task| self.give_back(run, task)).collect()
    }

    /// Lets the worker leave: it starts no new call.
    pub fn drain(&mut self) -> Vec<DeskAction> {
        let gone = self.held.drain_worker();
        gone.into_iter().map(|(run, task)| self.give_back(&run, task)).collect()
    }

    fn give_back(&mut self, run: &RunId, task: Task) -> DeskAction {
        self.say(run, Report::Returned(task));
        DeskAction::Abort(run.clone(), task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now { ms: 0, intent_age: 100 };

    fn run() -> RunId {
        RunId::parse("r").expect("a run id")
    }

    fn start(operation: u32) -> Order {
        Order::Start { shard: 0, task: Task::new(operation, 1), read_first: false }
    }

    fn open() -> Order {
        Order::Open(Box::default())
    }

    fn reports(docket: &mut Docket) -> Vec<Report> {
        docket.take_reports(usize::MAX).map(|(_, report)| report).collect()
    }

    #[test]
    fn a_task_waits_for_its_shard() {
        let (mut docket, run) = (Docket::default(), run());
        assert!(matches!(docket.ordered(&run, 1, open(), NOW).as_slice(), [DeskAction::Open(..)]));
        assert_eq!(docket.ordered(&run, 1, start(1), NOW), []);
        assert_eq!(docket.ordered(&run, 1, start(2), NOW), []);
        assert_eq!(docket.ordered(&run, 1, Order::Drop(Task::new(2, 1)), NOW).len(), 1);
        let actions = docket.opened(&run, 0, Ok(())).expect("it is wanted");
        let begin = DeskAction::Begin { run: run.clone(), shard: 0, task: Task::new(1, 1), read_first: false };
        assert_eq!(actions, [begin], "what was dropped meanwhile is not begun");
        assert_eq!(docket.ordered(&run, 1, Order::Close(0), NOW), [DeskAction::Close(run.clone(), 0)]);
        assert!(!docket.may_close(&run, 0), "a task uses it");
        docket.finished(&run, Task::new(1, 1), TaskResult::failed(Opaque::default()));
        assert!(docket.may_close(&run, 0));
    }

    #[test]
    fn a_shard_that_cannot_be_opened_is_reported_once() {
        let (mut docket, run) = (Docket::default(), run());
        docket.ordered(&run, 1, open(), NOW);
        docket.ordered(&run, 1, start(1), NOW);
        assert_eq!(docket.opened(&run, 0, Err(Opaque::default())), Some(Vec::new()));
        assert_eq!(reports(&mut docket), [Report::Refused { shard: 0, diagnostics: Opaque::default() }]);
        assert!(docket.held().is_empty());
    }

    #[test]
    fn a_shard_opened_after_the_end_of_its_run_is_ignored() {
        let (mut docket, run) = (Docket::default(), run());
        docket.ordered(&run, 1, open(), NOW);
        docket.ordered(&run, 1, Order::Leave, NOW);
        assert_eq!(docket.opened(&run, 0, Ok(())), None);
    }

    #[test]
    fn a_new_term_ends_the_stop_of_an_earlier_one() {
        let (mut docket, run) = (Docket::default(), run());
        docket.heard(&run, 1);
        docket.ordered(&run, 1, Order::Drain, NOW);
        assert_eq!(docket.heard(&run, 2), [DeskAction::NewTerm(run.clone())]);
        docket.ordered(&run, 2, open(), NOW);
        docket.opened(&run, 0, Ok(()));
        assert!(matches!(docket.ordered(&run, 2, start(1), NOW).as_slice(), [DeskAction::Begin { .. }]));
    }

    #[test]
    fn a_defect_after_the_call_is_a_doubt() {
        let (mut docket, run) = (Docket::default(), run());
        docket.ordered(&run, 1, open(), NOW);
        docket.opened(&run, 0, Ok(()));
        docket.ordered(&run, 1, start(1), NOW);
        docket.asked(&run, Task::new(1, 1), Digest::default(), 0);
        assert_eq!(docket.ordered(&run, 1, Order::Granted(Task::new(1, 1)), NOW).len(), 1);
        docket.broken(&run, Task::new(1, 1));
        let Some(Report::Result { result, .. }) = reports(&mut docket).pop() else { panic!("no result") };
        assert!(matches!(*result, TaskResult::InDoubt { .. }));
    }
}
