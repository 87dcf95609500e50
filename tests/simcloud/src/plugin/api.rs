//! Calls of the cloud that are repeated where that is safe, and given up when the provider is stopped.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value as Json;
use tokio::sync::{Semaphore, watch};

use crate::client::{Answer, Client, ClientError};

/// Calls at once, so that an engine of any width leaves the process files to open.
const MAX_CALLS: usize = 256;

/// The first pause before a repetition; each further one is twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a call waits out a region's request rate. A refused request has had no effect, so only patience ends it.
const RATE_PATIENCE: Duration = Duration::from_secs(600);

/// How long a change under way may take once the provider is stopped: its outcome is worth waiting for.
const STOP_GRACE: Duration = Duration::from_secs(3);

/// What a repetition of a call would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Nothing more than the first time, and a read changes nothing at all.
    Read,
    /// Nothing more than the first time.
    Safe,
    /// Perhaps the same once more.
    Unsafe,
}

/// Why a call has no answer to use.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// The cloud refuses.
    #[error("the cloud answered {status}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// A word for programs.
        code: String,
        /// In words.
        message: String,
        /// The field to blame.
        field: Option<String>,
    },
    /// The call was not carried out.
    #[error("{0}")]
    NotDone(String),
    /// The call may have been carried out.
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

/// How one try ended.
enum Try {
    Answered(Answer),
    Failed(ClientError),
    TimedOut,
    Stopped,
}

impl Api {
    /// `stopped` turns true once, when the engine asks to stop.
    pub fn new(client: Client, retries: u32, timeout: Duration, stopped: watch::Receiver<bool>) -> Api {
        Api { client, retries, timeout, places: Semaphore::new(MAX_CALLS), stopped }
    }

    /// The cloud's URL.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// Calls, repeating what may be repeated. Gives the JSON of a success; null where there is no body.
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
                // Without repetitions, the engine has to have patience.
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

    /// Waits until a stop was asked for, and some time longer.
    async fn stop_asked(&self, grace: Duration) {
        let mut stopped = self.stopped.clone();
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            // Nobody is left to ask.
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(grace).await;
    }

    /// Waits before a repetition: longer each time, at least as long as the cloud asks, never just as long as others.
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
