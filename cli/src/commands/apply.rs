//! `weft apply` and `weft destroy`.

use std::sync::Arc;

use weft_coordinator::plan::refuse_errored;
use weft_coordinator::term::other_state;
use weft_evaluator::{LOCAL_MODULE, REMOTE_MODULE};
use weft_executor::Packages;
use weft_graph_format::changes::{ChangeAction, Changes};
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK, has_errors};
use weft_graph_format::graph::Action;
use weft_graph_format::plan_file::{PlanFile, PlanReader, UiMode};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_state::{Digest, RunHeader, RunStore, Snapshot};

use super::output::show_outputs;
use super::plan::{Loaded, announce, bytes, show};
use super::stalled;
use crate::apply::{self, ApplyOutcome, Work};
use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::context::DEFAULT_WORKSPACE;
use crate::exit::Exit;
use crate::identity;
use crate::options::{Arguments, Flag, switch, text};
use crate::packages::{PlannedPackages, require_for_plan};
use crate::plan::{PARALLELISM, Wishes};
use crate::prompt::Prompt;
use crate::render::{events, plan as render};
use crate::retention;
use crate::runtime::block_on;
use crate::sealing::plan_bytes;
use crate::signals::Hold;
use crate::signature;
use crate::store::{self, Access, Coordinated, StoreLocation};
use crate::variables;

const OWN: &[Flag] = &[
    switch("auto-approve", "Do not ask for approval."),
    switch("detach", "Return as soon as the coordinator has accepted the plan."),
    text("require-signature", "FILE", "Apply only plan files that one of the public keys in FILE has signed."),
    text("signature", "FILE", "The signature of the plan file. [default: PLAN.sig]"),
    switch("suppress-forget-errors", "Succeed when a destroy leaves forgotten objects behind."),
    switch("ignore-remote-version", ""),
];

/// The command.
pub const APPLY: Command = Command {
    words: &["apply"],
    alias: None,
    operands: "[PLAN]",
    about: "Create, change and destroy real objects",
    main: true,
    flags: &[
        command::VIEW_WITH_PROGRESS,
        command::JSON,
        command::INPUT,
        command::COMPACT,
        command::SENSITIVE,
        command::VARIABLES,
        command::LOCK,
        command::STATE,
        command::STORE,
        command::COORDINATOR,
        command::TLS,
        command::PLANNING,
        command::SELECTION,
        command::PARALLELISM,
        OWN,
    ],
    mixed: false,
    on_mistake: OnMistake::Hint,
    check: |arguments| mistakes(arguments, false),
    events: true,
    run: |invocation| either(carry(invocation, false)),
};

/// The command.
pub const DESTROY: Command = Command {
    words: &["destroy"],
    operands: "",
    about: "Destroy everything in the state",
    flags: &[
        command::VIEW_WITH_PROGRESS,
        command::JSON,
        command::INPUT,
        command::COMPACT,
        command::SENSITIVE,
        command::VARIABLES,
        command::LOCK,
        command::STATE,
        command::STORE,
        command::COORDINATOR,
        command::TLS,
        command::PLANNING_OF_DESTROY,
        command::SELECTION,
        command::PARALLELISM,
        OWN,
    ],
    check: |arguments| mistakes(arguments, true),
    run: |invocation| either(carry(invocation, true)),
    ..APPLY
};

/// Mistakes in the arguments.
fn mistakes(arguments: &Arguments, destroy: bool) -> Vec<Diagnostic> {
    let given = |name: &str| arguments.switch(name, false);
    let path = arguments.positionals.first().filter(|path| !path.is_empty());
    let several = (arguments.positionals.len() > 1).then(problems::apply_arguments);
    let unapproved = given("json") && path.is_none() && !given("auto-approve");
    let unapproved = unapproved.then(problems::json_without_approval);
    several.into_iter().chain(unapproved).chain(Wishes::mistakes(arguments, destroy)).collect()
}

fn either(result: Result<Exit, Exit>) -> Exit {
    match result {
        Ok(exit) | Err(exit) => exit,
    }
}

fn carry(invocation: &Invocation<'_>, destroy: bool) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    view.event(events::version());
    if arguments.switch("detach", false) && apply::coordinator(arguments).is_none() {
        return Err(invocation.mistake(&problems::detach_without_coordinator()));
    }
    if let Some(path) = arguments.positionals.first().filter(|path| !path.is_empty()) {
        return from_file(invocation, path, destroy);
    }
    let required = signature::required(arguments).map_err(|problem| invocation.fail(&[problem]))?;
    if required.is_some() {
        return Err(invocation.fail(&[problems::signature_needs_plan_file()]));
    }
    let wishes = Wishes::read(invocation, destroy)?;
    let loaded = Loaded::load(invocation, "Apply", wishes.mode == UiMode::Destroy)?;
    let outcome = block_on(plan_and_apply(invocation, &loaded, &wishes, destroy));
    finish(invocation, outcome)
}

fn finish(
    invocation: &Invocation<'_>,
    outcome: Result<Result<Exit, Vec<Diagnostic>>, Diagnostic>,
) -> Result<Exit, Exit> {
    outcome.unwrap_or_else(|problem| Err(vec![problem])).map_err(|problems| invocation.fail(&problems))
}

async fn plan_and_apply(
    invocation: &Invocation<'_>,
    loaded: &Loaded,
    wishes: &Wishes,
    destroy: bool,
) -> Result<Exit, Vec<Diagnostic>> {
    let Invocation { arguments, context, view, .. } = invocation;
    let one = |problem: Diagnostic| vec![problem];
    let site = Site::open(invocation, &loaded.place).await?;
    let (snapshot, headers) = site.overview().await.map_err(one)?;
    if !stalled::goes_on(invocation, &headers, "make a new plan") {
        return Ok(Exit::FAILED);
    }
    let snapshot = Arc::new(snapshot);
    let mut made = loaded.plan(invocation, snapshot.clone(), wishes).await?;
    let failed = has_errors(&made.diagnostics);
    // If planning has failed, the changes that were planned before the failure are shown.
    let outputs = made.has_module_outputs;
    let came_to = |changes: &Changes| outputs || !changes.resources.is_empty() || !changes.outputs.is_empty();
    let Some(plan) = made.file.take().filter(|plan| !failed || came_to(&plan.changes)) else {
        return Err(made.diagnostics);
    };
    show(view, &plan, None);
    if failed {
        return Err(made.diagnostics);
    }
    let recorded = made.records(wishes.mode, &plan);
    let confirms = (!plan.changes.is_empty() || recorded) && !arguments.switch("auto-approve", false);
    let mut said = made.diagnostics;
    // If no approval is needed, the apply follows immediately. The apply evaluates checks again, so warnings that it
    // will repeat are not shown here. A refresh-only apply does not repeat warnings about unknown checks.
    let decides = wishes.mode != UiMode::RefreshOnly;
    let comes_again = |told: &Diagnostic| told.code == READ_FOR_CHECK || (decides && told.is_open_check());
    said.retain(|told| confirms || !comes_again(told));
    let again = deprecations_at_apply(&plan, &said);
    said.extend(again);
    view.diagnostics(&said);
    if confirms {
        if !invocation.asks_for_approval() {
            return Err(one(problems::apply_not_approved()));
        }
        let workspace = context.workspace().map_err(one)?;
        let (question, detail) = approval(wishes.mode, &workspace);
        match Prompt::new().decide(&question, detail) {
            Some(true) => {}
            Some(false) => {
                view.line(if wishes.mode == UiMode::Destroy { "Destroy cancelled." } else { "Apply cancelled." });
                return Ok(Exit::FAILED);
            }
            None => return Err(one(problems::approval_unanswered())),
        }
    }
    let (bytes, digest) = bytes(&plan).map_err(one)?;
    let (packages, said) = PlannedPackages::new(context, &[]);
    view.diagnostics(&said);
    let work = Work { plan, bytes, digest, inputs: made.inputs, signature: Vec::new(), single_use: false };
    site.apply(invocation, work, Arc::new(packages), wishes.parallelism, destroy).await
}

/// The warnings about deprecated outputs that apply evaluates again, except for those that were already reported.
fn deprecations_at_apply(plan: &PlanFile, said: &[Diagnostic]) -> Vec<Diagnostic> {
    let of_module = |told: &&Diagnostic| told.code == LOCAL_MODULE || told.code == REMOTE_MODULE;
    plan.manifest.warnings.iter().filter(of_module).filter(|told| !said.contains(told)).cloned().collect()
}

/// The question before an apply, with its explanation. Scripts look for OpenTofu's text.
fn approval(mode: UiMode, workspace: &str) -> (String, &'static str) {
    let within = |words: &str| match workspace {
        DEFAULT_WORKSPACE => String::new(),
        name => format!("{words}\"{name}\""),
    };
    match mode {
        UiMode::Destroy => (
            format!("Do you really want to destroy all resources{}?", within(" in workspace ")),
            "OpenTofu will destroy all your managed infrastructure, as shown above.\n\
             There is no undo. Only 'yes' will be accepted to confirm.",
        ),
        UiMode::RefreshOnly => (
            format!(
                "Would you like to update the OpenTofu state{} to reflect these detected changes?",
                within(" for ")
            ),
            "OpenTofu will write these changes to the state without modifying any real infrastructure.\n\
             There is no undo. Only 'yes' will be accepted to confirm.",
        ),
        UiMode::Normal => (
            format!("Do you want to perform these actions{}?", within(" in workspace ")),
            "OpenTofu will perform the actions described above.\nOnly 'yes' will be accepted to approve.",
        ),
    }
}

fn from_file(invocation: &Invocation<'_>, path: &str, destroy: bool) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let (plan, bytes) = load(invocation, path).map_err(|problems| invocation.fail(&problems))?;
    if destroy {
        return Err(invocation.mistake(&problems::destroy_with_plan_file()));
    }
    // As in OpenTofu, the other planning options have no effect with a plan file.
    if arguments.has("placement") {
        return Err(invocation.mistake(&problems::planning_option_with_plan_file("placement")));
    }
    if apply::coordinator(arguments).is_none() {
        require_for_plan(&invocation.context, &plan.manifest, true).map_err(|problems| invocation.fail(&problems))?;
    }
    view.know_snippets(&plan.sources);
    refuse_errored(&plan).map_err(|problem| invocation.fail(&[problem]))?;
    let signature = approve(invocation, path, Digest::of(&bytes)).map_err(|problem| invocation.fail(&[problem]))?;
    finish(invocation, block_on(apply_file(invocation, plan, bytes, signature)))
}

/// What is known about the approval of a plan file.
#[derive(Default)]
struct Approval {
    /// The signature, for a coordinator that requires one. Empty if there is none.
    signature: Vec<u8>,
    /// Whether this command has verified the signature, because it requires one.
    verified: bool,
}

/// Checks the signature of a plan file, if one is required.
fn approve(invocation: &Invocation<'_>, plan: &str, digest: Digest) -> Result<Approval, Diagnostic> {
    let path = signature::path(&invocation.arguments, plan);
    let trusted = signature::required(&invocation.arguments)?;
    let verified = trusted.is_some();
    if let Some(trusted) = trusted {
        signature::verify(&trusted, &path, digest)?;
    }
    Ok(Approval { signature: signature::small_file(&path)?.unwrap_or_default(), verified })
}

async fn apply_file(
    invocation: &Invocation<'_>,
    plan: PlanFile,
    bytes: Vec<u8>,
    approval: Approval,
) -> Result<Exit, Vec<Diagnostic>> {
    let Invocation { arguments, context, view, .. } = invocation;
    let one = |problem: Diagnostic| vec![problem];
    let place =
        StoreLocation::of_plan(context, arguments, &plan.manifest.backend, &plan.manifest.workspace.as_str().into())?;
    place.runs_here().await.map_err(one)?;
    let site = Site::open(invocation, &place).await?;
    let (snapshot, headers) = site.overview().await.map_err(one)?;
    if !stalled::goes_on(invocation, &headers, "apply this plan") {
        return Ok(Exit::FAILED);
    }
    let digest = Digest::of(&bytes);
    if approval.verified {
        signature::unused(&headers, digest).map_err(one)?;
    }
    let manifest = &plan.manifest;
    let declared =
        |name: &str| manifest.variables.contains_key(name) || manifest.ephemeral_variables.contains_key(name);
    let mut refused = variables::undeclared_options(&declared, arguments);
    let stale = apply::stale(manifest, &snapshot);
    if let Some(why) = snapshot.unrelated(&manifest.lineage) {
        refused.push(other_state(why));
    } else if !stale.is_empty() {
        refused.push(apply::stale_problem(&stale));
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    // The apply reports changes of objects. The display of the plan has reported moves and imports.
    announce(view, &plan, false);
    view.diagnostics(&variables::undeclared_again(&declared, arguments));
    same_variables(&plan, invocation)?;
    view.diagnostics(&plan.manifest.warnings);
    let inputs = apply::inputs(&plan.manifest, arguments)?;
    let (packages, said) = PlannedPackages::new(context, &[]);
    view.diagnostics(&said);
    packages.check(&plan.manifest)?;
    let parallelism = arguments.count("parallelism");
    let single_use = approval.verified || matches!(site, Site::Elsewhere(..)) && !approval.signature.is_empty();
    let work = Work { plan, bytes, digest, inputs, signature: approval.signature, single_use };
    site.apply(invocation, work, Arc::new(packages), parallelism.unwrap_or(PARALLELISM), false).await
}

/// Reads a plan file, checks it, and returns it with its bytes.
fn load(invocation: &Invocation<'_>, path: &str) -> Result<(PlanFile, Vec<u8>), Vec<Diagnostic>> {
    let failed = |why: &dyn std::fmt::Display| vec![problems::plan_file_unusable(path, why)];
    let sealing = invocation.context.sealing(&invocation.arguments, None)?;
    let bytes = plan_bytes(&sealing, path).map_err(|error| failed(&error))?;
    let read = PlanReader::from_bytes(bytes.as_slice()).and_then(|reader| reader.whole());
    let plan = read.map_err(|error| failed(&error))?;
    Ok((plan, bytes))
}

/// Checks that variables that are given again have the same values as in the plan.
fn same_variables(plan: &PlanFile, invocation: &Invocation<'_>) -> Result<(), Vec<Diagnostic>> {
    let arguments = &invocation.arguments;
    let known = |name: &str| plan.manifest.variables.get(name).map(|value| Value::from(value.clone()));
    let types = |name: &str| -> Option<Type> { known(name).map(|value| value.ty()) };
    let (given, problems) = variables::given_again(&types, plan.manifest.variables.keys(), arguments);
    if has_errors(&problems) {
        return Err(problems);
    }
    let differing: Vec<Diagnostic> = given
        .iter()
        .filter(|(name, given)| {
            let Some(planned) = known(name) else { return false };
            // Both values have the type in which they were given: the string "2" of an option differs from the number 2
            // of a file.
            planned.ty() != given.value.ty() || !planned.same_unmarked(&given.value)
        })
        .map(|(name, _)| problems::other_value_than_planned(name))
        .collect();
    if differing.is_empty() { Ok(()) } else { Err(differing) }
}

/// Where a plan is applied: in this process with an open store, or on a coordinator.
enum Site<'a> {
    Here(Arc<dyn RunStore>),
    Elsewhere(String, &'a StoreLocation, Box<Coordinated>),
}

impl<'a> Site<'a> {
    async fn open(invocation: &Invocation<'_>, place: &'a StoreLocation) -> Result<Site<'a>, Vec<Diagnostic>> {
        let opened = Site::opened(invocation, place).await;
        invocation.report_losses();
        opened
    }

    async fn opened(invocation: &Invocation<'_>, place: &'a StoreLocation) -> Result<Site<'a>, Vec<Diagnostic>> {
        match apply::coordinator(&invocation.arguments) {
            Some(address) => {
                let copy = Coordinated::open(place).await.map_err(|problem| vec![problem])?;
                Ok(Site::Elsewhere(address, place, Box::new(copy)))
            }
            None => {
                if let Some(folder) = place.journals_here() {
                    let folder = folder.display();
                    invocation.view.aside(&format!(
                        "The journal of this run is in {folder}, because the backend cannot store journals. The run \
                         can only be resumed in this directory."
                    ));
                }
                Ok(Site::Here(place.open(Access::Change).await.map_err(|problem| vec![problem])?))
            }
        }
    }

    async fn snapshot(&self) -> Result<Snapshot, Diagnostic> {
        match self {
            Site::Here(store) => store.snapshot().await.map_err(|error| store::problem(&error)),
            Site::Elsewhere(_, place, _) => place.snapshot().await,
        }
    }

    /// The state, and the headers of all runs.
    async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), Diagnostic> {
        match self {
            Site::Here(store) => store.overview().await.map_err(|error| store::problem(&error)),
            Site::Elsewhere(_, place, _) => place.overview().await,
        }
    }

    async fn apply(
        &self,
        invocation: &Invocation<'_>,
        work: Work,
        packages: Arc<dyn Packages>,
        parallelism: usize,
        destroy: bool,
    ) -> Result<Exit, Vec<Diagnostic>> {
        let _held = Hold::begin();
        let Invocation { arguments, context, view, .. } = invocation;
        let planned = events::ChangeCounts::of_plan(&work.plan.changes);
        let forgotten = forgotten(&work.plan.changes);
        let destroying = work.plan.manifest.ui_mode == UiMode::Destroy;
        let known = apply::checks::PlanChecks::of(&work.plan);
        // A partial destroy can store outputs although it shows no changes.
        let has_work = work.plan.manifest.applyable || work.plan.graph.stores_outputs();
        let partial = !work.plan.manifest.targets.is_empty() || !work.plan.manifest.excludes.is_empty();
        // A run records that a signature was used, even if there is nothing to do.
        let mut ending = if !has_work && !work.single_use {
            ApplyOutcome::default()
        } else {
            match self {
                Site::Here(store) => {
                    let place = apply::LocalRun { context, view, store: store.clone(), packages, parallelism };
                    apply::begin(work, place).await?
                }
                Site::Elsewhere(address, _, copy) => {
                    let detach = arguments.switch("detach", false);
                    let most = u32::try_from(parallelism).ok().filter(|_| arguments.has("parallelism"));
                    let dialer = identity::dialer(arguments)?;
                    let at = (&dialer, address.as_str());
                    copy.begin();
                    let ending = apply::submit(work, at, detach, most, context, view, packages).await?;
                    if detach {
                        return Ok(Exit::DONE);
                    }
                    copy.catch_up().await.map_err(|problem| vec![problem])?;
                    ending
                }
            }
        };
        ending.counts.import = planned.import;
        ending.counts.forget = ending.counts.forget.min(forgotten);
        if partial {
            view.diagnostics(&[apply::applied_a_part()]);
        }
        // A store that has failed may have been emptied. A new state in it would hide that.
        if let Site::Here(store) = self
            && !ending.store_failed
        {
            let failed = |error| vec![store::problem(&error)];
            if !has_work {
                apply::checks::store(store.as_ref(), &known).await.map_err(failed)?;
            }
            apply::checks::begin_state(store.as_ref(), arguments).await.map_err(failed)?;
            if ending.code == 0 {
                store.reseal().await.map_err(failed)?;
                retention::prune_by_age(store.as_ref(), view).await;
            }
        }
        if ending.code == 0 && destroying && forgotten > 0 && !arguments.switch("suppress-forget-errors", false) {
            return Err(vec![problems::left_behind(forgotten)]);
        }
        if ending.code == 0 {
            let after = self.snapshot().await.map_err(|problem| vec![problem])?;
            conclude(invocation, &ending, &after, destroy);
        }
        Ok(Exit(ending.code))
    }
}

/// The number of objects that a plan removes from the state without destroying them, except for old objects of
/// replacements.
fn forgotten(changes: &Changes) -> usize {
    changes.resources.iter().filter(|change| change.action == ChangeAction::Only(Action::Forget)).count()
}

/// Prints the last lines: a summary of the changes, and the outputs.
fn conclude(invocation: &Invocation<'_>, ending: &ApplyOutcome, snapshot: &Snapshot, destroy: bool) {
    let view = &invocation.view;
    let operation = if destroy { "destroy" } else { "apply" };
    view.event(events::change_summary(&ending.counts, operation));
    let line = if destroy { render::destroyed_line(&ending.counts) } else { render::applied_line(&ending.counts) };
    view.line(&format!("\n{}", view.style().paint("1;32", &line)));
    if !destroy {
        show_outputs(invocation, snapshot);
    }
}
