//! Showing how a run goes: events, lines for people, and at the end what went wrong and what is in doubt.

mod happening;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use weft_coordinator::timing::STOP_WAIT;
use weft_coordinator::{Cancel, ProgressKind};
use weft_executor::Said;
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::changes::ChangeAction;
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK};
use weft_graph_format::graph::{Action, ExecutionGraph, Operation, ProvisionWhen};
use weft_graph_format::plan_file::PlanFile;
use weft_graph_format::source::SourceRange;

use happening::Happening;

use super::observed::Commits;
use super::problems::in_doubt;
use crate::plan::tell_ephemeral;
use crate::render::events::{self, Counts, Hook};
use crate::render::plan as lines;
use crate::render::progress::Board;
use crate::view::View;

/// How often is looked whether something is to be said: times are told in seconds.
pub const REMIND: Duration = Duration::from_secs(1);
/// How often something is said about an operation that takes long, and about all.
const LONG: Duration = Duration::from_secs(10);
/// How often the standing lines are drawn at most: more often nobody could read them.
const REDRAW: Duration = Duration::from_millis(100);

/// A provisioner of the plan.
#[derive(Clone, Debug)]
pub struct Provisioner {
    address: ResourceInstance,
    kind: String,
    when: ProvisionWhen,
}

/// The provisioners of a plan by their operations.
fn provisioners(graph: &ExecutionGraph) -> BTreeMap<u32, Provisioner> {
    let rows = graph.fragments.iter().flat_map(|fragment| &fragment.rows);
    rows.filter_map(|row| match &row.operation {
        Operation::Provision { address, provisioner, when, .. } => {
            let found = Provisioner { address: address.clone(), kind: provisioner.to_string(), when: *when };
            Some((row.id.0, found))
        }
        _ => None,
    })
    .collect()
}

/// An operation that began.
struct Running {
    hook: Hook,
    since: Instant,
    /// How often it was said that it takes long.
    told: u64,
}

/// What the plan and the state before know of a run that events do not say.
#[derive(Default)]
pub struct Foreknown {
    /// Ids of objects before the run, by address, for what is updated or deleted.
    pub ids: BTreeMap<String, (String, String)>,
    /// Where the blocks of resources stand, by their address without keys.
    pub places: BTreeMap<String, SourceRange>,
    /// Instances whose planned updates only change what is sensitive: these call nothing, and are told.
    pub relabelled: BTreeSet<String>,
    /// The provisioners that will run.
    pub provisioners: BTreeMap<u32, Provisioner>,
}

impl Foreknown {
    /// What a plan says.
    pub fn of(plan: &PlanFile) -> Foreknown {
        Foreknown {
            ids: BTreeMap::new(),
            places: plan.manifest.places.clone(),
            relabelled: relabelled(plan),
            provisioners: provisioners(&plan.graph),
        }
    }
}

/// Addresses of updates that only change what is sensitive.
fn relabelled(plan: &PlanFile) -> BTreeSet<String> {
    let updates = plan.changes.resources.iter().filter(|change| change.action == ChangeAction::Only(Action::Update));
    let found = updates.filter(|change| change.before.same_unmarked(&change.after));
    found.map(|change| change.address.to_string()).collect()
}

/// What began and did not end yet.
#[derive(Default)]
struct Underway {
    /// Operations on objects.
    operations: BTreeMap<u32, Running>,
    /// All operations.
    begun: BTreeSet<u32>,
    /// Instances whose create is followed by provisioners that are not done.
    unfinished: BTreeSet<String>,
    /// Creates that are done but for their provisioners, and deletes that began with theirs.
    held: BTreeMap<String, (Hook, Instant)>,
    /// When the last step of each ephemeral object began or ended.
    ephemeral: BTreeMap<String, Instant>,
}

/// What came of operations.
#[derive(Default)]
struct Results {
    counts: Counts,
    failures: BTreeMap<u32, Vec<Diagnostic>>,
    warnings: BTreeMap<u32, Vec<Diagnostic>>,
    /// Why each object is in doubt.
    doubts: BTreeMap<String, String>,
    /// Operations that were seen to be done.
    done: u32,
    skipped: usize,
    /// Errors that were told and are not those of an operation.
    aside_errors: u32,
}

/// The lines about all provider instances.
struct Lines {
    board: Board,
    /// When the run began to be shown.
    began: Instant,
    /// When lines were last printed one below the other.
    reported: Instant,
    /// When the standing lines were last drawn.
    drawn: Option<Instant>,
    /// It was said that no worker is there.
    waiting: bool,
}

/// How a run goes, as far as it was heard.
pub struct Progress<'a> {
    view: &'a View,
    known: Foreknown,
    commits: Option<Commits>,
    underway: Underway,
    results: Results,
    lines: Lines,
}

impl<'a> Progress<'a> {
    /// Nothing has happened yet. `operations` are the provider instances of the operations that will.
    pub fn new<'o>(view: &'a View, operations: impl IntoIterator<Item = &'o str>, known: Foreknown) -> Progress<'a> {
        // An object is created when the last of its provisioners is done.
        let last = known.provisioners.values().filter(|found| found.when == ProvisionWhen::Completed);
        let unfinished = last.map(|found| found.address.to_string()).collect();
        let now = Instant::now();
        let lines = Lines { board: Board::new(operations), began: now, reported: now, drawn: None, waiting: false };
        Progress {
            view,
            known,
            commits: None,
            underway: Underway { unfinished, ..Underway::default() },
            results: Results::default(),
            lines,
        }
    }

    /// A worker in this process tells something beside the results of operations.
    pub fn said(&mut self, said: &Said) {
        match said {
            Said::Line { address, provisioner, line } => {
                if let Ok(address) = address.parse() {
                    self.view.event(events::provision_progress(&address, provisioner, line));
                }
                self.say(|| format!("{address} ({provisioner}): {line}"));
            }
            Said::Ephemeral { address, step } => {
                let since = self.underway.ephemeral.insert(address.clone(), Instant::now());
                if let Ok(address) = address.parse() {
                    let elapsed = since.map(|since| since.elapsed()).unwrap_or_default();
                    tell_ephemeral(self.view, &address, *step, elapsed);
                }
            }
            Said::Problem(problem) => {
                self.results.aside_errors += u32::from(problem.is_error());
                self.view.diagnostics(&self.placed(vec![(**problem).clone()]));
            }
        }
    }

    /// How many errors were told that are not those of an operation.
    pub fn aside_errors(&self) -> u32 {
        self.results.aside_errors
    }

    /// Something happened to a provisioner.
    fn provisioner_happened(&mut self, found: &Provisioner, what: &ProgressKind) {
        let Provisioner { address, kind, when } = found;
        let text = address.to_string();
        match what {
            ProgressKind::Started => {
                if *when == ProvisionWhen::Deleting && !self.underway.held.contains_key(&text) {
                    let id = self.known.ids.get(&text).cloned();
                    let hook = Hook { address: address.clone(), action: "delete".into(), id, elapsed_seconds: 0 };
                    self.view.event(events::apply_start(&hook));
                    self.say(|| lines::started_line(&hook));
                    self.underway.held.insert(text, (hook, Instant::now()));
                }
                self.view.event(events::provision_start(address, kind));
                self.say(|| lines::provisioning_line(address, kind));
            }
            ProgressKind::Done { .. } => {
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
            ProgressKind::Failed => {
                self.view.event(events::provision_errored(address, kind));
                let action = if *when == ProvisionWhen::Deleting { "delete" } else { "create" };
                let since = self.underway.held.remove(&text).map_or_else(Instant::now, |(_, since)| since);
                let elapsed_seconds = since.elapsed().as_secs();
                let hook = Hook { address: address.clone(), action: action.into(), id: None, elapsed_seconds };
                self.view.event(events::apply_errored(&hook));
            }
            _ => {}
        }
    }

    /// Problems of an object point at its block when they say nothing better.
    fn placed(&self, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for problem in problems.iter_mut().filter(|problem| problem.subject.is_none()) {
            let address = problem.address.as_ref().and_then(|text| text.parse::<ResourceInstance>().ok());
            problem.subject = address.and_then(|address| self.known.places.get(&address.config().to_string()).cloned());
        }
        problems
    }

    /// Looks at what is committed.
    pub fn observe(&mut self, commits: Commits) {
        self.commits = Some(commits);
    }

    /// What was done so far.
    pub fn counts(&self) -> &Counts {
        &self.results.counts
    }

    /// How many operations were seen to be done: fewer than the run has done when it was begun before, or when some of
    /// it was not heard.
    pub fn done(&self) -> u32 {
        self.results.done
    }

    /// Something happened.
    pub fn happened(&mut self, happening: impl Into<Happening>) {
        let happening = happening.into();
        let Some(what) = happening.what.clone() else { return };
        let hook = self.hook(&happening, &what);
        self.tally(&happening, &what);
        if let Some(found) = self.known.provisioners.get(&happening.operation).cloned() {
            self.provisioner_happened(&found, &what);
        }
        match what {
            ProgressKind::Started => self.started(&happening, hook),
            ProgressKind::Done { intended } => self.done_with(happening, hook, intended),
            ProgressKind::Failed => self.failed(happening, hook),
            ProgressKind::Skipped { .. } => self.results.skipped += 1,
            ProgressKind::Returned => drop(self.underway.operations.remove(&happening.operation)),
            ProgressKind::InDoubt { reason } => {
                self.underway.operations.remove(&happening.operation);
                self.results.doubts.insert(happening.subject(), reason);
            }
            ProgressKind::Settling { .. } => {
                self.say(|| format!("{}: Looking up the outcome...", happening.address));
            }
            ProgressKind::Waiting => self.waits(&happening),
            ProgressKind::Stray => {}
        }
        if self.view.has_standing_lines() && self.lines.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
            self.draw();
        }
    }

    fn started(&mut self, happening: &Happening, hook: Option<Hook>) {
        let Some(hook) = hook else { return };
        // What runs before a delete has begun it.
        let begun = self.underway.held.remove(&happening.address).filter(|_| hook.action == "delete");
        if hook.action != "forget" && begun.is_none() {
            self.view.event(events::apply_start(&hook));
        }
        if begun.is_none() {
            self.say(|| lines::started_line(&hook));
        }
        let since = begun.map_or_else(Instant::now, |(_, since)| since);
        self.underway.operations.insert(happening.operation, Running { hook, since, told: 0 });
    }

    fn done_with(&mut self, happening: Happening, hook: Option<Hook>, intended: bool) {
        self.results.done += 1;
        let running = self.underway.operations.remove(&happening.operation);
        self.results.doubts.remove(&happening.subject());
        // An update that turned out to be none called nothing. One that was planned to change only what is sensitive
        // calls nothing either, and is told.
        let was_nothing =
            happening.action == "update" && !intended && !self.known.relabelled.contains(&happening.address);
        // So is what could not be read for a check block.
        let unread = happening.diagnostics.iter().any(|said| said.code == READ_FOR_CHECK);
        if !happening.diagnostics.is_empty() {
            self.results.warnings.insert(happening.operation, happening.diagnostics);
        }
        let Some(hook) = hook else { return };
        if happening.action == "create" && self.underway.unfinished.contains(&happening.address) {
            let since = running.map_or_else(Instant::now, |running| running.since);
            self.underway.held.insert(happening.address, (hook, since));
        } else if !was_nothing && !unread {
            self.count(&hook);
            // Scripts hear of calls of providers only.
            if hook.action != "forget" {
                self.view.event(events::apply_complete(&hook));
            }
            self.say(|| lines::done_line(&hook));
        }
    }

    fn failed(&mut self, happening: Happening, hook: Option<Hook>) {
        self.underway.operations.remove(&happening.operation);
        self.results.doubts.remove(&happening.subject());
        // OpenTofu's scripts hear nothing of the end of an object that is set aside and stays.
        let aside = happening.deposed.is_some() && happening.action == "delete";
        if let Some(hook) = hook.filter(|_| !aside) {
            self.view.event(events::apply_errored(&hook));
        }
        self.results.failures.insert(happening.operation, happening.diagnostics);
    }

    fn waits(&mut self, happening: &Happening) {
        if std::mem::replace(&mut self.lines.waiting, true) {
            return;
        }
        self.view.aside(&format!(
            "Waiting for a worker that may carry out {} ({}).",
            happening.address, happening.provider_instance
        ));
    }

    /// Says what is still running; called every [`REMIND`].
    pub fn remind(&mut self) {
        let mut long = false;
        for running in self.underway.operations.values_mut() {
            let seconds = running.since.elapsed().as_secs();
            let periods = seconds / LONG.as_secs();
            long |= periods > 0;
            if periods <= running.told {
                continue;
            }
            running.told = periods;
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

    /// The user wants the run to end: says what is under way, and what happens now.
    pub fn interrupted(&mut self, wish: Cancel, run: &str) {
        let longest = self.underway.operations.values().max_by_key(|running| running.since.elapsed());
        let under_way = match (self.underway.operations.len(), longest) {
            (0, _) | (_, None) => String::from("Nothing is under way."),
            (count, Some(longest)) => {
                let (verb, noun) = if count == 1 { ("is", "operation") } else { ("are", "operations") };
                let seconds = longest.since.elapsed().as_secs();
                format!("{count} {noun} {verb} under way, the longest for {seconds}s ({}).", longest.hook.address)
            }
        };
        let text = match wish {
            Cancel::Drain => format!(
                "Interrupted. No new operations start. {under_way} Weft waits for the ones that are running. Interrupt \
                 again to ask the providers to stop."
            ),
            Cancel::Stop | Cancel::Leave => format!(
                "Interrupted again. Providers are asked to stop. {under_way} Results that arrive within {} seconds are \
                 kept. Interrupt again to exit at once.",
                STOP_WAIT.as_secs()
            ),
        };
        if self.view.is_json() {
            tracing::warn!("{text}");
        }
        eprintln!("\n{text}\nTo continue later: weft runs resume {run}");
    }

    /// Keeps count by provider instance. What ended without having begun here was begun before, by another.
    fn tally(&mut self, happening: &Happening, what: &ProgressKind) {
        let instance = happening.provider_instance.as_str();
        let begun = self.underway.begun.contains(&happening.operation);
        let (board, elapsed) = (&mut self.lines.board, self.lines.began.elapsed());
        match what {
            ProgressKind::Started => {
                if self.underway.begun.insert(happening.operation) {
                    board.began(instance, elapsed);
                }
                return;
            }
            // The outcome of one in doubt is told later.
            ProgressKind::Returned | ProgressKind::InDoubt { .. } if begun => board.returned(instance),
            ProgressKind::Done { .. } => board.done(instance, begun, elapsed),
            ProgressKind::Failed | ProgressKind::Skipped { .. } => board.failed(instance, begun, elapsed),
            _ => return,
        }
        self.underway.begun.remove(&happening.operation);
    }

    fn draw(&mut self) {
        self.lines.drawn = Some(Instant::now());
        self.view.stand(self.lines.board.block(self.lines.began.elapsed(), self.view.style()));
    }

    /// The end: problems, and each object in doubt by name. Gives whether there were errors.
    pub fn end(&mut self, run: &str, in_doubt_now: &[String]) {
        self.view.stand(Vec::new());
        if self.lines.board.has_several() && self.view.shows_progress() {
            self.view.line("");
            self.lines.board.summary(self.view.style()).iter().for_each(|line| self.view.line(line));
        }
        let mut problems: Vec<Diagnostic> =
            std::mem::take(&mut self.results.warnings).into_values().flatten().collect();
        problems.extend(std::mem::take(&mut self.results.failures).into_values().flatten());
        for address in in_doubt_now {
            let reason = self.results.doubts.get(address).map(String::as_str).unwrap_or_default();
            problems.push(in_doubt(address, run, reason));
        }
        self.view.diagnostics(&self.placed(problems));
        if self.view.is_json() {
            // Scripts look for the addresses on the standard error, whatever the form of the events.
            in_doubt_now.iter().for_each(|address| self.view.aside(&format!("in doubt: {address}")));
        }
        if self.results.skipped > 0 {
            self.view.aside(&format!(
                "{} operations were not begun, since something that they need failed or is in doubt.",
                self.results.skipped
            ));
        }
    }

    fn say(&self, line: impl FnOnce() -> String) {
        if self.view.shows_progress() {
            self.view.line(&line());
        }
    }

    /// Operations that people are told about are those on objects.
    fn hook(&self, happening: &Happening, what: &ProgressKind) -> Option<Hook> {
        if !matches!(happening.action.as_str(), "create" | "update" | "delete" | "read" | "forget") {
            return None;
        }
        let address: ResourceInstance = happening.address.parse().ok()?;
        let committed = self.commits.as_ref().and_then(|commits| commits.lock().get(&happening.operation)?.clone());
        let before = || self.known.ids.get(&happening.address).cloned();
        let is_open = matches!(what, ProgressKind::Started | ProgressKind::Failed);
        let id = match happening.action.as_str() {
            "create" if is_open => None,
            "delete" if matches!(what, ProgressKind::Done { .. }) => None,
            "delete" | "update" if is_open => before(),
            _ => committed,
        };
        Some(Hook { address, action: happening.action.clone(), id, elapsed_seconds: happening.elapsed_ms / 1000 })
    }

    fn count(&mut self, hook: &Hook) {
        if hook.address.resource.mode != ResourceMode::Managed {
            return;
        }
        match hook.action.as_str() {
            "create" => self.results.counts.add += 1,
            "update" => self.results.counts.change += 1,
            "delete" => self.results.counts.remove += 1,
            "forget" => self.results.counts.forget += 1,
            _ => {}
        }
    }
}
