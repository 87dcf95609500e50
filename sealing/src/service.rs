//! Keys from services, such as a key management service of a cloud.
//!
//! A service makes a data key and returns it in two forms: plain, and encrypted with a key that never leaves the
//! service. The encrypted form is the metadata. A client implements [`KeyService`]. The clients are in another crate
//! (`backends`).

use std::fmt;
use std::sync::Arc;

use crate::json::JsonProblem;
use crate::limits::LONGEST_METADATA;
use crate::secret::Secret;

/// A client of a service that manages keys. The client is shared among threads, and all calls block.
pub trait KeyService: fmt::Debug + Send + Sync {
    /// The length of the service's keys in bytes.
    fn key_length(&self) -> u64;

    /// Makes a key, and its metadata as JSON in OpenTofu's format for this service.
    ///
    /// # Errors
    /// Returns an error if the service returns no key.
    fn new_key(&self) -> Result<(Secret, Vec<u8>), ServiceError>;

    /// The key that this metadata describes. The metadata may come from an untrusted file.
    ///
    /// # Errors
    /// Returns an error if the metadata is invalid, or if the service does not return the key.
    fn key_of(&self, metadata: &[u8]) -> Result<Secret, ServiceError>;
}

/// Why a service returns no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The metadata was not written for this service.
    #[error("it is {0}")]
    Metadata(JsonProblem),
    /// The metadata has no key.
    #[error("it has no {0}")]
    NoKey(&'static str),
    /// This field of the metadata is not base64.
    #[error("its {0} is not base64")]
    Base64(&'static str),
    /// The metadata of a new key has this number of bytes, which is too many.
    #[error("its metadata has {0} bytes, but at most {LONGEST_METADATA} are accepted")]
    LongMetadata(usize),
    /// The request failed. The message contains no secrets.
    #[error("{0}")]
    Request(String),
}

/// A client of a service, or the problem of its settings. As in OpenTofu, the settings of an unused provider may be
/// invalid, so the problem is reported only if a target uses the provider.
#[derive(Clone, Debug)]
pub struct ServiceClient {
    /// The client, or a message about its settings, without secrets.
    pub client: Result<Arc<dyn KeyService>, String>,
}

impl ServiceClient {
    /// Makes a key and its metadata.
    pub(crate) fn new_key(&self) -> Result<(Secret, Vec<u8>), ServiceError> {
        let (key, metadata) = self.client()?.new_key()?;
        if metadata.len() > LONGEST_METADATA {
            return Err(ServiceError::LongMetadata(metadata.len()));
        }
        Ok((key, metadata))
    }

    /// The key that this metadata describes.
    pub(crate) fn key_of(&self, metadata: &[u8]) -> Result<Secret, ServiceError> {
        self.client()?.key_of(metadata)
    }

    fn client(&self) -> Result<&Arc<dyn KeyService>, ServiceError> {
        // The error is unreachable here: checked settings have a client.
        self.client.as_ref().map_err(|problem| ServiceError::Request(problem.clone()))
    }
}
