//! `weft store`: checks a store in Redis, and declares lost records as lost.

mod problems;

use std::time::{SystemTime, UNIX_EPOCH};

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{
    Losses, RedisStore, SecondCopyOptions, SecondCopyStore, StoreError, StoreReport, WaitingFile, waiting_files,
};

use crate::command::{self, Command, CommandResult, Invocation, OnMistake};
use crate::context::holder;
use crate::exit::Exit;
use crate::options::switch;
use crate::prompt::Prompt;
use crate::render::counted::counted;
use crate::runtime::block_on;
use crate::store::{self, Access, StoreLocation};

/// The maximum number of objects in a question. More would hide the question.
const LISTED: usize = 50;

/// The command.
pub const CHECK: Command = Command {
    words: &["store", "check"],
    alias: None,
    operands: "",
    about: "Check a store in Redis, and what it contains",
    main: false,
    flags: &[command::VIEW, command::JSON_DOCUMENT, command::VARIABLES_UNLISTED, command::STORE],
    mixed: true,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| invocation.conclude(block_on(check(invocation))),
};

/// The command.
pub const DECLARE_LOST: Command = Command {
    words: &["store", "declare-lost"],
    about: "Give up the records that a store in Redis has lost",
    flags: &[
        command::VIEW,
        command::INPUT,
        command::VARIABLES_UNLISTED,
        command::STORE,
        &[switch("auto-approve", "Do not ask for approval.")],
    ],
    run: |invocation| invocation.conclude(block_on(declare(invocation))),
    ..CHECK
};

/// A store that is opened for inspection only: opening it replays and copies nothing.
struct Opened {
    /// The store, or the error if it has no state.
    store: Result<RedisStore, StoreError>,
    workspace: String,
    /// The write-ahead files of this directory that the store, which is empty, has yet to adopt.
    waiting: Vec<WaitingFile>,
    /// The options for adopting these files.
    options: SecondCopyOptions,
}

async fn opened(invocation: &Invocation<'_>) -> Result<Opened, Vec<Diagnostic>> {
    let Invocation { arguments, context, .. } = invocation;
    let place = StoreLocation::find(context, arguments, None)?;
    let options = place.redis_options(Access::Change);
    let (Some(options), StoreLocation::Redis { server, workspace, sealing, .. }) = (options, place) else {
        return Err(vec![problems::not_redis()]);
    };
    let failed = |error| vec![store::problem(&error)];
    let waiting = match waiting_files(&options).await {
        // A damaged store is not empty.
        Err(StoreError::Damaged { .. }) => Vec::new(),
        waiting => waiting.map_err(failed)?,
    };
    let store = match server.open(&workspace, sealing).await {
        Err(error @ StoreError::NoState(_)) => Err(error),
        opened => Ok(opened.map_err(failed)?),
    };
    Ok(Opened { store, workspace: workspace.to_string(), waiting, options })
}

/// The location of the second copy of the state, if the copy has a state.
async fn copy_of(options: &SecondCopyOptions) -> Result<Option<String>, Vec<Diagnostic>> {
    let Some(copy) = &options.copy else { return Ok(None) };
    let found = copy.state.read().await.map_err(|error| vec![store::problem(&error.into())])?;
    Ok(found.map(|_| copy.state.place()))
}

async fn check(invocation: &Invocation<'_>) -> CommandResult {
    if !invocation.arguments.positionals.is_empty() {
        return Ok(invocation.mistake(&problems::no_arguments()));
    }
    let Opened { store, workspace, waiting, options } = opened(invocation).await?;
    let is_empty = store.is_err() || !waiting.is_empty();
    let copy = if is_empty { copy_of(&options).await? } else { None };
    let emptied = waiting.iter().map(|file| problems::emptied(file, copy.as_deref()));
    let store = match store {
        Ok(store) => store,
        Err(error) => {
            let restores = copy.as_deref().map(|copy| problems::restorable(error.to_string(), copy));
            let found = restores.into_iter().chain(emptied).map(|it| problems::found(&it));
            return Err(std::iter::once(store::problem(&error)).chain(found).collect());
        }
    };
    let mut report = store.check(&workspace).await.map_err(|error| vec![store::problem(&error)])?;
    report.problems.extend(emptied);
    let sound = report.problems.is_empty();
    if invocation.arguments.switch("json", false) {
        invocation.view.document(&(serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"));
    } else {
        lines(&report).iter().for_each(|line| invocation.view.line(line));
        let found: Vec<Diagnostic> = report.problems.iter().map(problems::found).collect();
        invocation.view.diagnostics(&found);
    }
    Ok(if sound { Exit::DONE } else { Exit::FAILED })
}

/// The lines of a report, without the problems.
fn lines(report: &StoreReport) -> Vec<String> {
    let StoreReport { server, runs, .. } = report;
    let mut lines = vec![format!("Store: {} (workspace {})", report.store, report.workspace)];
    let encrypted = if server.tls { "encrypted" } else { "not encrypted, on this machine" };
    lines.push(format!("Server: Redis {}; connection {encrypted}; user {}", server.version, server.user));
    lines.push("Settings: maxmemory-policy, appendonly and appendfsync are as required".to_owned());
    lines.push(match server.replicas {
        0 => "Replicas: writes do not wait for replicas".to_owned(),
        count => format!("Replicas that confirm each write: {count}"),
    });
    let digests = match report.without_digest {
        0 => String::new(),
        count => format!("; without a digest, because an earlier version wrote them: {count}"),
    };
    let (records, outputs) = (counted(report.records, "record"), counted(report.outputs, "output"));
    lines.push(format!("State: serial {}, {records}, {outputs}{digests}", report.serial));
    lines.push(format!("Claims: {}; doubts: {}", report.claims, report.doubts.len()));
    lines.extend(report.doubts.iter().map(|object| format!("  in doubt: {object}")));
    lines.push(format!("Runs: {}", runs.len()));
    for run in runs {
        let compared = if run.compared { "" } else { "; in progress, so only its journal was checked" };
        lines.push(format!("  {}: {}, {} of its journal{compared}", run.id, run.status, counted(run.lines, "line")));
    }
    for loss in &report.declared {
        let damaged = if loss.damaged.is_empty() { "none".to_owned() } else { loss.damaged.join(", ") };
        let missing = counted(loss.missing, "missing record");
        lines.push(format!("Declared lost by {}: {missing}; damaged: {damaged}", loss.by));
    }
    lines.push(match report.problems.len() {
        0 => "The store is sound.".to_owned(),
        1 => "1 problem was found:".to_owned(),
        count => format!("{count} problems were found:"),
    });
    lines
}

async fn declare(invocation: &Invocation<'_>) -> CommandResult {
    let Invocation { arguments, view, .. } = invocation;
    if !arguments.positionals.is_empty() {
        return Ok(invocation.mistake(&problems::no_arguments()));
    }
    let Opened { store, waiting, options, .. } = opened(invocation).await?;
    let is_empty = store.is_err() || !waiting.is_empty();
    if is_empty && let Some(copy) = copy_of(&options).await? {
        return Err(vec![problems::copy_restores(&copy)]);
    }
    if !waiting.is_empty() {
        return adopt(invocation, &waiting, options).await;
    }
    let store = store.map_err(|error| vec![store::problem(&error)])?;
    let failed = |error| vec![store::problem(&error)];
    let losses = store.losses().await.map_err(failed)?;
    if losses.is_nothing() {
        view.line(
            "No record of the state is lost. \"weft store check\" names the frozen runs. To give up such a run, use \
             \"weft runs abandon\".",
        );
        return Ok(Exit::DONE);
    }
    names(&losses).iter().for_each(|line| view.line(line));
    if let Some(copy) = copy_of(&options).await? {
        return Err(vec![problems::copy_exists(&copy)]);
    }
    if !confirmed(invocation, "Do you really want to declare these records lost?")? {
        return Ok(Exit::FAILED);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let now = u64::try_from(now).unwrap_or(u64::MAX);
    if !store.declare_lost(&losses, &holder().to_string(), now).await.map_err(failed)? {
        return Err(vec![problems::state_changed()]);
    }
    view.line("The records are declared lost, and the store can be used again. Import the objects that still exist.");
    Ok(Exit::UNCERTAIN)
}

/// Asks for approval, unless the command was approved with an option.
fn confirmed(invocation: &Invocation<'_>, question: &str) -> Result<bool, Vec<Diagnostic>> {
    if invocation.arguments.switch("auto-approve", false) {
        return Ok(true);
    }
    if !invocation.asks() {
        return Err(vec![problems::not_approved()]);
    }
    let detail = "The state will not have these records. The real objects continue to exist: import these objects \
                  again, or the next apply creates them a second time. If there is a backup of Redis, restore the \
                  backup instead.\nOnly 'yes' will be accepted to confirm.";
    let yes = Prompt::new().confirm(question, detail);
    if !yes {
        invocation.view.line("declare-lost cancelled.");
    }
    Ok(yes)
}

/// Keeps the results in the write-ahead files of an emptied store, and gives up the rest of its former state.
async fn adopt(invocation: &Invocation<'_>, waiting: &[WaitingFile], options: SecondCopyOptions) -> CommandResult {
    let view = &invocation.view;
    view.line("The store is empty. Write-ahead files in this directory have results of these objects:");
    let objects = waiting.iter().flat_map(|file| &file.objects).cloned().collect();
    listed(objects).iter().for_each(|line| view.line(line));
    view.line("Every other record of the former state is lost.");
    if !confirmed(invocation, "Do you really want to declare the other records lost?")? {
        return Ok(Exit::FAILED);
    }
    let options = SecondCopyOptions { declared_lost: true, ..options };
    SecondCopyStore::connect(options).await.map_err(|error| vec![store::problem(&error)])?;
    view.line("The results are in the state, and the store can be used again. Import the objects that still exist.");
    Ok(Exit::UNCERTAIN)
}

/// The lines with these names.
fn listed(names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(LISTED);
    let mut lines: Vec<String> = names.into_iter().take(LISTED).map(|name| format!("  {name}")).collect();
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// Describes the lost records.
fn names(losses: &Losses) -> Vec<String> {
    let mut lines = Vec::new();
    if !losses.damaged.is_empty() {
        lines.push(format!("Damaged records ({}):", losses.damaged.len()));
        lines.extend(listed(losses.damaged.iter().map(ToString::to_string).collect()));
    }
    if losses.missing > 0 {
        lines.push(format!("Missing records: {}. They belong to some of these objects:", losses.missing));
        lines.extend(listed(losses.candidates.clone()));
    }
    lines
}
