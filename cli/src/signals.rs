//! Handles SIGINT and SIGTERM in the same way. During a run, the first signal drains, the second signal asks providers
//! to stop, and the third signal quits immediately.
//!
//! A command that can end gracefully creates an [`Attention`]. The latest [`Attention`] receives the signals. If there
//! is no [`Attention`], a signal ends the process immediately. A dedicated thread waits for signals, so that they work
//! while tasks keep all other threads busy.

use std::sync::Once;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use weft_coordinator::Cancel;

use crate::exit::Exit;

/// The time for a graceful end after the last graceful signal. Then the process ends. Providers have five seconds. The
/// rest is for the store and for ending the provider processes.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);
/// The requests to a run: to drain, then to stop.
const WISHES: [Cancel; 2] = [Cancel::Drain, Cancel::Stop];

/// The receivers of signals.
static WATCH: Mutex<Watch> = Mutex::new(Watch { attentions: Vec::new(), holds: 0, held: 0, begun: 0 });
/// Starts the thread that waits for signals.
static START: Once = Once::new();

struct Watch {
    /// The listeners. The last one receives the signals.
    attentions: Vec<SignalListener>,
    /// The number of existing [`Hold`]s.
    holds: usize,
    /// The number of signals that arrived while there was a [`Hold`] but no [`Attention`].
    held: usize,
    /// The number of [`Attention`]s that were created so far.
    begun: u64,
}

/// The side of an [`Attention`] through which signals are sent to it.
struct SignalListener {
    id: u64,
    /// The number of signals that the listener will still accept.
    left: usize,
    signals: mpsc::UnboundedSender<()>,
}

/// The response to a signal.
#[derive(Debug, PartialEq, Eq)]
enum SignalResponse {
    /// The process ends immediately.
    End,
    /// A listener handles the signal gracefully.
    Go,
    /// The [`Attention`] with this id has received its last signal. The process ends after [`LEAVE_WITHIN`].
    Last(u64),
}

impl Watch {
    fn signal(&mut self) -> SignalResponse {
        match self.attentions.last_mut() {
            Some(listener) if listener.left > 0 && listener.signals.send(()).is_ok() => {
                listener.left -= 1;
                if listener.left == 0 { SignalResponse::Last(listener.id) } else { SignalResponse::Go }
            }
            None if self.holds > 0 && self.held == 0 => {
                self.held += 1;
                SignalResponse::Go
            }
            _ => SignalResponse::End,
        }
    }

    fn has(&self, id: u64) -> bool {
        self.attentions.iter().any(|listener| listener.id == id)
    }
}

/// Receives signals while it exists.
#[derive(Debug)]
pub struct Attention {
    id: u64,
    signals: mpsc::UnboundedReceiver<()>,
}

impl Attention {
    /// Begins to accept signals. `orderly` is the number of accepted signals. A signal that arrived during a [`Hold`]
    /// is delivered immediately. The signal after the last accepted one ends the process, and so does a timeout after
    /// the last accepted one.
    pub fn begin(orderly: usize) -> Attention {
        watch();
        let (sender, signals) = mpsc::unbounded_channel();
        let mut watch = WATCH.lock();
        watch.begun += 1;
        let id = watch.begun;
        let held = std::mem::take(&mut watch.held).min(orderly);
        for _ in 0..held {
            // Sending cannot fail, because the receiver exists.
            let _ = sender.send(());
        }
        watch.attentions.push(SignalListener { id, left: orderly - held, signals: sender });
        Attention { id, signals }
    }

    /// Completes at the next signal. If the process cannot handle signals, this never completes, because signals end
    /// the process.
    pub async fn next(&mut self) {
        if self.signals.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        WATCH.lock().attentions.retain(|listener| listener.id != self.id);
    }
}

/// While this value exists, a signal that arrives when there is no [`Attention`] is stored for the next [`Attention`].
/// At most one signal is stored.
#[derive(Debug)]
pub struct Hold(());

impl Hold {
    /// Begins to store signals.
    pub fn begin() -> Hold {
        watch();
        WATCH.lock().holds += 1;
        Hold(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        WATCH.lock().holds -= 1;
    }
}

/// Starts the thread that waits for signals, once. Returns when the thread is ready.
fn watch() {
    START.call_once(|| {
        let (ready, watches) = std::sync::mpsc::channel();
        let spawned = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            // Without a runtime nothing handles the signals, and they have their default effect.
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                let caught = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
                let (Ok(interrupt), Ok(terminate)) = caught else {
                    tracing::warn!("signals cannot be caught; they end the process at once");
                    return;
                };
                let _ = ready.send(());
                pass_on(interrupt, terminate).await;
            });
        });
        if spawned.is_ok() {
            // An error means that the thread has ended and nothing handles the signals.
            let _ = watches.recv();
        }
    });
}

async fn pass_on(mut interrupt: Signal, mut terminate: Signal) {
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let step = WATCH.lock().signal();
        match step {
            SignalResponse::Go => {}
            SignalResponse::End => end(),
            SignalResponse::Last(id) => drop(tokio::spawn(async move {
                tokio::time::sleep(LEAVE_WITHIN).await;
                if WATCH.lock().has(id) {
                    end();
                }
            })),
        }
    }
}

fn end() -> ! {
    std::process::exit(i32::from(Exit::FAILED.0));
}

/// Forwards signals as requests to end a run. The third signal, or a timeout after the second one, ends the process.
pub fn forward() -> mpsc::Receiver<Cancel> {
    let (wishes, receiver) = mpsc::channel(WISHES.len());
    let mut attention = Attention::begin(WISHES.len());
    tokio::spawn(async move {
        for wish in WISHES {
            tokio::select! {
                () = attention.next() => {}
                // A run that has ended accepts no requests.
                () = wishes.closed() => return,
            }
            let _ = wishes.send(wish).await;
        }
        wishes.closed().await;
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(id: u64, left: usize) -> (SignalListener, mpsc::UnboundedReceiver<()>) {
        let (signals, receiver) = mpsc::unbounded_channel();
        (SignalListener { id, left, signals }, receiver)
    }

    fn nobody() -> Watch {
        Watch { attentions: Vec::new(), holds: 0, held: 0, begun: 0 }
    }

    #[test]
    fn a_signal_without_a_listener_ends_the_process() {
        assert_eq!(nobody().signal(), SignalResponse::End);
    }

    #[test]
    fn the_latest_listener_gets_its_signals_and_the_next_one_ends_the_process() {
        let mut watch = nobody();
        let (outer, mut from_outer) = listener(1, 2);
        let (inner, mut from_inner) = listener(2, 2);
        watch.attentions.extend([outer, inner]);
        assert_eq!(
            [watch.signal(), watch.signal(), watch.signal()],
            [SignalResponse::Go, SignalResponse::Last(2), SignalResponse::End]
        );
        assert!(from_outer.try_recv().is_err());
        assert_eq!(std::iter::from_fn(|| from_inner.try_recv().ok()).count(), 2);
    }

    #[test]
    fn a_hold_keeps_one_signal() {
        let mut watch = Watch { holds: 1, ..nobody() };
        assert_eq!([watch.signal(), watch.signal()], [SignalResponse::Go, SignalResponse::End]);
        assert_eq!(watch.held, 1);
    }
}
