//! Calls of the cloud. They are retried if that is safe, and canceled when the provider is stopped.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value as Json;
use tokio::sync::{Semaphore, watch};

use crate::client::{Answer, Client, ClientError};

/// The maximum number of concurrent calls, so that some file descriptors stay free however many calls the engine makes.
const MAX_CALLS: usize = 256;

/// The first pause before a retry. It doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The maximum time that a call waits because of the rate limit of a region. A refused request has no effect, so it can
/// always be retried.
const RATE_PATIENCE: Duration = Duration::from_secs(600);

/// The time that a change in progress gets after the provider is stopped, because its outcome is worth the wait.
const STOP_GRACE: Duration = Duration::from_secs(3);

/// The consequence of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// No effect, because the call only reads.
    Read,
    /// No further effect after the first one.
    Safe,
    /// Possibly a second effect.
    Unsafe,
}

/// Why a call has no usable response.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// The cloud refused the call.
    #[error("the cloud answered {status}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The code, for programs.
        code: String,
        /// The message, for users.
        message: String,
        /// The field at fault.
        field: Option<String>,
    },
    /// The call was not executed.
    #[error("{0}")]
    NotDone(String),
    /// The call may have been executed.
    #[error("{0}")]
    Uncertain(String),
}

/// The cloud's interface.
#[derive(Debug)]
pub struct Api {
    client: Client,
    retries: u32,
    timeout: Duration,
    places: Semaphore,
    stopped: watch::Receiver<bool>,
}

/// The outcome of one attempt.
enum Try {
    Answered(Answer),
    Failed(ClientError),
    TimedOut,
    Stopped,
}

impl Api {
    /// Creates the interface. `stopped` becomes true once, when the engine asks to stop.
    pub fn new(client: Client, retries: u32, timeout: Duration, stopped: watch::Receiver<bool>) -> Api {
        Api { client, retries, timeout, places: Semaphore::new(MAX_CALLS), stopped }
    }

    /// The cloud's URL.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// Calls the cloud, and retries if that is safe. Returns the JSON of a success, or null if there is no body.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Json>,
        repeat: Repeat,
    ) -> Result<Json, ApiError> {
        let _place = self.places.acquire().await.map_err(|_| ApiError::NotDone("the provider ends".to_owned()))?;
        let begun = Instant::now();
        let (mut failures, mut refusals) = (0, 0);
        loop {
            let at_least = match self.try_once(&method, path, body, repeat).await {
                Try::Answered(answer) if (200..300).contains(&answer.status) => return json(&answer),
                // If retries are disabled, the engine itself must wait.
                Try::Answered(answer)
                    if answer.status == 429 && self.retries > 0 && begun.elapsed() < RATE_PATIENCE =>
                {
                    refusals += 1;
                    answer.retry_after
                }
                Try::Answered(answer) if answer.status == 503 && failures < self.retries => {
                    failures += 1;
                    answer.retry_after
                }
                Try::Answered(answer) => return Err(refused(&answer)),
                Try::Failed(ClientError::Unreachable { .. }) if failures < self.retries => {
                    failures += 1;
                    None
                }
                Try::Failed(ClientError::Lost { .. }) if repeat != Repeat::Unsafe && failures < self.retries => {
                    failures += 1;
                    None
                }
                Try::Failed(error @ ClientError::Lost { .. }) if repeat != Repeat::Read => {
                    return Err(ApiError::Uncertain(format!("{error}.")));
                }
                Try::Failed(error) => return Err(ApiError::NotDone(format!("{error}."))),
                Try::TimedOut => {
                    let text = format!("{} did not answer within {:?}.", self.client.url(), self.timeout);
                    return Err(uncertain_unless_read(repeat, text));
                }
                Try::Stopped => {
                    let text = "The provider was stopped before the cloud answered.".to_owned();
                    return Err(uncertain_unless_read(repeat, text));
                }
            };
            self.pause(failures + refusals, at_least).await?;
        }
    }

    async fn try_once(&self, method: &Method, path: &str, body: Option<&Json>, repeat: Repeat) -> Try {
        tokio::select! {
            biased;
            outcome = self.client.send(method.clone(), path, body) => match outcome {
                Ok(answer) => Try::Answered(answer),
                Err(error) => Try::Failed(error),
            },
            () = self.stop_asked(if repeat == Repeat::Read { Duration::ZERO } else { STOP_GRACE }) => Try::Stopped,
            () = tokio::time::sleep(self.timeout) => Try::TimedOut,
        }
    }

    /// Waits until a stop is requested, and then for the grace period.
    async fn stop_asked(&self, grace: Duration) {
        let mut stopped = self.stopped.clone();
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            // The sender no longer exists, so no stop can be requested.
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(grace).await;
    }

    /// Waits before a retry: longer each time, at least as long as the cloud requests, and with a random part so that
    /// calls do not coincide.
    async fn pause(&self, number: u32, at_least: Option<Duration>) -> Result<(), ApiError> {
        let doubled = FIRST_PAUSE.saturating_mul(1 << number.saturating_sub(1).min(16)).min(LONGEST_PAUSE);
        let spread = (uuid::Uuid::new_v4().as_u128() % 1000) as f64 / 1000.0;
        let length = at_least.unwrap_or_default() + doubled.mul_f64(0.5 + spread / 2.0);
        tokio::select! {
            () = tokio::time::sleep(length) => Ok(()),
            () = self.stop_asked(Duration::ZERO) => {
                Err(ApiError::NotDone("The provider was stopped while it waited to repeat a request.".to_owned()))
            }
        }
    }
}

fn uncertain_unless_read(repeat: Repeat, text: String) -> ApiError {
    if repeat == Repeat::Read { ApiError::NotDone(text) } else { ApiError::Uncertain(text) }
}

fn json(answer: &Answer) -> Result<Json, ApiError> {
    if answer.body.is_empty() {
        return Ok(Json::Null);
    }
    serde_json::from_slice(&answer.body)
        .map_err(|error| ApiError::Uncertain(format!("The cloud's answer is not JSON: {error}.")))
}

fn refused(answer: &Answer) -> ApiError {
    let body: Json = serde_json::from_slice(&answer.body).unwrap_or(Json::Null);
    let text = |name: &str| body.get(name).and_then(Json::as_str).map(str::to_owned);
    let message = text("message").unwrap_or_else(|| String::from_utf8_lossy(&answer.body).into_owned());
    let code = text("code").unwrap_or_default();
    ApiError::Refused { status: answer.status, code, message, field: text("field") }
}
