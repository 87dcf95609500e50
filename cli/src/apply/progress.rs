//! Showing how a run goes: events, lines for people, and at the end what went wrong and what is in doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use weft_coordinator::Cancel;
use weft_coordinator::client::OperationEvent;
use weft_coordinator::process::worker_name;
use weft_coordinator::result::decode_diagnostics;
use weft_coordinator::timing::STOP_WAIT;
use weft_coordinator::{Progress as Step, ProgressKind};
use weft_executor::Said;
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK};
use weft_graph_format::graph::{ExecutionGraph, Operation, ProvisionWhen};
use weft_graph_format::source::SourceRange;

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

/// Something that happened to an operation, here or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    operation: u32,
    address: String,
    deposed: Option<String>,
    action: String,
    provider_instance: String,
    worker: String,
    elapsed_ms: u64,
    /// `started done failed skipped in-doubt ...`
    status: String,
    reason: String,
    /// It is done, and an intent came before.
    intended: bool,
    diagnostics: Vec<Diagnostic>,
}

impl From<Step> for Happening {
    fn from(step: Step) -> Happening {
        let status = step.what.word().to_owned();
        let intended = matches!(step.what, ProgressKind::Done { intended: true });
        let reason = match step.what {
            ProgressKind::Settling { reason } | ProgressKind::InDoubt { reason } => reason,
            ProgressKind::Skipped { because } => because.to_string(),
            _ => String::new(),
        };
        Happening {
            operation: step.operation,
            address: step.address,
            deposed: step.deposed,
            action: step.action,
            provider_instance: step.provider_instance,
            worker: worker_name(&step.worker).to_owned(),
            elapsed_ms: step.elapsed_ms,
            status,
            reason,
            intended,
            diagnostics: decode_diagnostics(&step.diagnostics),
        }
    }
}

impl From<OperationEvent> for Happening {
    fn from(event: OperationEvent) -> Happening {
        Happening {
            operation: event.operation,
            address: event.address,
            deposed: event.deposed,
            action: event.action,
            provider_instance: event.provider_instance,
            worker: event.worker,
            elapsed_ms: event.elapsed_ms,
            status: event.status,
            reason: event.reason,
            intended: event.intended,
            diagnostics: event.diagnostics,
        }
    }
}

/// A provisioner of the plan.
#[derive(Clone, Debug)]
pub struct Provisioner {
    address: ResourceInstance,
    kind: String,
    when: ProvisionWhen,
}

/// The provisioners of a plan by their operations.
pub fn provisioners(graph: &ExecutionGraph) -> BTreeMap<u32, Provisioner> {
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

/// How a run goes, as far as it was heard.
pub struct Progress<'a> {
    view: &'a View,
    commits: Option<Commits>,
    /// Ids of objects before the run, by address, for what is updated or deleted.
    known: BTreeMap<String, (String, String)>,
    places: BTreeMap<String, SourceRange>,
    /// Instances whose planned updates only change what is sensitive.
    relabelled: BTreeSet<String>,
    provisioners: BTreeMap<u32, Provisioner>,
    /// Instances whose create is followed by provisioners that are not done.
    unfinished: BTreeSet<String>,
    /// Creates that are done but for their provisioners, and deletes that began with theirs.
    held: BTreeMap<String, (Hook, Instant)>,
    /// When the last step of each ephemeral object began or ended.
    ephemeral: BTreeMap<String, Instant>,
    running: BTreeMap<u32, Running>,
    /// When the last lines about all provider instances were printed.
    reported: Instant,
    counts: Counts,
    board: Board,
    /// When it began to be shown, and when the standing lines were last drawn.
    began: Instant,
    drawn: Option<Instant>,
    /// Operations that began and did not end yet.
    begun: BTreeSet<u32>,
    failures: BTreeMap<u32, Vec<Diagnostic>>,
    warnings: BTreeMap<u32, Vec<Diagnostic>>,
    doubts: BTreeMap<String, String>,
    /// Operations that were seen to be done.
    done: u32,
    skipped: usize,
    waiting: bool,
    /// Errors that were told and are not those of an operation.
    aside_errors: u32,
}

impl<'a> Progress<'a> {
    /// Nothing has happened yet. `operations` are the provider instances of the operations that will.
    pub fn new<'o>(view: &'a View, operations: impl IntoIterator<Item = &'o str>) -> Progress<'a> {
        Progress {
            view,
            commits: None,
            known: BTreeMap::new(),
            places: BTreeMap::new(),
            relabelled: BTreeSet::new(),
            provisioners: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            held: BTreeMap::new(),
            ephemeral: BTreeMap::new(),
            running: BTreeMap::new(),
            reported: Instant::now(),
            counts: Counts::default(),
            board: Board::new(operations),
            began: Instant::now(),
            drawn: None,
            begun: BTreeSet::new(),
            failures: BTreeMap::new(),
            warnings: BTreeMap::new(),
            doubts: BTreeMap::new(),
            done: 0,
            skipped: 0,
            waiting: false,
            aside_errors: 0,
        }
    }

    /// Also knows the ids of objects that were there before.
    #[must_use]
    pub fn knowing(mut self, ids: BTreeMap<String, (String, String)>) -> Progress<'a> {
        self.known = ids;
        self
    }

    /// Also knows where the blocks of resources stand, by their address without keys.
    #[must_use]
    pub fn placing(mut self, places: BTreeMap<String, SourceRange>) -> Progress<'a> {
        self.places = places;
        self
    }

    /// Also knows which instances have updates that only change what is sensitive: these call nothing, and are told.
    #[must_use]
    pub fn telling(mut self, relabelled: BTreeSet<String>) -> Progress<'a> {
        self.relabelled = relabelled;
        self
    }

    /// Also knows the provisioners that will run: an object is created when the last of its own is done.
    #[must_use]
    pub fn provisioning(mut self, provisioners: BTreeMap<u32, Provisioner>) -> Progress<'a> {
        let last = provisioners.values().filter(|found| found.when == ProvisionWhen::Completed);
        self.unfinished = last.map(|found| found.address.to_string()).collect();
        self.provisioners = provisioners;
        self
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
                let since = self.ephemeral.insert(address.clone(), Instant::now());
                if let Ok(address) = address.parse() {
                    let elapsed = since.map(|since| since.elapsed()).unwrap_or_default();
                    tell_ephemeral(self.view, &address, *step, elapsed);
                }
            }
            Said::Problem(problem) => {
                self.aside_errors += u32::from(problem.is_error());
                self.view.diagnostics(&self.placed(vec![(**problem).clone()]));
            }
        }
    }

    /// How many errors were told that are not those of an operation.
    pub fn aside_errors(&self) -> u32 {
        self.aside_errors
    }

    /// Something happened to a provisioner.
    fn provisioner_happened(&mut self, found: &Provisioner, status: &str) {
        let Provisioner { address, kind, when } = found;
        let text = address.to_string();
        match status {
            "started" => {
                if *when == ProvisionWhen::Deleting && !self.held.contains_key(&text) {
                    let id = self.known.get(&text).cloned();
                    let hook = Hook { address: address.clone(), action: "delete".into(), id, elapsed_seconds: 0 };
                    self.view.event(events::apply_start(&hook));
                    self.say(|| lines::started_line(&hook));
                    self.held.insert(text, (hook, Instant::now()));
                }
                self.view.event(events::provision_start(address, kind));
                self.say(|| lines::provisioning_line(address, kind));
            }
            "done" => {
                self.view.event(events::provision_complete(address, kind));
                if *when != ProvisionWhen::Completed {
                    return;
                }
                self.unfinished.remove(&text);
                if let Some((mut hook, since)) = self.held.remove(&text) {
                    hook.elapsed_seconds = since.elapsed().as_secs();
                    self.count(&hook);
                    self.view.event(events::apply_complete(&hook));
                    self.say(|| lines::done_line(&hook));
                }
            }
            "failed" => {
                self.view.event(events::provision_errored(address, kind));
                let action = if *when == ProvisionWhen::Deleting { "delete" } else { "create" };
                let since = self.held.remove(&text).map_or_else(Instant::now, |(_, since)| since);
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
            problem.subject = address.and_then(|address| self.places.get(&address.config().to_string()).cloned());
        }
        problems
    }

    /// Looks at what is committed.
    pub fn observe(&mut self, commits: Commits) {
        self.commits = Some(commits);
    }

    /// What was done so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How many operations were seen to be done: fewer than the run has done when it was begun before, or when some of
    /// it was not heard.
    pub fn done(&self) -> u32 {
        self.done
    }

    /// Something happened.
    pub fn happened(&mut self, happening: impl Into<Happening>) {
        let happening = happening.into();
        let hook = self.hook(&happening);
        self.tally(&happening);
        if let Some(found) = self.provisioners.get(&happening.operation).cloned() {
            self.provisioner_happened(&found, &happening.status);
        }
        match happening.status.as_str() {
            "started" => {
                if let Some(hook) = hook {
                    // What runs before a delete has begun it.
                    let begun = self.held.remove(&happening.address).filter(|_| hook.action == "delete");
                    if hook.action != "forget" && begun.is_none() {
                        self.view.event(events::apply_start(&hook));
                    }
                    if begun.is_none() {
                        self.say(|| lines::started_line(&hook));
                    }
                    let since = begun.map_or_else(Instant::now, |(_, since)| since);
                    let running = Running { hook, since, told: 0 };
                    self.running.insert(happening.operation, running);
                }
            }
            "done" => {
                self.done += 1;
                let running = self.running.remove(&happening.operation);
                self.doubts.remove(&subject(&happening));
                if !happening.diagnostics.is_empty() {
                    self.warnings.insert(happening.operation, happening.diagnostics.clone());
                }
                // An update that turned out to be none called nothing. One that was planned to change only what is
                // sensitive calls nothing either, and is told.
                let was_nothing = happening.action == "update"
                    && !happening.intended
                    && !self.relabelled.contains(&happening.address);
                // So is what could not be read for a check block.
                let unread = happening.diagnostics.iter().any(|said| said.code == READ_FOR_CHECK);
                let provisioned = happening.action == "create" && self.unfinished.contains(&happening.address);
                if let Some(hook) = hook.clone().filter(|_| provisioned) {
                    let since = running.map_or_else(Instant::now, |running| running.since);
                    self.held.insert(happening.address.clone(), (hook, since));
                }
                if let Some(hook) = hook.filter(|_| !was_nothing && !unread && !provisioned) {
                    self.count(&hook);
                    // Scripts hear of calls of providers only.
                    if hook.action != "forget" {
                        self.view.event(events::apply_complete(&hook));
                    }
                    self.say(|| lines::done_line(&hook));
                }
            }
            "failed" => {
                self.running.remove(&happening.operation);
                self.doubts.remove(&subject(&happening));
                // OpenTofu's scripts hear nothing of the end of an object that is set aside and stays.
                let aside = happening.deposed.is_some() && happening.action == "delete";
                if let Some(hook) = hook.filter(|_| !aside) {
                    self.view.event(events::apply_errored(&hook));
                }
                self.failures.insert(happening.operation, happening.diagnostics);
            }
            "skipped" => self.skipped += 1,
            "returned" => drop(self.running.remove(&happening.operation)),
            "in-doubt" => {
                self.running.remove(&happening.operation);
                self.doubts.insert(subject(&happening), happening.reason);
            }
            "settling" => self.say(|| format!("{}: Looking for what became of it...", happening.address)),
            "waiting" if !self.waiting => {
                self.waiting = true;
                self.view.aside(&format!(
                    "Waiting for a worker that may carry out {} ({}).",
                    happening.address, happening.provider_instance
                ));
            }
            _ => {}
        }
        if self.view.has_standing_lines() && self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
            self.draw();
        }
    }

    /// Says what is still running; called every [`REMIND`].
    pub fn remind(&mut self) {
        let mut long = false;
        for running in self.running.values_mut() {
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
        } else if self.reported.elapsed() >= LONG {
            self.reported = Instant::now();
            if (long || self.board.has_several()) && self.view.shows_progress() {
                self.board.plain(self.began.elapsed()).iter().for_each(|line| self.view.line(line));
            }
        }
    }

    /// The user wants the run to end: says what is under way, and what happens now.
    pub fn interrupted(&mut self, wish: Cancel, run: &str) {
        let longest = self.running.values().max_by_key(|running| running.since.elapsed());
        let under_way = match (self.running.len(), longest) {
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
    fn tally(&mut self, happening: &Happening) {
        let instance = happening.provider_instance.as_str();
        let running = self.begun.contains(&happening.operation);
        match happening.status.as_str() {
            "started" if !running => {
                self.begun.insert(happening.operation);
                self.board.began(instance, self.began.elapsed());
            }
            // Whatever becomes of one in doubt is told later.
            "returned" | "in-doubt" if running => self.board.returned(instance),
            "done" => self.board.done(instance, running, self.began.elapsed()),
            "failed" | "skipped" => self.board.failed(instance, running, self.began.elapsed()),
            _ => return,
        }
        if happening.status != "started" {
            self.begun.remove(&happening.operation);
        }
    }

    fn draw(&mut self) {
        self.drawn = Some(Instant::now());
        self.view.stand(self.board.block(self.began.elapsed(), self.view.style()));
    }

    /// The end: problems, and each object in doubt by name. Gives whether there were errors.
    pub fn end(&mut self, run: &str, in_doubt_now: &[String]) {
        self.view.stand(Vec::new());
        if self.board.has_several() && self.view.shows_progress() {
            self.view.line("");
            self.board.summary(self.view.style()).iter().for_each(|line| self.view.line(line));
        }
        let mut problems: Vec<Diagnostic> = std::mem::take(&mut self.warnings).into_values().flatten().collect();
        problems.extend(std::mem::take(&mut self.failures).into_values().flatten());
        for address in in_doubt_now {
            let reason = self.doubts.get(address).map(String::as_str).unwrap_or_default();
            problems.push(in_doubt(address, run, reason));
        }
        self.view.diagnostics(&self.placed(problems));
        if self.view.is_json() {
            // Scripts look for the addresses on the standard error, whatever the form of the events.
            in_doubt_now.iter().for_each(|address| self.view.aside(&format!("in doubt: {address}")));
        }
        if self.skipped > 0 {
            self.view.aside(&format!(
                "{} operations were not begun, since something that they need failed or is in doubt.",
                self.skipped
            ));
        }
    }

    fn say(&self, line: impl FnOnce() -> String) {
        if self.view.shows_progress() {
            self.view.line(&line());
        }
    }

    /// Operations that people are told about are those on objects.
    fn hook(&self, happening: &Happening) -> Option<Hook> {
        if !matches!(happening.action.as_str(), "create" | "update" | "delete" | "read" | "forget") {
            return None;
        }
        let address: ResourceInstance = happening.address.parse().ok()?;
        let committed = self.commits.as_ref().and_then(|commits| commits.lock().get(&happening.operation)?.clone());
        let before = || self.known.get(&happening.address).cloned();
        let id = match (happening.action.as_str(), happening.status.as_str()) {
            ("delete", "done") | ("create", "started" | "failed") => None,
            ("delete" | "update", "started" | "failed") => before(),
            _ => committed,
        };
        Some(Hook { address, action: happening.action.clone(), id, elapsed_seconds: happening.elapsed_ms / 1000 })
    }

    fn count(&mut self, hook: &Hook) {
        if hook.address.resource.mode != ResourceMode::Managed {
            return;
        }
        match hook.action.as_str() {
            "create" => self.counts.add += 1,
            "update" => self.counts.change += 1,
            "delete" => self.counts.remove += 1,
            "forget" => self.counts.forget += 1,
            _ => {}
        }
    }
}

/// The object as lists of what is in doubt name it.
fn subject(happening: &Happening) -> String {
    match &happening.deposed {
        Some(key) => format!("{} (deposed object {key})", happening.address),
        None => happening.address.clone(),
    }
}
