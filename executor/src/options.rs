//! Settings of a worker by its host.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;
use weft_expressions::call_context::{Files, ForbiddenFiles};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::run::RunId;
use weft_protocol::{OutputLine, RunLine};
use weft_providers::PoolOptions;

use crate::host::Host;
use crate::packages::Packages;
use crate::spool::WorkerSpool;

/// The default maximum number of concurrent tasks: enough to hide the latency of a store and a network.
pub const DEFAULT_CAPACITY: u32 = 256;

/// Messages to the host, beside the results of operations.
#[derive(Clone, Debug, PartialEq)]
pub enum HostMessage {
    /// A line that a provisioner wrote.
    Line {
        /// The instance of the provisioner.
        address: String,
        /// The kind of provisioner: `local-exec`.
        provisioner: String,
        /// The line, without its end.
        line: String,
    },
    /// An event of an ephemeral object.
    Ephemeral {
        /// The instance.
        address: String,
        /// The event.
        step: EphemeralStep,
    },
    /// A diagnostic of a provider about an ephemeral object that no operation was waiting for.
    Problem(Box<Diagnostic>),
}

/// An event of an ephemeral object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EphemeralStep {
    /// It is about to be opened.
    OpenStarted,
    /// It is open.
    OpenDone,
    /// It is about to be renewed.
    RenewStarted,
    /// It was renewed, or cannot be.
    RenewDone,
    /// It is about to be closed.
    CloseStarted,
    /// It was closed.
    CloseDone,
}

/// How long a provisioner waits for a coordinator to take a line. A coordinator that takes longer gets no lines until it
/// takes one at once: the command goes on.
const LINE_WAIT: Duration = Duration::from_secs(5);

/// The pause of a thread between two attempts to send a line.
const LINE_PAUSE: Duration = Duration::from_millis(10);

/// Sends the output lines of one provisioner.
#[derive(Clone, Debug)]
pub(crate) struct Saying {
    to: Listener,
    address: String,
    provisioner: String,
}

/// Who receives lines.
#[derive(Clone, Debug)]
enum Listener {
    /// The host of the worker.
    Host(mpsc::Sender<HostMessage>),
    /// The coordinator, for watchers of the run. The flag says that it did not take the last line.
    Coordinator(mpsc::Sender<RunLine>, RunId, Arc<AtomicBool>),
}

impl Saying {
    /// Sends lines to the host, or to the coordinator of the run if the host does not listen.
    pub(crate) fn new(host: &Host, run: &RunId, address: &str, provisioner: &str) -> Saying {
        let to = match &host.options.said {
            Some(said) => Listener::Host(said.clone()),
            None => Listener::Coordinator(host.lines.clone(), run.clone(), Arc::default()),
        };
        Saying { to, address: address.to_owned(), provisioner: provisioner.to_owned() }
    }

    fn of_host(&self, line: String) -> HostMessage {
        HostMessage::Line { address: self.address.clone(), provisioner: self.provisioner.clone(), line }
    }

    fn of_run(&self, run: &RunId, text: String) -> RunLine {
        let (address, provisioner) = (self.address.clone(), self.provisioner.clone());
        RunLine { run: run.clone(), line: OutputLine { address, provisioner, text } }
    }

    /// Sends a line, if someone listens.
    pub(crate) async fn say(&self, text: String) {
        // In each case the listener may be gone.
        match &self.to {
            Listener::Host(to) => drop(to.send(self.of_host(text)).await),
            Listener::Coordinator(to, run, absent) => {
                let wait = if absent.load(Ordering::Relaxed) { Duration::ZERO } else { LINE_WAIT };
                let sent = timeout(wait, to.send(self.of_run(run, text))).await;
                absent.store(sent.is_err(), Ordering::Relaxed);
            }
        }
    }

    /// Sends a line from outside the runtime.
    pub(crate) fn say_blocking(&self, text: String) {
        match &self.to {
            Listener::Host(to) => drop(to.blocking_send(self.of_host(text))),
            Listener::Coordinator(to, run, absent) => {
                let mut line = self.of_run(run, text);
                let end = Instant::now() + if absent.load(Ordering::Relaxed) { Duration::ZERO } else { LINE_WAIT };
                loop {
                    match to.try_send(line) {
                        Err(TrySendError::Full(left)) if Instant::now() < end => line = left,
                        sent => return absent.store(sent.is_err(), Ordering::Relaxed),
                    }
                    std::thread::sleep(LINE_PAUSE);
                }
            }
        }
    }
}

/// Settings of a worker.
#[derive(Clone)]
pub struct WorkerOptions {
    /// Its name, unique in a cluster and without `/`.
    pub name: String,
    /// The identity of its process, from the coordinator's `process::incarnation()`.
    pub incarnation: String,
    /// Labels for placement rules.
    pub labels: BTreeMap<String, String>,
    /// The maximum number of concurrent tasks over all runs; at least 1.
    pub capacity: u32,
    /// The source of provider packages.
    pub packages: Arc<dyn Packages>,
    /// The maximum number of provider processes, the time to wait for one, and the location of cached schemas.
    pub pool: PoolOptions,
    /// File access of functions. Only the worker at home has any.
    pub files: Arc<dyn Files>,
    /// The base of relative file names.
    pub base_directory: PathBuf,
    /// Receives the output of provisioners and the events of ephemeral objects. Without it, the coordinator receives the
    /// output, for those who watch the run.
    pub said: Option<mpsc::Sender<HostMessage>>,
    /// Keeps results that no coordinator has acknowledged, so that they outlive the process.
    pub spool: Option<WorkerSpool>,
}

impl WorkerOptions {
    /// A worker without labels and files.
    pub fn new(name: impl Into<String>, incarnation: impl Into<String>, packages: Arc<dyn Packages>) -> WorkerOptions {
        WorkerOptions {
            name: name.into(),
            incarnation: incarnation.into(),
            labels: BTreeMap::new(),
            capacity: DEFAULT_CAPACITY,
            packages,
            pool: PoolOptions::default(),
            files: Arc::new(ForbiddenFiles),
            base_directory: PathBuf::new(),
            said: None,
            spool: None,
        }
    }
}
