//! Repeating requests that failed for a reason that may pass.

use std::future::Future;
use std::time::Duration;

/// How often, and after which pauses, a request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRetries {
    /// The maximum number of repetitions.
    pub repeats: u32,
    /// The first pause. It is doubled each time.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

/// The result of one attempt.
pub enum AttemptResult<T, E> {
    /// It is final, good or bad.
    Final(Result<T, E>),
    /// Another attempt may succeed, at the earliest after this time if the server has named one.
    Again(E, Option<Duration>),
}

impl RequestRetries {
    /// The pause before a repetition, from 0.
    fn pause(&self, repetition: u32) -> Duration {
        let factor = 2u32.saturating_pow(repetition.min(31));
        self.first.saturating_mul(factor).min(self.longest)
    }

    /// Makes attempts until one is final or none is left. `attempt` gets its number, from 1.
    pub async fn run<T, E, Work>(&self, mut attempt: impl FnMut(u32) -> Work) -> Result<T, E>
    where
        Work: Future<Output = AttemptResult<T, E>>,
    {
        let mut repetition = 0;
        loop {
            match attempt(repetition + 1).await {
                AttemptResult::Final(answer) => return answer,
                AttemptResult::Again(error, _) if repetition >= self.repeats => return Err(error),
                AttemptResult::Again(_, wanted) => {
                    let pause = wanted.unwrap_or_default().min(self.longest).max(self.pause(repetition));
                    tokio::time::sleep(pause + jitter(pause)).await;
                    repetition += 1;
                }
            }
        }
    }
}

/// A random part of up to a tenth of a pause, so that many clients do not come back at once.
fn jitter(pause: Duration) -> Duration {
    let mut bytes = [0; 1];
    // Without random bytes, there is no jitter.
    let _ = getrandom::fill(&mut bytes);
    pause.mul_f64(f64::from(bytes[0]) / 255.0 / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: RequestRetries =
        RequestRetries { repeats: 3, first: Duration::from_millis(1), longest: Duration::from_millis(3) };

    #[tokio::test]
    async fn attempts_end_at_the_first_final_answer() {
        for (good_after, want) in [(1, Ok(1)), (4, Ok(4)), (5, Err(4))] {
            let answer = RULE
                .run(|number| async move {
                    match number >= good_after {
                        true => AttemptResult::Final(Ok(number)),
                        false => AttemptResult::Again(number, None),
                    }
                })
                .await;
            assert_eq!(answer, want, "{good_after}");
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let millis: Vec<u128> = (0..4).map(|number| RULE.pause(number).as_millis()).collect();
        assert_eq!(millis, [1, 2, 3, 3]);
        assert_eq!(RULE.pause(u32::MAX), RULE.longest);
    }
}
