//! `weft worker`: carries out operations for a coordinator.

mod spool;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_coordinator::client::{connect_worker, each_address};
use weft_coordinator::{Cancel, Dialer, WorkerEnd, process};
use weft_executor::{Channel, Ended, Worker, WorkerHandle, WorkerOptions};
use weft_graph_format::diagnostic::Diagnostic;

use crate::apply::{client_problem, coordinator};
use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::context::holder;
use crate::exit::Exit;
use crate::identity;
use crate::metrics::{self, MetricsAddress};
use crate::options::{Takes, option, text};
use crate::packages::{PlannedPackages, pool_options};
use crate::render::counted::counted;
use crate::runtime::block_on;
use crate::signals;
use crate::view::View;

/// The pause between two attempts to reach the coordinator.
const RECONNECT: Duration = Duration::from_millis(500);
/// The time between two checks of the certificate.
const EXPIRY_CHECKS: Duration = Duration::from_secs(3600);
/// How long providers may take to end when the worker ends.
const LEAVE: Duration = Duration::from_secs(3);
/// How long a stopping worker tries to deliver its results. A coordinator that restarts is available again within this
/// time.
const DELIVER: Duration = Duration::from_secs(5);

/// The command.
pub const WORKER: Command = Command {
    words: &["worker"],
    alias: None,
    operands: "",
    about: "Carry out operations for a coordinator",
    main: false,
    flags: &[
        command::VIEW,
        command::VARIABLES_UNLISTED,
        command::COORDINATOR_OF_WORKER,
        command::TLS,
        &[
            text("label", "KEY=VALUE", "A label that placement rules can refer to. Can be repeated."),
            text("plugin-dir", "DIR", "Also look for provider packages in DIR. Can be repeated."),
            text("name", "NAME", "Name of the worker. [default: machine and process]"),
            text(
                "spool",
                "DIR",
                "Keep results that no coordinator has accepted in DIR. [default: in the data directory, with -name]",
            ),
            option("capacity", Takes::Number, "Maximum number of concurrent operations."),
            option("max-providers", Takes::Number, "Maximum number of provider processes."),
        ],
        command::METRICS,
    ],
    mixed: true,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| work(invocation).unwrap_or_else(|exit| exit),
};

fn work(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    invocation.at_most(0, problems::worker_arguments)?;
    let Some(address) = coordinator(arguments) else {
        return Err(invocation.mistake(&problems::worker_without_coordinator()));
    };
    let mut labels = BTreeMap::new();
    for label in arguments.values("label") {
        let Some((name, value)) = label.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(invocation.mistake(&problems::invalid_label(label)));
        };
        labels.insert(name.to_owned(), value.to_owned());
    }
    let name = match arguments.value("name") {
        Some(name) if name.is_empty() || name.contains('/') => {
            return Err(invocation.mistake(&problems::invalid_worker_name()));
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
    // The worker may read encrypted states.
    let sealing = context.sealing(arguments, None).map_err(|problems| invocation.fail(&problems))?;
    let spool = match (arguments.value("name"), arguments.value("spool")) {
        (Some(_), _) => {
            spool::open(invocation, &options.name, sealing).map_err(|problem| invocation.fail(&[problem]))?
        }
        (None, Some(_)) => return Err(invocation.mistake(&problems::spool_without_name())),
        // Without `-name`, the name contains the process id, so no later process would find the spool.
        (None, None) => None,
    };
    let spool_path = spool.map(|(spool, path)| {
        options.incarnation = process::incarnation_with_spool();
        options.spool = Some(spool);
        path
    });
    options.pool = pool_options(context);
    if let Some(most) = arguments.count("max-providers") {
        options.pool.max_open = most;
    }
    if let Some(capacity) = arguments.count("capacity") {
        options.capacity = capacity;
    }
    let dialer = identity::dialer(arguments).map_err(|problems| invocation.fail(&problems))?;
    let metrics = metrics::address(invocation)?;
    let worked = block_on(serve(invocation, options, dialer, address, metrics, spool_path)).and_then(|worked| worked);
    worked.map_err(|problem| invocation.fail(&[problem]))?;
    Ok(Exit::DONE)
}

/// A worker that keeps running across several connections.
struct Serving<'i> {
    view: &'i View,
    name: String,
    /// Opens connections to coordinators.
    dialer: Arc<Dialer>,
    /// The coordinators, in the order in which they are tried.
    addresses: Vec<String>,
    /// Whether the worker was asked to stop.
    ended: tokio::sync::watch::Receiver<bool>,
    /// The time when a stopping worker was first seen without running calls. `None` while calls are running.
    rests_since: Option<Instant>,
    /// Whether the user was informed that no coordinator responds.
    told: bool,
}

async fn serve(
    invocation: &Invocation<'_>,
    options: WorkerOptions,
    dialer: Dialer,
    addresses: String,
    metrics: Option<MetricsAddress>,
    spool: Option<PathBuf>,
) -> Result<(), Diagnostic> {
    let name = options.name.clone();
    let mut worker = Worker::new(options);
    let ended = obey_signals(worker.handle());
    let dialer = Arc::new(dialer);
    if let Some(metrics) = metrics {
        let (handle, dialer) = (worker.handle(), Arc::clone(&dialer));
        let render = move || metrics::worker_metrics(&handle.figures(), dialer.expires());
        metrics::begin(&invocation.view, &metrics, render).await?;
    }
    announce_expiry(Arc::clone(&dialer));
    let addresses = each_address(&addresses).map(str::to_owned).collect();
    let view = &invocation.view;
    let mut serving = Serving { view, name, dialer, addresses, ended, rests_since: None, told: false };
    while !serving.may_leave(&mut worker) {
        let Some((address, end)) = worker.wait_for(serving.connect()).await? else {
            worker.wait_for(serving.pause()).await;
            continue;
        };
        view.line(&format!("worker {} works for the coordinator at {address}", serving.name));
        serving.told = false;
        // A spawned task runs on the same threads as the tasks that it exchanges messages with. On the main thread,
        // each message would wake another thread.
        let channel = Channel { incoming: end.incoming, outgoing: end.outgoing };
        let working = tokio::spawn(async move {
            let ended = worker.run(channel).await;
            (worker, ended)
        });
        let (back, ended) = match working.await {
            Ok(worked) => worked,
            Err(error) => return Err(problems::worker_ended(&error)),
        };
        worker = back;
        match ended {
            Ended::Drained => break,
            Ended::Refused(reason) => {
                return Err(problems::worker_refused(&reason));
            }
            Ended::Disconnected | Ended::Silent => {
                view.aside("The connection to the coordinator broke. Retrying.");
                worker.wait_for(serving.pause()).await;
            }
        }
    }
    let lost = worker.settle_spool().await;
    let left = worker.open();
    let kept = left.results.saturating_sub(lost);
    if let Some(path) = spool.filter(|_| kept > 0) {
        view.aside(&format!(
            "{} has {} that no coordinator has accepted. The next worker with the name {} hands over the results in \
             this file.",
            path.display(),
            counted(kept, "result"),
            serving.name
        ));
    }
    if left.calls + lost > 0 {
        view.aside(&format!(
            "Quitting with {} and {} that no coordinator has accepted. The outcome of their operations is unknown.",
            counted(left.calls, "running call"),
            counted(lost, "result")
        ));
    }
    let _ = tokio::time::timeout(LEAVE, worker.close()).await;
    Ok(())
}

/// Checks the certificate of the worker at intervals, and warns if it expires soon. Otherwise, the certificate would be
/// checked only when the worker connects, and a connection can last for weeks.
fn announce_expiry(dialer: Arc<Dialer>) {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(EXPIRY_CHECKS).await;
            dialer.expires();
        }
    });
}

/// Handles signals. The first one drains the worker, the second one asks providers to stop. The third one ends the
/// process, and so does a timeout after the second one.
fn obey_signals(handle: WorkerHandle) -> tokio::sync::watch::Receiver<bool> {
    let (ending, ended) = tokio::sync::watch::channel(false);
    let mut signals = signals::forward();
    tokio::spawn(async move {
        while let Some(wish) = signals.recv().await {
            match wish {
                Cancel::Drain => {
                    eprintln!(
                        "Stopping. Running calls finish, and no new ones start. Press Ctrl-C again to ask the \
                        providers to stop."
                    );
                    handle.drain();
                }
                Cancel::Stop | Cancel::Leave => {
                    eprintln!("Stopping. Providers are asked to stop. Press Ctrl-C again to quit now.");
                    handle.stop();
                }
            }
            ending.send_replace(true);
        }
    });
    ended
}

impl Serving<'_> {
    /// Connects to the first coordinator that responds. `None` if no coordinator responds.
    ///
    /// # Errors
    /// Returns an error if retries cannot help.
    async fn connect(&mut self) -> Result<Option<(String, WorkerEnd)>, Diagnostic> {
        for address in &self.addresses {
            match connect_worker(&self.dialer, address).await {
                Ok(end) => return Ok(Some((address.clone(), end))),
                Err(error) if !error.may_pass() => {
                    let problem = client_problem(error).into_iter().next();
                    return Err(problem.unwrap_or_else(|| problems::no_coordinator_answers(address)));
                }
                Err(error) if !self.told => self.view.aside(&format!("{error}. Retrying.")),
                Err(_) => {}
            }
        }
        self.told = true;
        Ok(None)
    }

    /// Waits between two attempts to connect.
    async fn pause(&mut self) {
        let asked = *self.ended.borrow_and_update();
        tokio::select! {
            () = tokio::time::sleep(RECONNECT) => {}
            Ok(()) = self.ended.changed(), if !asked => {}
        }
    }

    /// Whether a worker without a connection may end, after it was asked to stop. It may not end while calls are
    /// running. A worker without results may end immediately. A worker with results first waits [`DELIVER`] for a
    /// coordinator.
    fn may_leave(&mut self, worker: &mut Worker) -> bool {
        if !*self.ended.borrow() {
            return false;
        }
        let open = worker.open();
        if open.calls > 0 {
            self.rests_since = None;
            return false;
        }
        let since = *self.rests_since.get_or_insert_with(Instant::now);
        open.results == 0 || since.elapsed() >= DELIVER
    }
}
