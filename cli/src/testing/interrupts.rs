//! Interrupts of a test. The first one ends the test gracefully, with cleanup. The second one ends it as soon as
//! possible, without cleanup.

use tokio::sync::watch;

use crate::signals::Attention;

/// What the user has requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// To continue.
    GoOn,
    /// To finish the current run, then clean up.
    Stop,
    /// To end as soon as possible, without cleanup.
    Cancel,
}

/// The interrupts that were received so far.
#[derive(Clone, Debug)]
pub struct Interrupts {
    wish: watch::Receiver<Wish>,
}

/// The number of signals that are handled gracefully. The next one ends the process.
const ORDERLY: usize = 2;

impl Interrupts {
    /// Begins to receive signals. Calls `tell` for each of them.
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

    /// The current request of the user.
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
