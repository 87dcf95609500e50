//! `weft workers`: lists the workers of a coordinator, and drains them.

use weft_coordinator::Client;
use weft_coordinator::fleet::WorkerListing;
use weft_coordinator::placement::labels_text;
use weft_graph_format::diagnostic::Diagnostic;

use crate::apply;
use crate::command::{self, Command, CommandResult, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::identity;
use crate::runtime::block_on;

/// The command.
pub const LIST: Command = Command {
    words: &["workers", "list"],
    alias: None,
    operands: "",
    about: "List the connected workers",
    main: false,
    flags: &[command::VIEW, command::JSON_DOCUMENT, command::COORDINATOR_OF_RUNS, command::TLS],
    mixed: true,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| invocation.conclude(block_on(list(invocation))),
};

/// The command.
pub const DRAIN: Command = Command {
    words: &["workers", "drain"],
    operands: "WORKER",
    about: "Let a worker finish its operations, and give it no others",
    flags: &[command::VIEW, command::COORDINATOR_OF_RUNS, command::TLS],
    run: |invocation| invocation.conclude(block_on(drain(invocation, true))),
    ..LIST
};

/// The command.
pub const UNDRAIN: Command = Command {
    words: &["workers", "undrain"],
    about: "Let a drained worker take operations again",
    run: |invocation| invocation.conclude(block_on(drain(invocation, false))),
    ..DRAIN
};

async fn client(invocation: &Invocation<'_>) -> Result<Client, Vec<Diagnostic>> {
    let arguments = &invocation.arguments;
    let address = apply::coordinator(arguments).ok_or_else(|| vec![problems::workers_without_coordinator()])?;
    Client::connect(&identity::dialer(arguments)?, &address).await.map_err(apply::client_problem)
}

async fn list(invocation: &Invocation<'_>) -> CommandResult {
    let Invocation { arguments, view, .. } = invocation;
    let workers = client(invocation).await?.workers().await.map_err(apply::client_problem)?;
    if arguments.switch("json", false) {
        view.document(&(serde_json::to_string_pretty(&workers).unwrap_or_default() + "\n"));
        return Ok(Exit::DONE);
    }
    if workers.is_empty() {
        view.line("No workers are connected.");
    }
    for worker in &workers {
        view.line(&line(worker));
    }
    Ok(Exit::DONE)
}

/// Describes a worker in one line.
fn line(worker: &WorkerListing) -> String {
    let WorkerListing { name, labels, version, status, tasks, capacity, identity } = worker;
    let version = if version.is_empty() { "unknown version".to_owned() } else { format!("version {version}") };
    let mut parts = vec![format!("{name}: {status}"), format!("{tasks} of {capacity} operations"), version];
    if !labels.is_empty() {
        parts.push(labels_text(labels));
    }
    parts.push(identity.clone());
    parts.join("; ")
}

async fn drain(invocation: &Invocation<'_>, drained: bool) -> CommandResult {
    let Invocation { arguments, view, .. } = invocation;
    let [name] = arguments.positionals.as_slice() else { return Err(vec![problems::worker_name_expected()]) };
    if !client(invocation).await?.drain(name, drained).await.map_err(apply::client_problem)? {
        return Err(vec![problems::no_such_worker(name)]);
    }
    view.line(&match drained {
        true => {
            format!("{name} finishes its operations and takes no others. \"weft workers list\" shows when it is idle.")
        }
        false => format!("{name} takes operations again."),
    });
    Ok(Exit::DONE)
}
