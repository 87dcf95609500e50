//! Retries requests that failed for a reason that may be temporary.

use std::future::Future;
use std::time::Duration;

/// The number of retries of a request, and the pauses before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRetries {
    /// The maximum number of retries.
    pub repeats: u32,
    /// The first pause. Each later pause is twice as long as the previous one.
    pub first: Duration,
    /// The maximum pause.
    pub longest: Duration,
}

/// The result of one attempt.
pub enum AttemptResult<T, E> {
    /// The result is final, whether success or failure.
    Final(Result<T, E>),
    /// Another attempt may succeed. If the server requested a pause, the second field has its length.
    Again(E, Option<Duration>),
}

impl RequestRetries {
    /// The pause before a retry. Retries are counted from 0.
    fn pause(&self, repetition: u32) -> Duration {
        let factor = 2u32.saturating_pow(repetition.min(31));
        self.first.saturating_mul(factor).min(self.longest)
    }

    /// Makes attempts until the result is final or all retries are used. `attempt` gets the number of the attempt,
    /// which is 1 at first.
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

/// A random duration of up to a tenth of a pause, so that many clients do not retry at the same time.
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
