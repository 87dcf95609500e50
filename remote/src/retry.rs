//! Retries of a connection.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::error::{AttemptError, ConnectError};

/// The pause before the second attempt. It doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The maximum pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// Repeats attempts until one succeeds or `limit` has passed. An attempt that is still running at that time is
/// canceled.
pub(crate) async fn until<T, F>(limit: Duration, mut attempt: impl FnMut() -> F) -> Result<T, ConnectError>
where
    F: Future<Output = Result<T, AttemptError>>,
{
    let began = Instant::now();
    // A limit that the clock cannot represent is replaced by a very long one.
    let end = began.checked_add(limit).unwrap_or_else(|| began + Duration::from_secs(u32::MAX.into()));
    let mut last = AttemptError::Silent;
    let mut pause = FIRST_PAUSE;
    loop {
        match timeout_at(end, attempt()).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => {
                tracing::debug!(%error, "no connection");
                last = error;
            }
            Err(_) => return Err(ConnectError { waited: limit, last }),
        }
        if timeout_at(end, sleep(pause)).await.is_err() {
            return Err(ConnectError { waited: limit, last });
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::TcpError;

    fn refused(count: i32) -> AttemptError {
        AttemptError::Tcp(TcpError::Refused {
            place: format!("attempt {count}"),
            error: std::io::Error::other("refused"),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_repeated_until_the_limit() {
        let mut count = 0;
        let found = until(Duration::from_secs(10), || {
            count += 1;
            let outcome = if count == 4 { Ok(count) } else { Err(refused(count)) };
            async move { outcome }
        });
        assert_eq!(found.await.unwrap(), 4);
        let mut count = 0;
        let failed = until::<(), _>(Duration::from_secs(10), || {
            count += 1;
            let error = refused(count);
            async move { Err(error) }
        });
        // The attempts begin after 0, 1, 3 and 7 seconds.
        assert_eq!(
            failed.await.unwrap_err().to_string(),
            "timeout after 10s without a connection - last error: dial tcp attempt 4: refused"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_hangs_is_given_up() {
        let failed = until::<(), _>(Duration::from_secs(3), std::future::pending);
        assert!(failed.await.unwrap_err().to_string().ends_with("the host does not respond"));
        let failed = until::<(), _>(Duration::ZERO, || async { Err(refused(1)) });
        assert!(failed.await.unwrap_err().to_string().starts_with("timeout after 0ns"));
    }
}
