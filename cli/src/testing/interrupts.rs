//! Interrupts of a test: the first ends it gracefully, with cleaning up; the second as soon as possible, without.

use tokio::sync::watch;

use crate::signals::Attention;

/// What the user has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// To continue.
    GoOn,
    /// To finish the current run, then clean up.
    Stop,
    /// To begin nothing more, not even cleaning up.
    Cancel,
}

/// The interrupts so far.
#[derive(Clone, Debug)]
pub struct Interrupts {
    wish: watch::Receiver<Wish>,
}

/// The number of signals that are handled gracefully. The next one ends the process.
const ORDERLY: usize = 2;

impl Interrupts {
    /// Receives signals from now on. Calls `tell` at each.
    pub fn begin(tell: impl Fn(Wish) + Send + 'static) -> Interrupts {
        let (sender, wish) = watch::channel(Wish::GoOn);
        let mut attention = Attention::begin(ORDERLY);
        tokio::spawn(async move {
            for wish in [Wish::Stop, Wish::Cancel] {
                tokio::select! {
                    () = attention.next() => {}
                    () = sender.closed() => return,
                }
                tell(wish);
                let _ = sender.send(wish);
            }
            sender.closed().await;
        });
        Interrupts { wish }
    }

    /// The current wish.
    pub fn wish(&self) -> Wish {
        *self.wish.borrow()
    }

    /// Completes when nothing more may begin.
    pub async fn cancelled(&self) {
        let mut wish = self.wish.clone();
        if wish.wait_for(|wish| *wish == Wish::Cancel).await.is_err() {
            std::future::pending().await
        }
    }
}
