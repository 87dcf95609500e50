//! SIGINT and SIGTERM: the first drains, the second leaves.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use weft_coordinator::Cancel;

use crate::exit::Exit;

/// After the second signal the process ends within five seconds; this is how long the orderly way may take.
const LEAVE_WITHIN: Duration = Duration::from_secs(4);
/// Signals that wait for a run.
const WAITING: usize = 4;

/// Passes signals on as wishes to end, and says so once for each with `tell`. After the second one the process ends, if
/// not by itself then by force.
pub fn forward(tell: impl Fn(Cancel) + Send + 'static) -> mpsc::Receiver<Cancel> {
    let (wishes, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            tracing::warn!("signals cannot be caught; they end the process at once");
            return;
        };
        for wish in [Cancel::Drain, Cancel::Leave] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            tell(wish);
            // A run that has ended takes no wishes any more.
            let _ = wishes.send(wish).await;
        }
        tokio::time::sleep(LEAVE_WITHIN).await;
        std::process::exit(i32::from(Exit::FAILED.0));
    });
    receiver
}

/// Ends when the process is asked to.
pub async fn asked_to_end() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
