//! Clients of key services. The clients are async code, but the encryption of states calls them synchronously, from any
//! thread.

mod metadata;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;
use weft_graph_format::diagnostic::Diagnostic;
use weft_sealing::{KeyService, Secret, ServiceError};
use weft_state::remote::BackendError;

pub(crate) use metadata::Metadata;

/// The time limit for getting a key, including retries.
const LIMIT: Duration = Duration::from_secs(180);

/// A client, or the problems of its settings.
pub(crate) type Keeping = Result<Arc<dyn KeyService>, Vec<Diagnostic>>;

/// The implementation of a client: it makes keys and finds existing ones.
#[async_trait]
pub(crate) trait Keeper: fmt::Debug + Send + Sync {
    /// The length of keys in bytes.
    fn length(&self) -> u64;

    /// Makes a key and its metadata.
    async fn make(&self) -> Result<(Secret, Metadata), BackendError>;

    /// The key that this metadata describes.
    async fn find(&self, metadata: &Metadata) -> Result<Secret, BackendError>;
}

/// Makes the calls of a [`Keeper`] blocking.
#[derive(Debug)]
pub(crate) struct Blocking<K>(K);

impl<K: Keeper + 'static> Blocking<K> {
    /// The blocking client of this keeper.
    pub(crate) fn client(keeper: K) -> Arc<dyn KeyService> {
        Arc::new(Blocking(keeper))
    }
}

impl<K: Keeper> KeyService for Blocking<K> {
    fn key_length(&self) -> u64 {
        self.0.length()
    }

    fn new_key(&self) -> Result<(Secret, Vec<u8>), ServiceError> {
        let (key, metadata) = wait(self.0.make())?;
        Ok((key, metadata.written()))
    }

    fn key_of(&self, metadata: &[u8]) -> Result<Secret, ServiceError> {
        let metadata = Metadata::read(metadata)?;
        wait(self.0.find(&metadata))
    }
}

/// Waits for a result on a new thread. A new thread is necessary because the caller may be an async task, which must
/// not block on another future.
fn wait<T: Send>(answer: impl Future<Output = Result<T, BackendError>> + Send) -> Result<T, ServiceError> {
    let failed = |error: String| ServiceError::Request(error);
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let answer = runtime.block_on(async { timeout(LIMIT, answer).await });
        let answer = answer.map_err(|_| failed(format!("the service did not respond within {} s", LIMIT.as_secs())))?;
        answer.map_err(|error| failed(error.to_string().trim_end_matches(['.', ' ']).to_owned()))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("keys".to_owned()).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        thread.join().unwrap_or_else(|_| Err(failed("the request was cancelled".to_owned())))
    })
}

/// Makes a random key of this length in bytes.
///
/// # Errors
/// Returns an error if the operating system has no random bytes.
pub(crate) fn random_key(place: &str, length: u64) -> Result<Secret, BackendError> {
    let mut key = vec![0; usize::try_from(length).unwrap_or_default()];
    aws_lc_rs::rand::fill(&mut key).map_err(|_| BackendError::Refused {
        place: place.to_owned(),
        doing: "making a key",
        error: "the operating system provided no random bytes".to_owned(),
        advice: String::new(),
    })?;
    Ok(Secret::new(key))
}

/// The error if a required field of a response is missing, or is not valid.
pub(crate) fn damaged(place: &str, doing: &'static str, field: &str) -> BackendError {
    let error = format!("the response has no valid {field:?}");
    BackendError::Damaged { place: place.to_owned(), doing, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_can_wait_for_a_key() {
        let nap = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, BackendError>(5)
        };
        assert_eq!(wait(nap).unwrap(), 5);
        let broken = async { Err::<(), _>(BackendError::NoWorkspaces) };
        assert_eq!(wait(broken).unwrap_err().to_string(), "workspaces not supported");
    }
}
