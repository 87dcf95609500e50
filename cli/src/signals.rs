//! SIGINT and SIGTERM: the first drains, the second asks providers to stop, the third leaves at once.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use weft_coordinator::Cancel;

use crate::exit::Exit;

/// How long the orderly way may take after the second signal, before the process ends by force: providers have five
/// seconds, the store and the ends of processes what is left.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);
/// Signals that wait for a run.
const WAITING: usize = 4;

/// Signals that ask the process to end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// None where they cannot be caught: they end the process then.
    fn new() -> Option<Signals> {
        let caught = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        let (Ok(interrupt), Ok(terminate)) = caught else {
            tracing::warn!("signals cannot be caught; they end the process at once");
            return None;
        };
        Some(Signals { interrupt, terminate })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Passes signals on as wishes to end. With the third one, and some time after the second, the process ends by force.
pub fn forward() -> mpsc::Receiver<Cancel> {
    let (wishes, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let Some(mut signals) = Signals::new() else { return };
        for wish in [Cancel::Drain, Cancel::Stop] {
            signals.next().await;
            // A run that has ended takes no wishes any more.
            let _ = wishes.send(wish).await;
        }
        tokio::select! {
            () = signals.next() => {}
            () = tokio::time::sleep(LEAVE_WITHIN) => {}
        }
        std::process::exit(i32::from(Exit::FAILED.0));
    });
    receiver
}

/// Ends when the process is asked to.
pub async fn asked_to_end() {
    match Signals::new() {
        Some(mut signals) => signals.next().await,
        None => std::future::pending().await,
    }
}
