//! `weft runs`: lists, shows, resumes, resolves, settles, abandons and prunes runs.

mod doubts;
mod file;
mod list;
mod problems;
mod resolve;
mod settle;
mod show;

use std::sync::Arc;

use weft_coordinator::listing::resumable;
use weft_coordinator::plan::read_plan;
use weft_coordinator::{RunError, RunOptions, term};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::PlanFile;
use weft_state::{Digest, EmbeddedStore, ReleaseAnswer, RunId, RunStatus, RunStore, RunView, StoreError};

use crate::apply::{self, ApplyOutcome, Work};
use crate::command::{self, Command, CommandResult, Invocation, OnMistake};
use crate::context::holder;
use crate::exit::Exit;
use crate::options::{Flag, Section, switch, text};
use crate::packages::PlannedPackages;
use crate::plan::PARALLELISM;
use crate::render::counted::counted;
use crate::render::events;
use crate::retention;
use crate::runtime::block_on;
use crate::signals::Hold;
use crate::store::{self, Access, Coordinated, StoreLocation};

pub use resolve::RESOLVE;
pub use settle::SETTLE;

const PLACE: &[Flag] =
    &[text("state", "FILE", "The state file of the runs. [default: terraform.tfstate]").of(Section::State)];

/// The command.
pub const LIST: Command = Command {
    words: &["runs", "list"],
    alias: None,
    operands: "",
    about: "List runs, newest first",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON_DOCUMENT,
        command::VARIABLES_UNLISTED,
        command::STORE,
        command::COORDINATOR_OF_RUNS,
        command::TLS,
        PLACE,
    ],
    mixed: true,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| invocation.conclude(block_on(list::list(invocation))),
};

/// The command.
pub const SHOW: Command = Command {
    words: &["runs", "show"],
    operands: "[RUN]",
    about: "Show a run and its operations",
    flags: &[
        command::VIEW,
        command::JSON_DOCUMENT,
        command::VARIABLES_UNLISTED,
        command::STORE,
        command::COORDINATOR_OF_RUNS,
        command::TLS,
        PLACE,
        &[switch("failed", "Show only operations that failed or are in doubt.")],
    ],
    run: |invocation| invocation.conclude(block_on(show::show(invocation))),
    ..LIST
};

/// The command.
pub const RESUME: Command = Command {
    words: &["runs", "resume"],
    operands: "[RUN]",
    about: "Continue an interrupted run",
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STORE,
        command::COORDINATOR,
        command::TLS,
        command::PARALLELISM,
        PLACE,
        &[
            text("state-out", "FILE", ""),
            text("backup", "FILE", ""),
            text("plugin-dir", "DIR", "Also look for provider packages in DIR. Can be repeated."),
            switch("detach", "Return as soon as the coordinator has accepted the run."),
            switch("input", ""),
        ],
    ],
    events: true,
    run: |invocation| invocation.conclude(block_on(resume(invocation))),
    ..LIST
};

/// The command.
pub const ABANDON: Command = Command {
    words: &["runs", "abandon"],
    operands: "RUN",
    about: "Give up an unfinished run",
    flags: &[command::VIEW, command::VARIABLES_UNLISTED, command::LOCK, command::STORE, PLACE],
    run: |invocation| invocation.conclude(block_on(abandon(invocation))),
    ..LIST
};

/// The command.
pub const PRUNE: Command = Command {
    words: &["runs", "prune"],
    operands: "",
    about: "Remove the plans and journals of old finished runs",
    flags: &[
        command::VIEW,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STORE,
        PLACE,
        &[text("older-than", "DAYS", "Remove runs that began more than DAYS days ago. [default: 30]")],
    ],
    run: |invocation| invocation.conclude(block_on(prune(invocation))),
    ..LIST
};

fn said(error: StoreError) -> Vec<Diagnostic> {
    vec![store::problem(&error)]
}

fn place(invocation: &Invocation<'_>) -> Result<StoreLocation, Vec<Diagnostic>> {
    StoreLocation::find(&invocation.context, &invocation.arguments, None)
}

/// The store, for reading. `None` if no state and no run was ever stored.
async fn readable(invocation: &Invocation<'_>) -> Result<Option<Arc<dyn RunStore>>, Vec<Diagnostic>> {
    place(invocation)?.open_existing().await.map_err(|problem| vec![problem])
}

fn run_id(text: &str) -> Result<RunId, Vec<Diagnostic>> {
    RunId::parse(text).ok_or_else(|| vec![problems::invalid_run_id(text)])
}

/// A run, its plan, and the bytes of the plan.
async fn load(store: &dyn RunStore, run: &RunId) -> Result<(RunView, PlanFile, Vec<u8>), Vec<Diagnostic>> {
    let view = store.run(run).await.map_err(said)?.ok_or_else(|| said(StoreError::NoRun(run.clone())))?;
    let bytes = store.plan(run).await.map_err(said)?.0;
    let plan = read_plan(&bytes)?;
    Ok((view, plan, bytes))
}

async fn resume(invocation: &Invocation<'_>) -> CommandResult {
    let Invocation { arguments, view, .. } = invocation;
    view.event(events::version());
    let named = arguments.positionals.first().map(String::as_str).map(run_id).transpose()?;
    let parallelism = arguments.count::<u32>("parallelism");
    if let Some(address) = apply::coordinator(arguments) {
        // The encryption is determined now, because the local worker may read encrypted states.
        invocation.context.sealing(arguments, None)?;
        let detach = arguments.switch("detach", false);
        let named = named.as_ref().map(RunId::as_str);
        let one = |problem: Diagnostic| vec![problem];
        let copy = Coordinated::open(&place(invocation)?).await.map_err(one)?;
        copy.begin();
        let ending = apply::resume_elsewhere(&address, named, detach, parallelism, invocation).await?;
        if !detach {
            copy.catch_up().await.map_err(one)?;
        }
        return Ok(match ending {
            None => nothing(invocation),
            Some(_) if detach => Exit::DONE,
            Some(ending) => told(invocation, &ending),
        });
    }
    let Some(looked) = readable(invocation).await? else { return Ok(nothing(invocation)) };
    let header = match &named {
        Some(run) => looked.runs().await.map_err(said)?.into_iter().find(|header| header.id == *run),
        None => resumable(&looked.runs().await.map_err(said)?).cloned(),
    };
    let header = match (header, named) {
        (Some(header), _) => header,
        (None, Some(run)) => return Err(said(StoreError::NoRun(run))),
        (None, None) => return Ok(nothing(invocation)),
    };
    if header.status == RunStatus::Done {
        return Ok(nothing(invocation));
    }
    drop(looked);
    let store = place(invocation)?.open(Access::Change).await.map_err(|problem| vec![problem])?;
    view.line(&format!("Resuming run {}.", header.id));
    let ending = go_on(invocation, store.clone(), &header.id, RunOptions::in_process(), parallelism).await?;
    let exit = told(invocation, &ending);
    if ending.code == 0 {
        let snapshot = store.snapshot().await.map_err(said)?;
        super::output::show_outputs(invocation, &snapshot);
    }
    Ok(exit)
}

fn nothing(invocation: &Invocation<'_>) -> Exit {
    invocation.view.line("There is no unfinished run to resume.");
    invocation.view.event(events::log("There is no unfinished run to resume."));
    Exit::DONE
}

fn told(invocation: &Invocation<'_>, ending: &ApplyOutcome) -> Exit {
    if ending.code == 0 {
        let view = &invocation.view;
        view.event(events::change_summary(&ending.counts, "apply"));
        view.line(&format!("\n{}", crate::render::plan::applied_line(&ending.counts)));
    }
    Exit(ending.code)
}

/// Resumes a run in this process.
async fn go_on(
    invocation: &Invocation<'_>,
    store: Arc<dyn RunStore>,
    run: &RunId,
    options: RunOptions,
    parallelism: Option<u32>,
) -> Result<ApplyOutcome, Vec<Diagnostic>> {
    let _held = Hold::begin();
    let Invocation { arguments, context, view, .. } = invocation;
    let bytes = store.plan(run).await.map_err(said)?.0;
    let plan = read_plan(&bytes)?;
    view.know_snippets(&plan.sources);
    let directories: Vec<_> = arguments.values("plugin-dir").map(std::path::PathBuf::from).collect();
    let (packages, found) = PlannedPackages::new(context, &directories);
    view.diagnostics(&found);
    packages.check(&plan.manifest)?;
    let inputs = apply::inputs(&plan.manifest, arguments)?;
    let parallelism = parallelism.and_then(|n| usize::try_from(n).ok()).unwrap_or(PARALLELISM);
    let work = Work { plan, digest: Digest::of(&bytes), bytes, inputs, signature: Vec::new(), single_use: false };
    let place = apply::LocalRun { context, view, store, packages: Arc::new(packages), parallelism };
    apply::resume(run.clone(), work, options, place).await
}

async fn abandon(invocation: &Invocation<'_>) -> CommandResult {
    let [text] = invocation.arguments.positionals.as_slice() else {
        return Ok(invocation.mistake(&problems::run_id_expected()));
    };
    let run = run_id(text)?;
    let place = place(invocation)?;
    let store = match place.open_store(Access::Change).await {
        Ok(store) => store,
        Err(error) => return set_aside(invocation, &place, &run, &error),
    };
    // The lease of a dead holder stays valid for a while.
    let mut taken = term::take_lease(store.as_ref(), &run, &holder(), None).await;
    let mut lost = None;
    if let Err(RunError::Store(StoreError::Frozen { .. })) = &taken {
        lost = store.thaw(&run).await.map_err(said)?;
        taken = term::take_lease(store.as_ref(), &run, &holder(), None).await;
    }
    let lease = match taken {
        Ok(lease) => lease,
        Err(RunError::Held { view, .. }) => {
            return Err(vec![problems::run_is_held(&run, &view.holder)]);
        }
        Err(RunError::Store(error)) => return Err(said(error)),
        Err(error) => return Err(apply::run_problem(error)),
    };
    match store.abandon(&lease).await.map_err(said)? {
        ReleaseAnswer::Released(header) => {
            let doubts = header.counts.in_doubt;
            invocation.view.line(&match doubts {
                0 => format!("Run {run} was abandoned."),
                _ => format!("Run {run} was abandoned. Objects in doubt: {doubts}."),
            });
            if let Some(what) = &lost {
                invocation.view.diagnostics(&[problems::records_lost(what)]);
            }
            Ok(Exit(if doubts > 0 || lost.is_some() { 3 } else { 0 }))
        }
        _ => Err(vec![problems::run_taken_over()]),
    }
}

async fn prune(invocation: &Invocation<'_>) -> CommandResult {
    let days = match invocation.arguments.value("older-than") {
        None => retention::days().map_err(|problem| vec![problem])?,
        Some(text) => match text.parse() {
            Ok(days) => days,
            Err(_) => {
                return Ok(invocation.mistake(&problems::invalid_age(text)));
            }
        },
    };
    let store = place(invocation)?.open(Access::Change).await.map_err(|problem| vec![problem])?;
    let removed = retention::prune(store.as_ref(), days, &invocation.view).await.map_err(|problem| vec![problem])?;
    if removed == 0 {
        invocation.view.line(&format!("There are no finished runs older than {}.", counted(days, "day")));
    }
    Ok(Exit::DONE)
}

/// Abandons a run whose journal is damaged or does not belong to the state file. Moves the files of the run away, and
/// lists the objects that the run may have changed.
fn set_aside(invocation: &Invocation<'_>, place: &StoreLocation, run: &RunId, error: &StoreError) -> CommandResult {
    let foreign = match error {
        StoreError::StateMismatch { run: of, .. } => of == run,
        StoreError::Damaged { place, .. } => place.contains(run.as_str()),
        _ => false,
    };
    if !foreign {
        return Err(vec![store::problem(error)]);
    }
    let (objects, folder) = match place {
        StoreLocation::Embedded(options) => EmbeddedStore::set_aside(options, run),
        StoreLocation::Remote(remote) => EmbeddedStore::set_aside_remote(remote.options.clone(), run),
        StoreLocation::Redis { .. } => return Err(vec![store::problem(error)]),
    }
    .map_err(said)?;
    invocation.view.line(&format!("Run {run} is set aside: its files are in {}.", folder.display()));
    if objects.is_empty() {
        return Ok(Exit::DONE);
    }
    invocation.view.diagnostics(&[problems::run_set_aside(&objects, &folder.join("state"))]);
    Ok(Exit(3))
}
