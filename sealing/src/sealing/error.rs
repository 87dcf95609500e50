//! Why something is not sealed, or not opened.

use crate::cipher::CipherError;
use crate::command::CommandError;
use crate::envelope::{EnvelopeError, LARGEST_PLAIN};
use crate::json::JsonProblem;
use crate::keyring::KeyError;
use crate::name::{MethodName, TargetName};
use crate::pbkdf2::RandomError;
use crate::record::{LONGEST_WRAPPED_KEY, RecordError};

/// A method does not encrypt or decrypt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// There is no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The key has a length that AES does not have.
    #[error("its key has {length} bytes, and has to have 16, 24 or 32")]
    KeyLength {
        /// Bytes of the key.
        length: usize,
    },
    /// What is to be encrypted is longer than the method takes at once.
    #[error("it is more than can be encrypted at once")]
    Long,
    /// What is to be decrypted is shorter than the shortest.
    #[error("what is encrypted is cut off")]
    Short,
    /// The key is not the one that encrypted it, or it was changed since.
    #[error("the key is another one than it was encrypted with, or it was changed since")]
    Wrong,
    /// The command does not do what it should.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The command makes more of a key than a record can hold.
    #[error("it makes {size} bytes of the key of records, and at most {LONGEST_WRAPPED_KEY} are kept")]
    LongWrappedKey {
        /// Bytes of the wrapped key.
        size: usize,
    },
    /// The key of records has no place in a record.
    #[error("the key of records cannot be kept: {0}")]
    RecordKey(RecordError),
    /// There are no random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
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

/// Something is not sealed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It is too large.
    #[error("cannot encrypt {target}: it has {size} bytes, at most {LARGEST_PLAIN} are accepted")]
    TooLarge {
        /// The target.
        target: TargetName,
        /// Its size.
        size: u64,
    },
    /// It is sealed already, so that opening it once would not give it back.
    #[error("cannot encrypt {target}: it is encrypted already")]
    AlreadySealed {
        /// The target.
        target: TargetName,
    },
    /// What should be a state has no serial and lineage.
    #[error("cannot encrypt state: it is no state, but {0}")]
    NotAState(JsonProblem),
    /// The main method fails.
    #[error("cannot encrypt {target} with {method}: {error}")]
    Method {
        /// The target.
        target: TargetName,
        /// The method.
        method: MethodName,
        /// Why.
        error: MethodError,
    },
}

/// A method that did not open something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{method}: {error}")]
pub struct Attempt {
    /// The method.
    pub method: MethodName,
    /// Why not.
    pub error: MethodError,
}

/// Something is not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It is sealed, and nothing is configured.
    #[error(
        "{target} is encrypted, and no encryption is configured for it; its keys are those of: {}",
        listed(.metadata_keys)
    )]
    NotConfigured {
        /// The target.
        target: TargetName,
        /// Under which keys it has metadata.
        metadata_keys: Vec<String>,
    },
    /// It is not sealed, and has to be.
    #[error(
        "{target} is not encrypted, and its settings demand that it is: to move to encryption, add a method \
         \"unencrypted\" as a fallback"
    )]
    PlainText {
        /// The target.
        target: TargetName,
    },
    /// No method opens it.
    #[error(
        "no method decrypts {target} (its keys are those of: {}){}", listed(.metadata_keys), tried(.attempts)
    )]
    NoMethodOpens {
        /// The target.
        target: TargetName,
        /// Each method that encrypts, in order.
        attempts: Vec<Attempt>,
        /// Under which keys it has metadata.
        metadata_keys: Vec<String>,
    },
    /// The envelope cannot be read.
    #[error("{target} is encrypted, and its envelope cannot be used: {error}")]
    Envelope {
        /// The target.
        target: TargetName,
        /// What is wrong with it.
        error: EnvelopeError,
    },
    /// The record cannot be read.
    #[error("a record of {target} is encrypted, and cannot be used: {error}")]
    Record {
        /// The target.
        target: TargetName,
        /// What is wrong with it.
        error: RecordError,
    },
    /// What should be a state has no serial and lineage inside.
    #[error("{target} was decrypted, and is no state, but {problem}")]
    NotAState {
        /// The target.
        target: TargetName,
        /// What is wrong with it.
        problem: JsonProblem,
    },
    /// The serial outside, which anybody can change, is not the one inside.
    #[error("{target} has serial {outer} outside of what is encrypted and {inner} inside: the file was changed")]
    Serial {
        /// The target.
        target: TargetName,
        /// In the envelope.
        outer: u64,
        /// In the state.
        inner: u64,
    },
    /// The lineage outside, which anybody can change, is not the one inside.
    #[error("{target} has lineage {outer:?} outside of what is encrypted and {inner:?} inside: the file was changed")]
    Lineage {
        /// The target.
        target: TargetName,
        /// In the envelope.
        outer: String,
        /// In the state.
        inner: String,
    },
}

fn listed(keys: &[String]) -> String {
    if keys.is_empty() {
        return "no key provider".to_owned();
    }
    // Anybody may have written them: quoted, so that they steer no terminal.
    keys.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", ")
}

fn tried(attempts: &[Attempt]) -> String {
    if attempts.is_empty() {
        return ": it has no method that encrypts".to_owned();
    }
    attempts.iter().map(|attempt| format!("\n- {attempt}")).collect()
}
