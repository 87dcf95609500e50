//! Interrupts of a test: the first ends it in order, with cleaning up; the second as soon as possible, without.

use tokio::sync::watch;

use crate::signals::Attention;

/// How much the user wants the test to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// Not at all.
    GoOn,
    /// The run that goes on is the last, and everything is cleaned up.
    Stop,
    /// Nothing more is begun, not even cleaning up.
    Cancel,
}

/// What the user wants to end.
#[derive(Clone, Debug)]
pub struct Interrupts {
    wish: watch::Receiver<Wish>,
}

/// How many signals are taken in order; the next one ends the process.
const ORDERLY: usize = 2;

impl Interrupts {
    /// Takes signals from now on, for as long as anybody listens. `tell` is called at each.
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

    /// What is wished now.
    pub fn wish(&self) -> Wish {
        *self.wish.borrow()
    }

    /// Ends when nothing more is to be begun.
    pub async fn cancelled(&self) {
        let mut wish = self.wish.clone();
        if wish.wait_for(|wish| *wish == Wish::Cancel).await.is_err() {
            std::future::pending().await
        }
    }
}
