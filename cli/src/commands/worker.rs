//! `weft worker`: carries out what a coordinator hands to it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weft_coordinator::client::{ClientError, connect_worker};
use weft_coordinator::process;
use weft_executor::{Channel, Ended, Worker, WorkerOptions};
use weft_graph_format::diagnostic::Diagnostic;

use crate::apply::{client_problem, coordinator};
use crate::command::{self, Command, Invocation, OnMistake};
use crate::context::holder;
use crate::exit::Exit;
use crate::options::{Flag, Takes, text};
use crate::packages::{PlannedPackages, pool_options};
use crate::runtime::block_on;
use crate::signals::asked_to_end;

/// Between two tries to reach the coordinator.
const RECONNECT: Duration = Duration::from_millis(500);
/// After the second signal, for providers to end.
const LEAVE: Duration = Duration::from_secs(3);

/// The command.
pub const WORKER: Command = Command {
    words: &["worker"],
    alias: None,
    operands: "",
    about: "Carry out what a coordinator hands over",
    main: false,
    flags: &[
        command::VIEW,
        command::VARIABLES,
        command::COORDINATOR,
        &[
            text("label", "KEY=VALUE", "What placement rules look at. May be given several times."),
            text("plugin-dir", "DIR", "Look for provider packages here too. May be given several times."),
            text("name", "NAME", "Its name (machine and process)."),
            Flag { name: "capacity", takes: Takes::Number, about: "Most operations at once." },
            Flag { name: "max-providers", takes: Takes::Number, about: "Most provider processes at once." },
        ],
    ],
    mixed: true,
    on_mistake: OnMistake::Usage,
    events: false,
    run: |invocation| work(invocation).unwrap_or_else(|exit| exit),
};

fn work(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    invocation.at_most(0, "Unexpected argument", "The worker takes options only.")?;
    let Some(address) = coordinator(arguments) else {
        return Err(invocation.mistake(&Diagnostic::error(
            "Coordinator not named",
            "Name the coordinator to work for with -coordinator HOST:PORT or WEFT_COORDINATOR.",
        )));
    };
    let mut labels = BTreeMap::new();
    for label in arguments.values("label") {
        let Some((name, value)) = label.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(invocation.mistake(&Diagnostic::error(
                "Invalid -label option",
                format!("{label:?} is no label: write KEY=VALUE."),
            )));
        };
        labels.insert(name.to_owned(), value.to_owned());
    }
    let name = match arguments.value("name") {
        Some(name) if name.is_empty() || name.contains('/') => {
            return Err(invocation.mistake(&Diagnostic::error(
                "Invalid -name option",
                "The name of a worker has at least one character, and no slash.",
            )));
        }
        Some(name) => name.to_owned(),
        None => {
            let holder = holder();
            format!("{}-{}", holder.machine, holder.process)
        }
    };
    let directories: Vec<PathBuf> = arguments.values("plugin-dir").map(PathBuf::from).collect();
    let (packages, said) = PlannedPackages::new(context, &directories);
    view.diagnostics(&said);
    let mut options = WorkerOptions::new(name, process::incarnation(), Arc::new(packages));
    options.labels = labels;
    // What it reads of other states may be encrypted.
    context.sealing(arguments, None).map_err(|problems| invocation.fail(&problems))?;
    options.pool = pool_options(context);
    if let Some(most) = arguments.count("max-providers") {
        options.pool.max_open = most;
    }
    if let Some(capacity) = arguments.count("capacity") {
        options.capacity = capacity;
    }
    let worked = block_on(serve(invocation, options, address)).and_then(|worked| worked);
    worked.map_err(|problem| invocation.fail(&[problem]))?;
    Ok(Exit::DONE)
}

async fn serve(invocation: &Invocation<'_>, options: WorkerOptions, address: String) -> Result<(), Diagnostic> {
    let view = &invocation.view;
    let name = options.name.clone();
    let mut worker = Worker::new(options);
    let handle = worker.handle();
    let (ending, mut ended) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        asked_to_end().await;
        eprintln!("Ending: calls that are under way may end. Once more leaves at once.");
        handle.drain();
        // Nobody is waiting any more when the worker has ended by itself.
        let _ = ending.send(true);
        asked_to_end().await;
        std::process::exit(i32::from(Exit::FAILED.0));
    });
    let mut told = false;
    loop {
        let connected = tokio::select! {
            connected = connect_worker(&address) => connected,
            _ = ended.changed() => break,
        };
        match connected {
            Ok(end) => {
                view.line(&format!("worker {name} works for the coordinator at {address}"));
                told = false;
                // Among the tasks that it talks to: from the main thread each word would wake another thread.
                let channel = Channel { incoming: end.incoming, outgoing: end.outgoing };
                let working = tokio::spawn(async move {
                    let ended = worker.run(channel).await;
                    (worker, ended)
                });
                let (back, ended) = match working.await {
                    Ok(worked) => worked,
                    Err(error) => return Err(Diagnostic::error("Worker ended", format!("A defect of Weft: {error}."))),
                };
                worker = back;
                match ended {
                    Ended::Drained => break,
                    Ended::Refused(reason) => {
                        return Err(Diagnostic::error("Refused by the coordinator", format!("{reason}.")));
                    }
                    Ended::Disconnected | Ended::Silent => {
                        view.aside("The connection to the coordinator broke; trying again.")
                    }
                }
            }
            // Trying again does not help.
            Err(error @ (ClientError::NotLoopback(_) | ClientError::Address(_))) => {
                return Err(client_problem(error).into_iter().next().unwrap_or_else(|| {
                    Diagnostic::error("Coordinator does not answer", format!("Nobody answers at {address}."))
                }));
            }
            Err(error) if !told => {
                told = true;
                view.aside(&format!("{error}; trying again."));
            }
            Err(_) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(RECONNECT) => {}
            _ = ended.changed() => {
                // What it holds can still be delivered if the coordinator comes back in a moment.
                if tokio::time::timeout(LEAVE, connect_worker(&address)).await.is_err() {
                    break;
                }
            }
        }
    }
    let _ = tokio::time::timeout(LEAVE, worker.close()).await;
    Ok(())
}
