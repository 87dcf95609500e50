//! The output lines of provisioners. The lines go to the coordinator, which passes them on to watchers of the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;
use weft_graph_format::run::RunId;
use weft_protocol::{OutputLine, RunLine};

use crate::host::Host;

/// The time that a provisioner waits for a coordinator to accept a line. After this time, the line is dropped, and the
/// command continues. The next lines do not wait: each is dropped unless the coordinator accepts it at once. After an
/// accepted line, the provisioner waits again. If `Saying::is_patient` is set, provisioners wait without a limit.
const LINE_WAIT: Duration = Duration::from_secs(5);

/// The pause of a thread between two attempts to send a line.
const LINE_PAUSE: Duration = Duration::from_millis(10);

/// Sends the output lines of one provisioner.
#[derive(Clone, Debug)]
pub(crate) struct Saying {
    to: mpsc::Sender<RunLine>,
    run: RunId,
    address: String,
    provisioner: String,
    /// Whether each line is shown in this process. If so, a provisioner waits while the queue of lines is full.
    is_patient: bool,
    /// Whether the coordinator did not take the last line.
    absent: Arc<AtomicBool>,
}

impl Saying {
    /// Sends lines to the coordinator of the run.
    pub(crate) fn new(host: &Host, run: &RunId, address: &str, provisioner: &str) -> Saying {
        Saying {
            to: host.lines.clone(),
            run: run.clone(),
            address: address.to_owned(),
            provisioner: provisioner.to_owned(),
            is_patient: host.options.said.is_some(),
            absent: Arc::default(),
        }
    }

    fn line(&self, text: String) -> RunLine {
        let (address, provisioner) = (self.address.clone(), self.provisioner.clone());
        RunLine { run: self.run.clone(), line: OutputLine { address, provisioner, text } }
    }

    fn wait(&self) -> Duration {
        if self.absent.load(Ordering::Relaxed) { Duration::ZERO } else { LINE_WAIT }
    }

    /// Sends a line, if there is a listener.
    pub(crate) async fn say(&self, text: String) {
        let sending = self.to.send(self.line(text));
        if self.is_patient {
            // The receiver may have been dropped.
            let _ = sending.await;
            return;
        }
        let sent = timeout(self.wait(), sending).await;
        self.absent.store(sent.is_err(), Ordering::Relaxed);
    }

    /// Sends a line from outside the runtime.
    pub(crate) fn say_blocking(&self, text: String) {
        let mut line = self.line(text);
        if self.is_patient {
            // The receiver may have been dropped.
            let _ = self.to.blocking_send(line);
            return;
        }
        let end = Instant::now() + self.wait();
        loop {
            match self.to.try_send(line) {
                Err(TrySendError::Full(left)) if Instant::now() < end => line = left,
                sent => return self.absent.store(sent.is_err(), Ordering::Relaxed),
            }
            std::thread::sleep(LINE_PAUSE);
        }
    }
}
