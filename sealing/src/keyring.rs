//! A cache of keys. It has keys for sealing and keys for opening.
//!
//! - For sealing, each key provider makes one key with new metadata (a new salt) at the first use. The keyring stores
//!   the key until the keyring is dropped. OpenTofu stores such a key until its process ends. A key seals only a
//!   limited number of payloads and bytes. When this limit is reached, a new key replaces the key.
//! - For opening, metadata determines the key. Keys are cached by provider and metadata, so that all files and records
//!   of one key need only one derivation. Threads that need the same key wait for the same derivation. Different keys
//!   are derived in parallel.
//! - Many processes seal small records. If each process used its own salt, a reader would need one derivation for each
//!   process that ever wrote a record. So a key that has opened a record is *adopted* for sealing further records (see
//!   [`Keyring::adopt`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cipher::Budget;
use crate::command::CommandError;
use crate::external::{self, KeysError};
use crate::key_provider::{KeyProvider, KeySource, Passphrase};
use crate::name::KeyProviderName;
use crate::pbkdf2::{Derivation, MetadataProblem, RandomError};
use crate::secret::Secret;
use crate::service::ServiceError;

/// The maximum number of cached keys for opening. When the cache is full, all keys are dropped, and derived again when
/// needed. In practice, no reader needs this number of keys at the same time. Without a limit, hostile files with much
/// metadata could fill the memory.
const MOST_KEPT: usize = 1024;

/// The metadata of key providers, by the name of each entry in an envelope.
pub(crate) type Metadata = BTreeMap<String, Vec<u8>>;

/// Why a key provider returns no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The metadata of this provider is missing, because another provider was used for sealing.
    #[error("there is no metadata of {provider} (under {key:?})")]
    NoMetadata {
        /// The key provider.
        provider: KeyProviderName,
        /// The key of its metadata.
        key: String,
    },
    /// The metadata is not valid.
    #[error("the metadata of {provider} cannot be used: {problem}")]
    Metadata {
        /// The key provider.
        provider: KeyProviderName,
        /// The problem.
        problem: MetadataProblem,
    },
    /// The command of an external key provider failed.
    #[error("{provider}: {error}")]
    Command {
        /// The key provider.
        provider: KeyProviderName,
        /// The reason.
        error: CommandError,
    },
    /// A service returns no key.
    #[error("{provider}: {error}")]
    Service {
        /// The key provider.
        provider: KeyProviderName,
        /// The reason.
        error: ServiceError,
    },
    /// The settings do not declare the provider. This cannot happen with checked settings.
    #[error("{0} is not declared")]
    Undeclared(KeyProviderName),
    /// The operating system has no random bytes for a salt.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// A key for sealing.
#[derive(Debug)]
pub(crate) struct SealingKey {
    pub(crate) key: Secret,
    /// The metadata of the provider and of its chain.
    pub(crate) metadata: Metadata,
    budget: Budget,
}

/// A slot for a key that takes time to make.
type Slot<T> = Mutex<Option<Arc<T>>>;

/// The metadata that a key depends on: one entry for each provider of the chain.
type Trail = Vec<(KeyProviderName, Vec<u8>)>;

/// All keys of one set of settings.
#[derive(Debug)]
pub(crate) struct Keyring {
    providers: BTreeMap<KeyProviderName, KeyProvider>,
    sealing: BTreeMap<KeyProviderName, Slot<SealingKey>>,
    adopted: Mutex<BTreeMap<KeyProviderName, Arc<SealingKey>>>,
    opening: Mutex<BTreeMap<Trail, Arc<Slot<Secret>>>>,
}

/// Locks a mutex, even if the mutex is poisoned. All data under these locks is written in one step, so the data is
/// consistent even after a panic.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keyring {
    /// A keyring without keys. The chains of the providers must have no cycles and no missing providers.
    pub(crate) fn new(providers: BTreeMap<KeyProviderName, KeyProvider>) -> Keyring {
        let sealing = providers.keys().map(|name| (name.clone(), Slot::default())).collect();
        Keyring { providers, sealing, adopted: Mutex::default(), opening: Mutex::default() }
    }

    /// The key to seal this number of bytes with. Creates a new key if necessary.
    pub(crate) fn for_sealing(&self, name: &KeyProviderName, bytes: u64) -> Result<Arc<SealingKey>, KeyError> {
        let slot = self.sealing.get(name).ok_or_else(|| KeyError::Undeclared(name.clone()))?;
        let mut slot = locked(slot);
        if let Some(key) = &*slot
            && key.budget.take(bytes, false)
        {
            return Ok(Arc::clone(key));
        }
        let key = Arc::new(self.make(name)?);
        key.budget.take(bytes, true);
        *slot = Some(Arc::clone(&key));
        Ok(key)
    }

    /// Like [`Self::for_sealing`], but prefers an adopted key.
    pub(crate) fn for_records(&self, name: &KeyProviderName, bytes: u64) -> Result<Arc<SealingKey>, KeyError> {
        let adopted = locked(&self.adopted).get(name).cloned();
        match adopted {
            Some(key) if key.budget.take(bytes, false) => Ok(key),
            _ => self.for_sealing(name, bytes),
        }
    }

    fn provider(&self, name: &KeyProviderName) -> Result<&KeyProvider, KeyError> {
        self.providers.get(name).ok_or_else(|| KeyError::Undeclared(name.clone()))
    }

    fn make(&self, name: &KeyProviderName) -> Result<SealingKey, KeyError> {
        let provider = self.provider(name)?;
        let (key, own, mut metadata) = match &provider.source {
            KeySource::External { command } => {
                let (key, own) = external::new_key(command).map_err(|error| refused(name, error.into()))?;
                (key, own, Metadata::new())
            }
            KeySource::Service(service) => {
                let (key, own) = service.new_key().map_err(|error| not_given(name, error))?;
                (key, own, Metadata::new())
            }
            KeySource::Pbkdf2(settings) => {
                let derivation = Derivation::with_new_salt(settings)?;
                match &settings.passphrase {
                    Passphrase::Words(words) => (derivation.key(words), derivation.written(), Metadata::new()),
                    Passphrase::Chain(link) => {
                        // This use reduces the key's `Budget` by one seal of one byte, which is little: a derivation
                        // happens only a few times in the life of a keyring.
                        let link = self.for_sealing(link, 1)?;
                        (derivation.key(&link.key), derivation.written(), link.metadata.clone())
                    }
                }
            }
        };
        metadata.insert(provider.metadata_key(name), own);
        if self.is_certain(name) {
            let slot = self.opening_slot(self.trail(name, &metadata)?);
            *locked(&slot) = Some(Arc::new(key.clone()));
        }
        Ok(SealingKey { key, metadata, budget: Budget::whole() })
    }

    /// Whether the provider is certain to use one key for sealing and opening. This is true for passphrases and
    /// services. It is false if the provider, or a provider that its passphrase comes from, is a command: a command may
    /// return one key for sealing and a different key for opening.
    fn is_certain(&self, name: &KeyProviderName) -> bool {
        let mut next = Some(name);
        while let Some(provider) = next.and_then(|name| self.providers.get(name)) {
            if matches!(provider.source, KeySource::External { .. }) {
                return false;
            }
            next = provider.chain();
        }
        true
    }

    /// The key that this metadata describes. The metadata of other providers does not matter.
    pub(crate) fn for_opening(&self, name: &KeyProviderName, metadata: &Metadata) -> Result<Arc<Secret>, KeyError> {
        let slot = self.opening_slot(self.trail(name, metadata)?);
        let mut slot = locked(&slot);
        if let Some(key) = &*slot {
            return Ok(Arc::clone(key));
        }
        let provider = self.provider(name)?;
        let key = provider.metadata_key(name);
        let Some(own) = metadata.get(&key) else {
            return Err(KeyError::NoMetadata { provider: name.clone(), key });
        };
        let key = match &provider.source {
            KeySource::External { command } => external::key_of(command, own).map_err(|error| refused(name, error))?,
            KeySource::Service(service) => service.key_of(own).map_err(|error| not_given(name, error))?,
            KeySource::Pbkdf2(settings) => {
                let unusable = |problem| KeyError::Metadata { provider: name.clone(), problem };
                // The metadata is checked before the chain is used, because the chain may run a command. Invalid
                // metadata must not cause a command to run.
                let derivation = Derivation::read(own).map_err(unusable)?;
                match &settings.passphrase {
                    Passphrase::Words(words) => derivation.key(words),
                    Passphrase::Chain(link) => derivation.key(&*self.for_opening(link, metadata)?),
                }
            }
        };
        let key = Arc::new(key);
        *slot = Some(Arc::clone(&key));
        Ok(key)
    }

    /// The metadata of a provider and of its chain.
    fn trail(&self, name: &KeyProviderName, metadata: &Metadata) -> Result<Trail, KeyError> {
        let mut trail = Trail::new();
        let mut next = Some(name);
        while let Some(name) = next {
            let provider = self.provider(name)?;
            let key = provider.metadata_key(name);
            let Some(own) = metadata.get(&key) else {
                return Err(KeyError::NoMetadata { provider: name.clone(), key });
            };
            trail.push((name.clone(), own.clone()));
            next = provider.chain();
        }
        Ok(trail)
    }

    fn opening_slot(&self, trail: Trail) -> Arc<Slot<Secret>> {
        let mut opening = locked(&self.opening);
        if opening.len() >= MOST_KEPT && !opening.contains_key(&trail) {
            opening.clear();
        }
        Arc::clone(opening.entry(trail).or_default())
    }

    /// From now on, seals records with the key that this metadata describes. Does nothing unless the settings describe
    /// an equivalent key: derived only from passphrases, with the same iterations, digest and lengths. Call this only
    /// with metadata that has just opened a record: only someone who knows the passphrase can have written such
    /// metadata. The first adopted key stays, and later calls do not replace it.
    pub(crate) fn adopt(&self, name: &KeyProviderName, metadata: &Metadata) {
        if locked(&self.adopted).contains_key(name) {
            return;
        }
        let Ok(trail) = self.trail(name, metadata) else { return };
        let mut own = Metadata::new();
        for (name, metadata) in trail {
            let Ok(provider) = self.provider(&name) else { return };
            let KeySource::Pbkdf2(settings) = &provider.source else { return };
            if !Derivation::read(&metadata).is_ok_and(|derivation| derivation.is_by(settings)) {
                return;
            }
            own.insert(provider.metadata_key(&name), metadata);
        }
        let Ok(key) = self.for_opening(name, metadata) else { return };
        let key = SealingKey { key: (*key).clone(), metadata: own, budget: Budget::whole() };
        locked(&self.adopted).entry(name.clone()).or_insert_with(|| Arc::new(key));
    }
}

fn not_given(name: &KeyProviderName, error: ServiceError) -> KeyError {
    let provider = name.clone();
    match error {
        ServiceError::Request(_) | ServiceError::LongMetadata(_) => KeyError::Service { provider, error },
        error => KeyError::Metadata { provider, problem: MetadataProblem::Service(error) },
    }
}

fn refused(name: &KeyProviderName, error: KeysError) -> KeyError {
    let provider = name.clone();
    match error {
        KeysError::Metadata(problem) => KeyError::Metadata { provider, problem: MetadataProblem::Json(problem) },
        KeysError::Command(error) => KeyError::Command { provider, error },
    }
}
