//! Key providers as plain data, with the bounds of their settings.
//!
//! Facts (names, defaults, least values): OpenTofu's page "State and Plan Encryption", section "Key providers". The
//! greatest values are ours: what we seal with must also pass the limits for metadata that others may have touched.

use std::fmt;
use std::str::FromStr;

use crate::name::KeyProviderName;
use crate::secret::Secret;

/// Shortest passphrase, in characters.
pub const LEAST_PASSPHRASE: u64 = 16;

/// Fewest iterations that are configured. Metadata may have fewer: it says how a key was made, not how one should be.
pub const LEAST_ITERATIONS: u64 = 200_000;

/// Iterations where none are configured.
pub const DEFAULT_ITERATIONS: u64 = 600_000;

/// Bytes of a key where its length is not configured: AES-256.
pub const DEFAULT_KEY_LENGTH: u64 = 32;

/// Bytes of a salt where its length is not configured.
pub const DEFAULT_SALT_LENGTH: u64 = 32;

/// Longest derived key in bytes. The longest that a method takes has 32; a key that is the passphrase of another
/// provider gains nothing above the 128 of a block of SHA-512.
pub const LONGEST_KEY: u64 = 1024;

/// Longest salt in bytes: it is in the metadata of every file and record, and 16 are enough to be unique.
pub const LONGEST_SALT: u64 = 1024;

/// Most rounds of one derivation: iterations times the blocks that the key has. Metadata is not authenticated before
/// the key is there, so whoever can write a file could make us derive for years. This many take a minute, and are 160
/// times what is derived by default.
pub const MOST_ROUNDS: u64 = 100_000_000;

const _: () = assert!(LEAST_ITERATIONS <= DEFAULT_ITERATIONS && DEFAULT_ITERATIONS <= MOST_ROUNDS);
const _: () = assert!(DEFAULT_KEY_LENGTH <= LONGEST_KEY && DEFAULT_SALT_LENGTH <= LONGEST_SALT);
// So that a number of iterations within its bound fits the type that derivation takes.
const _: () = assert!(MOST_ROUNDS <= u32::MAX as u64);

/// A key provider: where keys come from, and under which name its metadata is kept.
#[derive(Clone, Debug)]
pub struct KeyProvider {
    /// Where keys come from.
    pub source: KeySource,
    /// `encrypted_metadata_alias`: the name in place of the provider's own, so that the provider can be renamed, or
    /// have another name in another project. Empty is none.
    pub encrypted_metadata_alias: Option<String>,
}

impl KeyProvider {
    /// A provider without an alias.
    pub fn new(source: KeySource) -> KeyProvider {
        KeyProvider { source, encrypted_metadata_alias: None }
    }

    /// Under which key metadata is kept, for the provider that has this name.
    pub fn metadata_key(&self, name: &KeyProviderName) -> String {
        match &self.encrypted_metadata_alias {
            Some(alias) if !alias.is_empty() => alias.clone(),
            _ => name.to_string(),
        }
    }

    /// The provider whose key is the passphrase of this one.
    pub fn chain(&self) -> Option<&KeyProviderName> {
        match &self.source {
            KeySource::Pbkdf2(Pbkdf2 { passphrase: Passphrase::Chain(name), .. }) => Some(name),
            KeySource::Pbkdf2(_) | KeySource::External { .. } => None,
        }
    }
}

/// Where keys come from.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// `pbkdf2`: derived from a passphrase.
    Pbkdf2(Pbkdf2),
    /// `external`: a command says them.
    External {
        /// The program and its arguments.
        command: Vec<String>,
    },
}

/// What a key is derived from.
#[derive(Clone, Debug)]
pub enum Passphrase {
    /// `passphrase`.
    Words(Secret),
    /// `chain`: the key of another provider, byte for byte. No least length holds for it.
    Chain(KeyProviderName),
}

/// The digest below PBKDF2's HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum HashFunction {
    /// `sha256`.
    Sha256,
    /// `sha512`.
    #[default]
    Sha512,
}

impl HashFunction {
    /// The word in settings and metadata.
    pub fn word(self) -> &'static str {
        match self {
            HashFunction::Sha256 => "sha256",
            HashFunction::Sha512 => "sha512",
        }
    }

    /// Bytes of one digest, which is a block of the derived key.
    pub fn length(self) -> u64 {
        match self {
            HashFunction::Sha256 => 32,
            HashFunction::Sha512 => 64,
        }
    }
}

impl fmt::Display for HashFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// There is no such hash function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hash_function is {given:?}, and can be \"sha256\" or \"sha512\"")]
pub struct UnknownHashFunction {
    /// What was given.
    pub given: String,
}

impl FromStr for HashFunction {
    type Err = UnknownHashFunction;

    fn from_str(word: &str) -> Result<HashFunction, UnknownHashFunction> {
        match word {
            "sha256" => Ok(HashFunction::Sha256),
            "sha512" => Ok(HashFunction::Sha512),
            _ => Err(UnknownHashFunction { given: word.to_owned() }),
        }
    }
}

/// Settings of `pbkdf2`. They are open, and looked at again when a [`Sealing`](crate::Sealing) is made of them: a
/// provider that nothing uses may be as wrong as it likes, as in OpenTofu.
#[derive(Clone, Debug)]
pub struct Pbkdf2 {
    /// What keys are derived from.
    pub passphrase: Passphrase,
    /// Bytes of a key.
    pub key_length: u64,
    /// Iterations of a derivation.
    pub iterations: u64,
    /// The digest.
    pub hash_function: HashFunction,
    /// Bytes of a salt.
    pub salt_length: u64,
}

impl Pbkdf2 {
    /// The defaults for everything but the passphrase; nothing is looked at.
    pub fn with_defaults(passphrase: Passphrase) -> Pbkdf2 {
        Pbkdf2 {
            passphrase,
            key_length: DEFAULT_KEY_LENGTH,
            iterations: DEFAULT_ITERATIONS,
            hash_function: HashFunction::default(),
            salt_length: DEFAULT_SALT_LENGTH,
        }
    }

    /// Settings within their bounds.
    ///
    /// # Errors
    /// All settings that are not.
    pub fn new(
        passphrase: Passphrase,
        key_length: u64,
        iterations: u64,
        hash_function: HashFunction,
        salt_length: u64,
    ) -> Result<Pbkdf2, Vec<Pbkdf2Problem>> {
        let settings = Pbkdf2 { passphrase, key_length, iterations, hash_function, salt_length };
        let problems = settings.problems();
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }

    /// All settings that are not within their bounds.
    pub fn problems(&self) -> Vec<Pbkdf2Problem> {
        let mut problems = Vec::new();
        if let Passphrase::Words(words) = &self.passphrase
            && words.characters() < LEAST_PASSPHRASE
        {
            problems.push(Pbkdf2Problem::Below {
                setting: Pbkdf2Setting::Passphrase,
                value: words.characters(),
                least: LEAST_PASSPHRASE,
            });
        }
        if self.iterations < LEAST_ITERATIONS {
            problems.push(Pbkdf2Problem::Below {
                setting: Pbkdf2Setting::Iterations,
                value: self.iterations,
                least: LEAST_ITERATIONS,
            });
        }
        // Too few iterations were told of.
        let sizes = Sizes { iterations: self.iterations.max(LEAST_ITERATIONS), ..self.sizes() };
        problems.extend(sizes.problems());
        problems
    }

    pub(crate) fn sizes(&self) -> Sizes {
        Sizes {
            key_length: self.key_length,
            iterations: self.iterations,
            hash_function: self.hash_function,
            salt_length: self.salt_length,
        }
    }
}

/// What a derivation costs: of settings and of metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) key_length: u64,
    pub(crate) iterations: u64,
    pub(crate) hash_function: HashFunction,
    pub(crate) salt_length: u64,
}

impl Sizes {
    /// What is out of the bounds that hold for metadata as well.
    pub(crate) fn problems(self) -> Vec<Pbkdf2Problem> {
        let blocks = self.key_length.clamp(1, LONGEST_KEY).div_ceil(self.hash_function.length());
        [
            (Pbkdf2Setting::KeyLength, self.key_length, LONGEST_KEY),
            (Pbkdf2Setting::Iterations, self.iterations, MOST_ROUNDS / blocks),
            (Pbkdf2Setting::SaltLength, self.salt_length, LONGEST_SALT),
        ]
        .into_iter()
        .filter_map(|(setting, value, most)| match value {
            0 => Some(Pbkdf2Problem::Below { setting, value, least: 1 }),
            _ if value > most => Some(Pbkdf2Problem::Above { setting, value, most }),
            _ => None,
        })
        .collect()
    }
}

/// A setting of `pbkdf2` that has bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pbkdf2Setting {
    /// `passphrase`; its value is the number of its characters.
    Passphrase,
    /// `key_length`, in bytes.
    KeyLength,
    /// `iterations`.
    Iterations,
    /// `salt_length`, in bytes.
    SaltLength,
}

impl Pbkdf2Setting {
    /// The name of the argument.
    pub fn word(self) -> &'static str {
        match self {
            Pbkdf2Setting::Passphrase => "passphrase",
            Pbkdf2Setting::KeyLength => "key_length",
            Pbkdf2Setting::Iterations => "iterations",
            Pbkdf2Setting::SaltLength => "salt_length",
        }
    }
}

impl fmt::Display for Pbkdf2Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A setting of `pbkdf2` is out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Pbkdf2Problem {
    /// Too small.
    #[error("{setting} {}, at least {least} are needed", measured(*.setting, *.value))]
    Below {
        /// The setting.
        setting: Pbkdf2Setting,
        /// What it is; of a passphrase, its length.
        value: u64,
        /// What it has to be at least.
        least: u64,
    },
    /// Too large.
    #[error(
        "{setting} {}, at most {most} are accepted: deriving the key would take too long",
        measured(*.setting, *.value)
    )]
    Above {
        /// The setting.
        setting: Pbkdf2Setting,
        /// What it is.
        value: u64,
        /// What it may be at most; of iterations, for a key of this length.
        most: u64,
    },
}

fn measured(setting: Pbkdf2Setting, value: u64) -> String {
    match setting {
        Pbkdf2Setting::Passphrase => format!("has {value} characters"),
        Pbkdf2Setting::KeyLength | Pbkdf2Setting::Iterations | Pbkdf2Setting::SaltLength => format!("is {value}"),
    }
}
