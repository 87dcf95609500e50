//! The progress of a run: events, human-readable lines, and at the end the problems and the objects in doubt.

mod foreknown;
mod placement;
mod shown_event;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use weft_coordinator::doubts::KnownDoubt;
use weft_coordinator::timing::STOP_WAIT;
use weft_coordinator::{Cancel, OperationEventKind};
use weft_executor::HostMessage;
use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::{Diagnostic, NOT_BEGUN, NOT_BEGUN_BY_PROVIDER, READ_FOR_CHECK};
use weft_graph_format::graph::ProvisionWhen;
use weft_graph_format::operation_kind::OperationKind;
use weft_protocol::OutputLine;
use weft_state::in_doubt;

pub use foreknown::{Foreknown, Provisioner};
use placement::PlacementLines;
use shown_event::ShownEvent;

use super::ActionInDoubt;
use crate::plan::tell_ephemeral;
use crate::render::events::{self, ChangeCounts, Hook, HookAction};
use crate::render::plan as lines;
use crate::render::progress::Board;
use crate::view::View;

/// The time between two checks for long operations. Elapsed times are shown in seconds.
pub const REMIND: Duration = Duration::from_secs(1);
/// The time between two reports of a long operation, and of the whole run.
const LONG: Duration = Duration::from_secs(10);
/// The minimum time between two redraws of the standing lines at the bottom of the terminal. Users cannot read faster.
const REDRAW: Duration = Duration::from_millis(100);

/// A running operation.
struct Running {
    hook: Hook,
    since: Instant,
    /// The number of reports that this operation is still running.
    reported: u64,
}

/// The operations that have begun but not ended.
#[derive(Default)]
struct Underway {
    /// Operations on objects.
    operations: BTreeMap<u32, Running>,
    /// Operations of any kind.
    begun: BTreeSet<u32>,
    /// Created instances whose provisioners have not finished.
    unfinished: BTreeSet<String>,
    /// Creates whose provisioners have not finished, and deletes whose provisioners have begun.
    held: BTreeMap<String, (Hook, Instant)>,
    /// The time when the last step of each ephemeral object began or ended.
    ephemeral: BTreeMap<String, Instant>,
}

/// The outcomes of operations.
#[derive(Default)]
struct OperationOutcomes {
    counts: ChangeCounts,
    failures: BTreeMap<u32, Vec<Diagnostic>>,
    warnings: BTreeMap<u32, Vec<Diagnostic>>,
    /// What is known about each object in doubt.
    doubts: BTreeMap<String, ActionInDoubt>,
    /// The number of operations whose end an event has reported.
    done: u32,
    skipped: usize,
    /// The number of reported errors that do not belong to an operation.
    aside_errors: u32,
}

/// The lines that summarize provider instances.
struct ProgressLines {
    board: Board,
    /// When the display of the run began.
    began: Instant,
    /// When the last permanent line was printed.
    reported: Instant,
    /// When the standing lines were last drawn.
    drawn: Option<Instant>,
    placed: PlacementLines,
    /// Whether the run only settles doubts. If so, the caller reports the remaining doubts, and there is no summary.
    only_resolves: bool,
}

/// The progress of a run, according to the events that have arrived.
pub struct Progress<'a> {
    view: &'a View,
    known: Foreknown,
    underway: Underway,
    results: OperationOutcomes,
    lines: ProgressLines,
}

impl<'a> Progress<'a> {
    /// Creates the progress before the first event. `operations` are the provider instances of the operations to come.
    pub fn new<'o>(view: &'a View, operations: impl IntoIterator<Item = &'o str>, known: Foreknown) -> Progress<'a> {
        // An object counts as created when its last provisioner has finished.
        let last = known.provisioners.values().filter(|found| found.when == ProvisionWhen::Completed);
        let unfinished = last.map(|found| found.address.to_string()).collect();
        let now = Instant::now();
        let lines = ProgressLines {
            board: Board::new(operations),
            began: now,
            reported: now,
            drawn: None,
            placed: PlacementLines::default(),
            only_resolves: false,
        };
        Progress {
            view,
            known,
            underway: Underway { unfinished, ..Underway::default() },
            results: OperationOutcomes::default(),
            lines,
        }
    }

    /// Marks the run as one that only settles doubts. The caller reports the remaining doubts.
    pub fn leave_doubts_to_the_caller(&mut self) {
        self.lines.only_resolves = true;
    }

    /// What is known about each object in doubt, by its name.
    pub fn doubts(&self) -> BTreeMap<String, ActionInDoubt> {
        self.results.doubts.clone()
    }

    /// Handles a line of output from a provisioner.
    pub fn line(&mut self, line: &OutputLine) {
        let OutputLine { address, provisioner, text } = line;
        if let Ok(address) = address.parse() {
            self.view.event(events::provision_progress(&address, provisioner, text));
        }
        self.say(|| format!("{address} ({provisioner}): {text}"));
    }

    /// Handles a message of the worker in this process.
    pub fn said(&mut self, said: &HostMessage) {
        match said {
            HostMessage::Ephemeral { address, step } => {
                let since = self.underway.ephemeral.insert(address.clone(), Instant::now());
                if let Ok(address) = address.parse() {
                    let elapsed = since.map(|since| since.elapsed()).unwrap_or_default();
                    tell_ephemeral(self.view, &address, *step, elapsed);
                }
            }
            HostMessage::Problem(problem) => {
                self.results.aside_errors += u32::from(problem.is_error());
                self.view.diagnostics(&self.placed(vec![(**problem).clone()]));
            }
        }
    }

    /// The number of reported errors that do not belong to an operation.
    pub fn aside_errors(&self) -> u32 {
        self.results.aside_errors
    }

    /// Handles an event of a provisioner.
    fn provisioner_happened(&mut self, found: &Provisioner, what: &OperationEventKind) {
        let Provisioner { address, kind, when } = found;
        let text = address.to_string();
        match what {
            OperationEventKind::Started => {
                if *when == ProvisionWhen::Deleting && !self.underway.held.contains_key(&text) {
                    let id = self.known.ids.get(&text).cloned().flatten();
                    let hook = Hook::current(address.clone(), HookAction::Delete, id, 0);
                    self.view.event(events::apply_start(&hook));
                    self.say(|| lines::started_line(&hook));
                    self.underway.held.insert(text, (hook, Instant::now()));
                }
                self.view.event(events::provision_start(address, kind));
                self.say(|| lines::provisioning_line(address, kind));
            }
            OperationEventKind::Done { .. } => {
                self.view.event(events::provision_complete(address, kind));
                if *when != ProvisionWhen::Completed {
                    return;
                }
                self.underway.unfinished.remove(&text);
                if let Some((mut hook, since)) = self.underway.held.remove(&text) {
                    hook.elapsed_seconds = since.elapsed().as_secs();
                    self.count(&hook);
                    self.view.event(events::apply_complete(&hook));
                    self.say(|| lines::done_line(&hook));
                }
            }
            OperationEventKind::Failed => {
                self.view.event(events::provision_errored(address, kind));
                let action = if *when == ProvisionWhen::Deleting { HookAction::Delete } else { HookAction::Create };
                let since = self.underway.held.remove(&text).map_or_else(Instant::now, |(_, since)| since);
                let elapsed_seconds = since.elapsed().as_secs();
                let hook = Hook::current(address.clone(), action, None, elapsed_seconds);
                self.view.event(events::apply_errored(&hook));
            }
            _ => {}
        }
    }

    /// Adds the position of the block to problems of objects and providers that have no more precise position.
    fn placed(&self, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for problem in problems.iter_mut().filter(|problem| problem.subject.is_none()) {
            let Some(text) = &problem.address else { continue };
            let block = match text.parse::<ResourceInstance>() {
                Ok(address) => Some(address.config().to_string()),
                Err(_) => text.parse::<ProviderInstance>().ok().map(|instance| instance.config().to_string()),
            };
            problem.subject = block.and_then(|block| self.known.places.get(&block).cloned());
        }
        problems
    }

    /// The changes that have been made so far.
    pub fn counts(&self) -> &ChangeCounts {
        &self.results.counts
    }

    /// The number of operations whose end an event has reported. The run may have finished more operations: some before
    /// the display began, and some whose events did not arrive.
    pub fn done(&self) -> u32 {
        self.results.done
    }

    /// Handles an event of an operation.
    pub fn happened(&mut self, happening: impl Into<ShownEvent>) {
        let happening = happening.into();
        let what = happening.what.clone();
        let hook = self.hook(&happening, &what);
        self.tally(&happening, &what);
        if let Some(found) = self.known.provisioners.get(&happening.operation).cloned() {
            self.provisioner_happened(&found, &what);
        }
        match what {
            OperationEventKind::Started => self.started(&happening, hook),
            OperationEventKind::Done { intended, .. } => self.done_with(happening, hook, intended),
            OperationEventKind::Failed => self.failed(happening, hook),
            OperationEventKind::Skipped { .. } => self.results.skipped += 1,
            OperationEventKind::Refused { pause } => {
                self.underway.operations.remove(&happening.operation);
                self.say(|| lines::refused_line(&happening.address, pause));
            }
            OperationEventKind::Returned => self.returned(&happening),
            OperationEventKind::InDoubt { reason, candidate } => {
                let kind = happening.action.kind();
                self.underway.operations.remove(&happening.operation);
                let known = KnownDoubt { reason, candidate };
                self.results.doubts.insert(happening.subject(), ActionInDoubt { kind, known });
            }
            OperationEventKind::Settling { .. } => {
                self.say(|| format!("{}: Looking up the outcome...", happening.address));
            }
            OperationEventKind::Waiting => self.waits(&happening),
            OperationEventKind::NoWorker => self.has_no_worker(&happening),
            OperationEventKind::Stray => {}
        }
        if self.view.has_standing_lines() && self.lines.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
            self.draw();
        }
    }

    fn started(&mut self, happening: &ShownEvent, hook: Option<Hook>) {
        let Some(hook) = hook else { return };
        // If a provisioner ran before the delete, the start of the provisioner counts as the start of the delete.
        let begun = self.underway.held.remove(&happening.address).filter(|_| hook.action == HookAction::Delete);
        if hook.action != HookAction::Forget && begun.is_none() {
            self.view.event(events::apply_start(&hook));
            self.say(|| lines::started_line(&hook));
        }
        let since = begun.map_or_else(Instant::now, |(_, since)| since);
        self.underway.operations.insert(happening.operation, Running { hook, since, reported: 0 });
    }

    fn done_with(&mut self, happening: ShownEvent, hook: Option<Hook>, intended: bool) {
        self.results.done += 1;
        let running = self.underway.operations.remove(&happening.operation);
        self.results.doubts.remove(&happening.subject());
        let kind = happening.action.kind();
        // An update that turned out to change nothing did not call a provider, and is not reported. An update that was
        // planned to change only sensitivity is reported, although it does not call a provider either.
        let was_nothing =
            kind == Some(OperationKind::Update) && !intended && !self.known.relabelled.contains(&happening.address);
        // A failed read for a check block is only a warning, so the read counts as finished.
        let unread = happening.diagnostics.iter().any(|said| said.code == READ_FOR_CHECK);
        if !happening.diagnostics.is_empty() {
            self.results.warnings.insert(happening.operation, happening.diagnostics);
        }
        let Some(mut hook) = hook else { return };
        if let Some(running) = &running {
            // The elapsed time of a delete includes its provisioners.
            hook.elapsed_seconds = hook.elapsed_seconds.max(running.since.elapsed().as_secs());
        }
        if kind == Some(OperationKind::Create) && self.underway.unfinished.contains(&happening.address) {
            let since = running.map_or_else(Instant::now, |running| running.since);
            self.underway.held.insert(happening.address, (hook, since));
        } else if !was_nothing && !unread {
            self.count(&hook);
            // OpenTofu has events only for calls of providers. A `forget` calls no provider.
            if hook.action != HookAction::Forget {
                self.view.event(events::apply_complete(&hook));
                self.say(|| lines::done_line(&hook));
            }
        }
    }

    fn failed(&mut self, happening: ShownEvent, hook: Option<Hook>) {
        self.underway.operations.remove(&happening.operation);
        self.results.doubts.remove(&happening.subject());
        // OpenTofu sends no event if the delete of a deposed object or a read fails.
        let untold = match happening.action.kind() {
            Some(OperationKind::Delete) => happening.deposed.is_some(),
            kind => kind == Some(OperationKind::Read),
        };
        let mut errors = happening.diagnostics.iter().filter(|problem| problem.is_error()).peekable();
        let begun =
            errors.peek().is_none() || errors.any(|problem| !is_before_begin(problem) && !is_of_provider(problem));
        if let Some(hook) = hook.filter(|_| !untold && begun) {
            self.view.event(events::apply_errored(&hook));
        }
        self.results.failures.insert(happening.operation, happening.diagnostics);
    }

    /// Reports the operations that are still running. The caller calls this function every [`REMIND`].
    pub fn remind(&mut self) {
        let mut long = false;
        for running in self.underway.operations.values_mut() {
            let seconds = running.since.elapsed().as_secs();
            let periods = seconds / LONG.as_secs();
            long |= periods > 0;
            if periods <= running.reported {
                continue;
            }
            running.reported = periods;
            running.hook.elapsed_seconds = seconds;
            self.view.event(events::apply_progress(&running.hook));
            if self.view.shows_progress() {
                self.view.line(&lines::progress_line(&running.hook));
            }
        }
        if self.view.has_standing_lines() {
            self.draw();
        } else if self.lines.reported.elapsed() >= LONG {
            self.lines.reported = Instant::now();
            if (long || self.lines.board.has_several()) && self.view.shows_progress() {
                self.lines.board.plain(self.lines.began.elapsed()).iter().for_each(|line| self.view.line(line));
            }
        }
    }

    /// Reports what is running and what happens next after the user has interrupted the run.
    pub fn interrupted(&mut self, wish: Cancel, run: &str) {
        let longest = self.underway.operations.values().max_by_key(|running| running.since.elapsed());
        let under_way = match (self.underway.operations.len(), longest) {
            (0, _) | (_, None) => String::from("Nothing is running."),
            (count, Some(longest)) => {
                let (verb, noun) = if count == 1 { ("is", "operation") } else { ("are", "operations") };
                let seconds = longest.since.elapsed().as_secs();
                format!("{count} {noun} {verb} running, the longest for {seconds}s ({}).", longest.hook.address)
            }
        };
        let text = match wish {
            Cancel::Drain => format!(
                "Interrupted. No new operations start. {under_way} Weft waits for the running ones. Press Ctrl-C \
                again to ask the providers to stop."
            ),
            Cancel::Stop | Cancel::Leave => format!(
                "Interrupted again. Providers are asked to stop. {under_way} Results that arrive within {} seconds are \
                 kept. Press Ctrl-C again to quit now.",
                STOP_WAIT.as_secs()
            ),
        };
        if self.view.is_json() {
            tracing::warn!("{text}");
        }
        eprintln!("\n{text}\nTo continue later: weft runs resume {run}");
    }

    /// Counts an event for its provider instance. An operation may end although no event has reported its start: it
    /// began before the display, or was skipped.
    fn tally(&mut self, happening: &ShownEvent, what: &OperationEventKind) {
        let instance = happening.provider_instance.as_str();
        let begun = self.underway.begun.contains(&happening.operation);
        let (board, elapsed) = (&mut self.lines.board, self.lines.began.elapsed());
        match what {
            OperationEventKind::Started => {
                if self.underway.begun.insert(happening.operation) {
                    board.began(instance, elapsed);
                }
                return;
            }
            // The outcome of an operation in doubt is reported later.
            OperationEventKind::Returned | OperationEventKind::Refused { .. } | OperationEventKind::InDoubt { .. }
                if begun =>
            {
                board.returned(instance)
            }
            OperationEventKind::Done { .. } => board.done(instance, begun, elapsed),
            OperationEventKind::Failed | OperationEventKind::Skipped { .. } => board.failed(instance, begun, elapsed),
            _ => return,
        }
        self.underway.begun.remove(&happening.operation);
    }

    fn draw(&mut self) {
        self.lines.drawn = Some(Instant::now());
        let longest = self.underway.operations.values().min_by_key(|running| running.since);
        let longest = longest.map(|running| (running.hook.address.to_string(), running.since.elapsed()));
        let longest = longest.as_ref().map(|(object, elapsed)| (object.as_str(), *elapsed));
        self.view.stand(self.lines.board.block(self.lines.began.elapsed(), longest, self.view.style()));
    }

    /// Reports all problems and each object in doubt at the end of a run.
    pub fn end(&mut self, run: &str, in_doubt_now: &[String]) {
        self.view.stand(Vec::new());
        if self.lines.board.has_several() && self.view.shows_progress() && !self.lines.only_resolves {
            self.view.line("");
            self.lines.board.summary(self.view.style()).iter().for_each(|line| self.view.line(line));
        }
        let mut problems: Vec<Diagnostic> =
            std::mem::take(&mut self.results.warnings).into_values().flatten().collect();
        problems.extend(std::mem::take(&mut self.results.failures).into_values().flatten());
        for address in in_doubt_now.iter().filter(|_| !self.lines.only_resolves) {
            let doubt = self.results.doubts.get(address).cloned().unwrap_or_default();
            problems.push(in_doubt(address, run, doubt.kind, &doubt.known.reason));
        }
        self.view.diagnostics(&self.placed(problems));
        if self.view.is_json() {
            // Scripts look for the addresses on the standard error, in every output format.
            in_doubt_now.iter().for_each(|address| self.view.aside(&format!("in doubt: {address}")));
        }
        if self.results.skipped > 0 {
            let (skipped, they) = match self.results.skipped {
                1 => ("1 operation".to_owned(), "it depends"),
                several => (format!("{several} operations"), "they depend"),
            };
            self.view
                .aside(&format!("{skipped} did not begin, because an operation that {they} on failed or is in doubt."));
        }
    }

    fn say(&self, line: impl FnOnce() -> String) {
        if self.view.shows_progress() {
            self.view.line(&line());
        }
    }

    /// The description of an operation for reports. `None` for an operation that does not act on an object. Such
    /// operations are not reported.
    fn hook(&self, happening: &ShownEvent, what: &OperationEventKind) -> Option<Hook> {
        let action = HookAction::of(happening.action.kind()?)?;
        let address: ResourceInstance = happening.address.parse().ok()?;
        let id = match (action, what) {
            (HookAction::Delete, OperationEventKind::Done { .. }) => None,
            (_, OperationEventKind::Done { shown, .. }) => shown.clone(),
            (HookAction::Delete | HookAction::Update, OperationEventKind::Started | OperationEventKind::Failed) => {
                self.known.id_before(happening)
            }
            _ => None,
        };
        let elapsed_seconds = happening.elapsed_ms / 1000;
        let deposed = happening.deposed.as_deref().and_then(DeposedKey::parse);
        Some(Hook { address, deposed, action, id, elapsed_seconds })
    }

    fn count(&mut self, hook: &Hook) {
        if hook.address.resource.mode != ResourceMode::Managed {
            return;
        }
        match hook.action {
            HookAction::Create => self.results.counts.add += 1,
            HookAction::Update => self.results.counts.change += 1,
            HookAction::Delete => self.results.counts.remove += 1,
            HookAction::Forget => self.results.counts.forget += 1,
            HookAction::Read | HookAction::Refresh => {}
        }
    }
}

/// Whether a problem occurred before an operation began.
fn is_before_begin(problem: &Diagnostic) -> bool {
    problem.code == NOT_BEGUN || problem.code == NOT_BEGUN_BY_PROVIDER
}

/// Whether a problem is about a provider. In this case, the operations that need the provider have not begun.
fn is_of_provider(problem: &Diagnostic) -> bool {
    problem.address.as_ref().is_some_and(|address| address.parse::<ProviderInstance>().is_ok())
}
