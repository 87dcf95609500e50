//! Key providers as plain data, with the limits of their settings.
//!
//! Sources (names, defaults, minimums): OpenTofu's page "State and Plan Encryption", section "Key providers". Weft
//! defines the maximums itself, because metadata may come from untrusted files. The same maximums apply to settings, so
//! that Weft can read all metadata that it writes.

use std::fmt;
use std::str::FromStr;

use crate::name::KeyProviderName;
use crate::secret::Secret;
use crate::service::ServiceClient;

/// The minimum length of a passphrase, in characters.
pub const LEAST_PASSPHRASE: u64 = 16;

/// The minimum number of iterations in settings. Metadata may have fewer, because it describes the derivation of an
/// existing key.
pub const LEAST_ITERATIONS: u64 = 200_000;

/// The default number of iterations.
pub const DEFAULT_ITERATIONS: u64 = 600_000;

/// The default length of a key: AES-256.
pub const DEFAULT_KEY_LENGTH: u64 = 32;

/// The default length of a salt.
pub const DEFAULT_SALT_LENGTH: u64 = 32;

/// The maximum length of a derived key in bytes. Methods need at most 32. A key may also be the passphrase of another
/// provider. A passphrase longer than 128 bytes, the block size of SHA-512, has no benefit.
pub const LONGEST_KEY: u64 = 1024;

/// The maximum length of a salt in bytes. The salt is in the metadata of every file and record, and 16 bytes are enough
/// to make it unique.
pub const LONGEST_SALT: u64 = 1024;

/// The maximum number of rounds of one derivation: iterations times the blocks of the key. Metadata is read before the
/// key exists, so it cannot be authenticated. Without a maximum, a tampered file could cause a derivation that takes
/// years. A derivation with the maximum takes a minute, 160 times as long as the default.
pub const MOST_ROUNDS: u64 = 100_000_000;

const _: () = assert!(LEAST_ITERATIONS <= DEFAULT_ITERATIONS && DEFAULT_ITERATIONS <= MOST_ROUNDS);
const _: () = assert!(DEFAULT_KEY_LENGTH <= LONGEST_KEY && DEFAULT_SALT_LENGTH <= LONGEST_SALT);
// A valid number of iterations fits the type that the derivation takes.
const _: () = assert!(MOST_ROUNDS <= u32::MAX as u64);

/// A key provider: the source of keys, and the name of its metadata.
#[derive(Clone, Debug)]
pub struct KeyProvider {
    /// The source of keys.
    pub source: KeySource,
    /// `encrypted_metadata_alias`: replaces the provider's own name in the metadata. With an alias, the provider can be
    /// renamed, or have a different name in another project. An empty alias counts as `None`.
    pub encrypted_metadata_alias: Option<String>,
}

impl KeyProvider {
    /// A provider without an alias.
    pub fn new(source: KeySource) -> KeyProvider {
        KeyProvider { source, encrypted_metadata_alias: None }
    }

    /// The key of the metadata of the provider with this name.
    pub fn metadata_key(&self, name: &KeyProviderName) -> String {
        match &self.encrypted_metadata_alias {
            Some(alias) if !alias.is_empty() => alias.clone(),
            _ => name.to_string(),
        }
    }

    /// The provider whose key is the passphrase of this provider.
    pub fn chain(&self) -> Option<&KeyProviderName> {
        match &self.source {
            KeySource::Pbkdf2(Pbkdf2 { passphrase: Passphrase::Chain(name), .. }) => Some(name),
            KeySource::Pbkdf2(_) | KeySource::External { .. } | KeySource::Service(_) => None,
        }
    }
}

/// A source of keys.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// `pbkdf2`: the key is derived from a passphrase.
    Pbkdf2(Pbkdf2),
    /// `external`: a command returns the key.
    External {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// `aws_kms` and others: a service returns the key.
    Service(ServiceClient),
}

impl KeySource {
    /// The length of the source's keys in bytes, if the settings determine it.
    pub fn key_length(&self) -> Option<u64> {
        match self {
            KeySource::Pbkdf2(settings) => Some(settings.key_length),
            KeySource::External { .. } => None,
            KeySource::Service(service) => service.client.as_ref().ok().map(|client| client.key_length()),
        }
    }
}

/// The input of a derivation.
#[derive(Clone, Debug)]
pub enum Passphrase {
    /// `passphrase`.
    Words(Secret),
    /// `chain`: the key of another provider. Unlike a passphrase, this key has no minimum length.
    Chain(KeyProviderName),
}

/// The hash function of the HMAC in PBKDF2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum HashFunction {
    /// `sha256`.
    Sha256,
    /// `sha512`.
    #[default]
    Sha512,
}

impl HashFunction {
    /// The name in settings and metadata.
    pub fn word(self) -> &'static str {
        match self {
            HashFunction::Sha256 => "sha256",
            HashFunction::Sha512 => "sha512",
        }
    }

    /// The length of a digest in bytes. PBKDF2 derives a key in blocks of this length.
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

/// An unknown hash function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hash_function is {given:?}, but must be \"sha256\" or \"sha512\"")]
pub struct UnknownHashFunction {
    /// The unknown name.
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

/// The settings of `pbkdf2`. The fields are public, so they are checked again when a [`Sealing`](crate::Sealing) is
/// made. As in OpenTofu, the settings of an unused provider may be invalid.
#[derive(Clone, Debug)]
pub struct Pbkdf2 {
    /// The input of the derivation.
    pub passphrase: Passphrase,
    /// The length of a key.
    pub key_length: u64,
    /// The number of iterations.
    pub iterations: u64,
    /// The digest.
    pub hash_function: HashFunction,
    /// The length of a salt.
    pub salt_length: u64,
}

impl Pbkdf2 {
    /// Settings with this passphrase and the defaults for everything else. They are not checked.
    pub fn with_defaults(passphrase: Passphrase) -> Pbkdf2 {
        Pbkdf2 {
            passphrase,
            key_length: DEFAULT_KEY_LENGTH,
            iterations: DEFAULT_ITERATIONS,
            hash_function: HashFunction::default(),
            salt_length: DEFAULT_SALT_LENGTH,
        }
    }

    /// Makes the settings from these values, and checks all of them.
    ///
    /// # Errors
    /// Returns all settings that are out of bounds.
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

    /// All settings that are out of bounds.
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
        // Too few iterations were already reported above, so the minimum is used here.
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

/// The values that determine the cost of a derivation. They come from settings or from metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) key_length: u64,
    pub(crate) iterations: u64,
    pub(crate) hash_function: HashFunction,
    pub(crate) salt_length: u64,
}

impl Sizes {
    /// The values that are out of bounds. The same bounds apply to settings and metadata.
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

/// A setting of `pbkdf2` with bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pbkdf2Setting {
    /// `passphrase`, measured in characters.
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

/// A setting of `pbkdf2` that is out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Pbkdf2Problem {
    /// Too small.
    #[error("{setting} {}, but at least {least} are needed", measured(*.setting, *.value))]
    Below {
        /// The setting.
        setting: Pbkdf2Setting,
        /// The value of the setting. For a passphrase, the length.
        value: u64,
        /// The minimum.
        least: u64,
    },
    /// Too large.
    #[error(
        "{setting} {}, but at most {most} are accepted: deriving the key would take too long",
        measured(*.setting, *.value)
    )]
    Above {
        /// The setting.
        setting: Pbkdf2Setting,
        /// The value of the setting.
        value: u64,
        /// The maximum. For iterations, it depends on the length of the key.
        most: u64,
    },
}

fn measured(setting: Pbkdf2Setting, value: u64) -> String {
    match setting {
        Pbkdf2Setting::Passphrase => format!("has {value} characters"),
        Pbkdf2Setting::KeyLength | Pbkdf2Setting::Iterations | Pbkdf2Setting::SaltLength => format!("is {value}"),
    }
}
