//! Errors of sealing and opening.

use crate::cipher::CipherError;
use crate::command::CommandError;
use crate::envelope::{EnvelopeError, LARGEST_PLAIN};
use crate::json::JsonProblem;
use crate::keyring::KeyError;
use crate::name::{MethodName, TargetName};
use crate::pbkdf2::RandomError;
use crate::record::{LONGEST_WRAPPED_KEY, RecordError};

/// Why a method cannot encrypt or decrypt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// The key provider returned no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The key has a length that AES does not support.
    #[error("its key has {length} bytes, but must have 16, 24 or 32")]
    KeyLength {
        /// The length in bytes.
        length: usize,
    },
    /// The plain text is longer than the method allows.
    #[error("the data is too long to be encrypted in one piece")]
    Long,
    /// The ciphertext is too short.
    #[error("the ciphertext is truncated")]
    Short,
    /// The key is wrong, or the ciphertext was changed.
    #[error("it was encrypted with a different key, or it was changed since")]
    Wrong,
    /// The command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The record key that the command wrapped is too long for a record.
    #[error("the wrapped record key has {size} bytes, but at most {LONGEST_WRAPPED_KEY} are allowed")]
    LongWrappedKey {
        /// The length of the wrapped key.
        size: usize,
    },
    /// The record key cannot be stored in a record.
    #[error("a record cannot contain the wrapped key: {0}")]
    RecordKey(RecordError),
    /// The operating system has no random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl MethodError {
    /// Whether the reason is a key service that returned no key.
    fn lacks_key(&self) -> bool {
        matches!(self, MethodError::Key(KeyError::Service { .. }))
    }
}

impl From<CipherError> for MethodError {
    fn from(error: CipherError) -> MethodError {
        match error {
            CipherError::Random(error) => MethodError::Random(error),
            CipherError::Long => MethodError::Long,
            CipherError::Short => MethodError::Short,
            CipherError::Wrong => MethodError::Wrong,
        }
    }
}

/// Why data cannot be sealed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The data is too large.
    #[error("cannot encrypt {target}: it has {size} bytes, but at most {LARGEST_PLAIN} are accepted")]
    TooLarge {
        /// The target.
        target: TargetName,
        /// The size of the data.
        size: u64,
    },
    /// The data is already sealed. Sealed data is never sealed again, because opening it once would not return the
    /// plain text.
    #[error("cannot encrypt {target}: it is already encrypted")]
    AlreadySealed {
        /// The target.
        target: TargetName,
    },
    /// The data is not a state with serial and lineage.
    #[error("cannot encrypt state: the data is not a state: it is {0}")]
    NotAState(JsonProblem),
    /// The main method fails.
    #[error("cannot encrypt {target} with {method}: {error}")]
    Method {
        /// The target.
        target: TargetName,
        /// The method.
        method: MethodName,
        /// The reason.
        error: MethodError,
    },
}

impl SealError {
    /// Whether the reason is a key service that returned no key.
    pub fn lacks_key(&self) -> bool {
        matches!(self, SealError::Method { error, .. } if error.lacks_key())
    }
}

/// A method that could not open the data, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{method}: {error}")]
pub struct FailedMethod {
    /// The method.
    pub method: MethodName,
    /// The reason.
    pub error: MethodError,
}

/// Why data cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The data is sealed, but no encryption is configured.
    #[error(
        "{target} is encrypted, but no encryption is configured for it; it was encrypted with keys of: {}",
        listed(.metadata_keys)
    )]
    NotConfigured {
        /// The target.
        target: TargetName,
        /// The names of the metadata entries. Each name identifies a key provider.
        metadata_keys: Vec<String>,
    },
    /// The data is plain text, but the settings require sealed data.
    #[error(
        "{target} is not encrypted, but its settings require encryption: to migrate, add a method \
         \"unencrypted\" as a fallback"
    )]
    PlainText {
        /// The target.
        target: TargetName,
    },
    /// No method opens the data.
    #[error(
        "no configured method can decrypt {target} (encrypted with keys of: {}){}",
        listed(.metadata_keys),
        tried(.attempts)
    )]
    NoMethodOpens {
        /// The target.
        target: TargetName,
        /// The methods that were tried, in this order. Methods that do not encrypt are absent.
        attempts: Vec<FailedMethod>,
        /// The names of the metadata entries. Each name identifies a key provider.
        metadata_keys: Vec<String>,
    },
    /// The envelope is not valid.
    #[error("{target} is encrypted, but its envelope cannot be used: {error}")]
    Envelope {
        /// The target.
        target: TargetName,
        /// The problem.
        error: EnvelopeError,
    },
    /// The record is not valid.
    #[error("a record of {target} is encrypted, but cannot be used: {error}")]
    Record {
        /// The target.
        target: TargetName,
        /// The problem.
        error: RecordError,
    },
    /// The plain text is not a state with serial and lineage.
    #[error("{target} was decrypted, but it is not a state: it is {problem}")]
    NotAState {
        /// The target.
        target: TargetName,
        /// The problem.
        problem: JsonProblem,
    },
    /// The serial in the envelope, which is not authenticated, differs from the serial in the state.
    #[error("{target} has serial {outer} outside of the encrypted part and {inner} inside: the file was changed")]
    Serial {
        /// The target.
        target: TargetName,
        /// The value in the envelope.
        outer: u64,
        /// The value in the state.
        inner: u64,
    },
    /// The lineage in the envelope, which is not authenticated, differs from the lineage in the state.
    #[error("{target} has lineage {outer:?} outside of the encrypted part and {inner:?} inside: the file was changed")]
    Lineage {
        /// The target.
        target: TargetName,
        /// The value in the envelope.
        outer: String,
        /// The value in the state.
        inner: String,
    },
}

impl OpenError {
    /// Whether the reason may be a key service that returned no key.
    pub fn lacks_key(&self) -> bool {
        matches!(self, OpenError::NoMethodOpens { attempts, .. } if attempts.iter().any(|a| a.error.lacks_key()))
    }
}

fn listed(keys: &[String]) -> String {
    if keys.is_empty() {
        return "no key provider".to_owned();
    }
    // The keys may come from an untrusted file. They are quoted, so that they cannot control a terminal.
    keys.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", ")
}

fn tried(attempts: &[FailedMethod]) -> String {
    if attempts.is_empty() {
        return ": the settings have no method that encrypts".to_owned();
    }
    attempts.iter().map(|attempt| format!("\n- {attempt}")).collect()
}
