//! Encryption of states and plans as OpenTofu 1.12 has it, and of small records of our own by the same settings.
//!
//! Reading order:
//! - The settings of an `encryption` block are plain data: [`name`]s, [`key_provider`]s, [`method`]s with targets, and
//!   all of them as [`settings`], which know everything that can be wrong with them. A [`secret`] is wiped and hidden.
//! - [`sealing`] is what a program holds: [`Sealing`] seals and opens states, plans and records.
//! - Below it, `keyring` makes keys for sealing and finds those for opening: by [`pbkdf2`], or from a command
//!   ([`external`], over the protocol of [`command`]). `cipher` is AES-GCM.
//! - [`envelope`] is OpenTofu's file, [`record`] our compact form for many small things.
//!
//! What a caller must know: everything blocks, a derivation for some tenths of a second, a command for up to
//! [`command::COMMAND_TIME`]. A target that is not configured passes plain text and refuses what is sealed. No error
//! says a secret. Encryption does not protect against older data put in the place of newer.
//!
//! Absent here: reading the block and evaluating it, merging `TF_ENCRYPTION`, which name a remote state has; key
//! providers that are services (AWS, GCP, Azure, OpenBao).

#![forbid(unsafe_code)]

mod cipher;
mod keyring;

pub mod command;
pub mod envelope;
pub mod external;
pub mod json;
pub mod key_provider;
pub mod method;
pub mod name;
pub mod pbkdf2;
pub mod record;
pub mod sealing;
pub mod secret;
pub mod settings;

pub use command::{CommandError, OutputProblem};
pub use envelope::{EnvelopeError, is_sealed, is_sealed_state};
pub use json::JsonProblem;
pub use key_provider::{
    HashFunction, KeyProvider, KeySource, Passphrase, Pbkdf2, Pbkdf2Problem, Pbkdf2Setting, UnknownHashFunction,
};
pub use keyring::KeyError;
pub use method::{Method, Target};
pub use name::{Declared, KeyProviderName, MethodName, TargetName};
pub use pbkdf2::{MetadataProblem, RandomError};
pub use record::{RecordError, is_sealed_record};
pub use sealing::{Attempt, MethodError, OpenError, Opened, SealError, Sealing, Through};
pub use secret::Secret;
pub use settings::{Settings, SettingsProblem};
pub use zeroize::Zeroizing;
