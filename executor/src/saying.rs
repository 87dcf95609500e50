//! The output lines of provisioners: to the host, or to the coordinator for those who watch the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;
use weft_graph_format::run::RunId;
use weft_protocol::{OutputLine, RunLine};

use crate::host::Host;
use crate::options::HostMessage;

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
