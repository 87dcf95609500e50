//! The `pbkdf2` key provider: its metadata and the derivation of keys.
//!
//! Source of the names in the metadata: a recorded state (`conformance/cases/workflow/encryption-recorded-state`).

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use crate::json::JsonProblem;
use crate::key_provider::{HashFunction, LONGEST_KEY, LONGEST_SALT, Pbkdf2, Pbkdf2Problem, Sizes, UnknownHashFunction};
use crate::secret::Secret;
use crate::service::ServiceError;

/// Why the metadata of a key provider is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataProblem {
    /// The metadata cannot be parsed.
    #[error("it is {0}")]
    Json(JsonProblem),
    /// The salt is not base64.
    #[error("its salt is not base64")]
    Salt,
    /// The hash function is unknown.
    #[error(transparent)]
    HashFunction(#[from] UnknownHashFunction),
    /// The metadata was not written for this service.
    #[error(transparent)]
    Service(ServiceError),
    /// A value is out of bounds.
    #[error(transparent)]
    Bounds(#[from] Pbkdf2Problem),
}

/// The operating system has no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system provided no random bytes")]
pub struct RandomError;

/// The parameters of a derivation, except the passphrase. They are within the bounds of [`Sizes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derivation {
    salt: Vec<u8>,
    sizes: Sizes,
}

/// The JSON of the metadata, with the fields in OpenTofu's order.
#[derive(Serialize, Deserialize)]
struct WrittenMetadata {
    salt: String,
    iterations: u64,
    hash_function: String,
    key_length: u64,
}

impl Derivation {
    /// A derivation with these settings, which must be within their bounds, and a new salt.
    pub(crate) fn with_new_salt(settings: &Pbkdf2) -> Result<Derivation, RandomError> {
        let sizes = settings.sizes();
        let mut salt = vec![0; sizes.salt_length.min(LONGEST_SALT) as usize];
        aws_lc_rs::rand::fill(&mut salt).map_err(|_| RandomError)?;
        Ok(Derivation { salt, sizes })
    }

    /// Parses metadata, which may come from an untrusted file.
    pub(crate) fn read(metadata: &[u8]) -> Result<Derivation, MetadataProblem> {
        let written: WrittenMetadata =
            serde_json::from_slice(metadata).map_err(|error| MetadataProblem::Json(JsonProblem::from(error)))?;
        let hash_function = written.hash_function.parse()?;
        let salt = BASE64_STANDARD.decode(&written.salt).map_err(|_| MetadataProblem::Salt)?;
        let sizes = Sizes {
            key_length: written.key_length,
            iterations: written.iterations,
            hash_function,
            salt_length: salt.len() as u64,
        };
        match sizes.problems().into_iter().next() {
            Some(problem) => Err(problem.into()),
            None => Ok(Derivation { salt, sizes }),
        }
    }

    /// The metadata as JSON.
    pub(crate) fn written(&self) -> Vec<u8> {
        let written = WrittenMetadata {
            salt: BASE64_STANDARD.encode(&self.salt),
            iterations: self.sizes.iterations,
            hash_function: self.sizes.hash_function.word().to_owned(),
            key_length: self.sizes.key_length,
        };
        // Text and numbers can always be encoded as JSON.
        serde_json::to_vec(&written).unwrap_or_default()
    }

    /// Whether a derivation with these settings would have the same parameters, except for the salt.
    pub(crate) fn is_by(&self, settings: &Pbkdf2) -> bool {
        self.sizes == settings.sizes()
    }

    /// Derives the key. This takes time: 0.3 s for 600,000 iterations.
    pub(crate) fn key(&self, passphrase: &Secret) -> Secret {
        let algorithm = match self.sizes.hash_function {
            HashFunction::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            HashFunction::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        };
        // The bounds guarantee that the value fits. The fallback for larger values is never weaker.
        let iterations = u32::try_from(self.sizes.iterations).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX);
        let mut key = vec![0; self.sizes.key_length.min(LONGEST_KEY) as usize];
        pbkdf2::derive(algorithm, iterations, &self.salt, passphrase.expose(), &mut key);
        Secret::new(key)
    }
}
