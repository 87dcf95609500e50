//! Encryption of states and plans as in OpenTofu 1.12, and of small records of our own with the same settings.
//!
//! Reading order:
//! - The settings of an `encryption` block are plain data: [`name`]s, [`key_provider`]s, [`method`]s with targets, and
//!   [`settings`], which checks all of them. A [`secret`] is wiped from memory and never printed. [`limits`] has the
//!   maximum sizes that several modules share.
//! - [`sealing`] is the entry point: [`Sealing`] seals and opens states, plans and records.
//! - [`sealing`] uses `keyring`, which provides the keys for sealing and for opening. The keys come from [`pbkdf2`],
//!   from a command ([`external`], with the protocol of [`command`]), or from a [`service`]. `cipher` is AES-GCM.
//! - [`envelope`] is OpenTofu's file format, and [`record`] is our compact format for many small pieces of data.
//!
//! What a caller must know: all calls block. Deriving a key takes a few tenths of a second. A command may take up to
//! [`command::COMMAND_TIME`]. A service may take as long as its client allows. For a target that is not configured,
//! plain text is returned unchanged, and sealed data is refused. No error contains a secret. Encryption does not
//! protect against the replay of older data.
//!
//! This crate does not parse or evaluate the block, merge `TF_ENCRYPTION`, or name remote states. It does not contain
//! the clients of services (AWS, GCP, Azure, OpenBao) either: they are in the crate `backends`.

#![forbid(unsafe_code)]

mod cipher;
mod keyring;

pub mod command;
pub mod envelope;
pub mod external;
pub mod json;
pub mod key_provider;
pub mod limits;
pub mod method;
pub mod name;
pub mod pbkdf2;
pub mod record;
pub mod sealing;
pub mod secret;
pub mod service;
pub mod settings;

pub use command::{CommandError, OutputProblem};
pub use envelope::{EnvelopeError, is_sealed, is_sealed_state};
pub use json::JsonProblem;
pub use key_provider::{
    HashFunction, KeyProvider, KeySource, Passphrase, Pbkdf2, Pbkdf2Problem, Pbkdf2Setting, UnknownHashFunction,
};
pub use keyring::KeyError;
pub use method::{Method, Target};
pub use name::{KeyProviderName, MethodName, SealingPart, TargetName};
pub use pbkdf2::{MetadataProblem, RandomError};
pub use record::{RecordError, is_sealed_record};
pub use sealing::{FailedMethod, MethodError, OpenError, Opened, SealError, Sealing, Through};
pub use secret::Secret;
pub use service::{KeyService, ServiceClient, ServiceError};
pub use settings::{EncryptionSettings, SettingsProblem};
pub use zeroize::Zeroizing;
