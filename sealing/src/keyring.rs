//! Keys: new ones for sealing, and those that metadata determines for opening.
//!
//! - For sealing, each key provider makes one key with new metadata (a new salt) for the life of the ring, as OpenTofu
//!   does in each process, and another one when the budget of that key is used up. It is made at its first use.
//! - For opening, metadata determines the key. Keys are cached by provider and metadata, so that many files and records
//!   that were sealed with one key cost one derivation. Two threads that need the same key wait for one derivation;
//!   different keys are derived in parallel.
//! - Small records are sealed by many processes. If each had a salt of its own, a reader would need a derivation for
//!   each process that ever wrote. So a key that has opened a record is *adopted* for sealing others (see
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

/// The maximum number of cached keys for opening. When it is exceeded, all are dropped and derived again. No reader
/// needs as many at once, and their metadata may be hostile and long.
const MOST_KEPT: usize = 1024;

/// The metadata of key providers, by its key in an envelope.
pub(crate) type Metadata = BTreeMap<String, Vec<u8>>;

/// Why a key provider returns no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no metadata of this provider: another one was used for sealing.
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
    /// A service gives no key.
    #[error("{provider}: {error}")]
    Service {
        /// The key provider.
        provider: KeyProviderName,
        /// The reason.
        error: ServiceError,
    },
    /// The provider is not among the settings. Checked settings always have it.
    #[error("{0} is not declared")]
    Undeclared(KeyProviderName),
    /// No random bytes for a salt.
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

/// The metadata that a key depends on, by provider along the chain.
type Trail = Vec<(KeyProviderName, Vec<u8>)>;

/// All keys of one set of settings.
#[derive(Debug)]
pub(crate) struct Keyring {
    providers: BTreeMap<KeyProviderName, KeyProvider>,
    sealing: BTreeMap<KeyProviderName, Slot<SealingKey>>,
    adopted: Mutex<BTreeMap<KeyProviderName, Arc<SealingKey>>>,
    opening: Mutex<BTreeMap<Trail, Arc<Slot<Secret>>>>,
}

/// Everything under these locks is written in one step, so a panicking thread leaves it consistent.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keyring {
    /// A ring without keys. The chains of the providers must have no cycles and no missing providers.
    pub(crate) fn new(providers: BTreeMap<KeyProviderName, KeyProvider>) -> Keyring {
        let sealing = providers.keys().map(|name| (name.clone(), Slot::default())).collect();
        Keyring { providers, sealing, adopted: Mutex::default(), opening: Mutex::default() }
    }

    /// The key to seal this number of bytes with. It is created if necessary.
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

    /// As [`Self::for_sealing`], but with an adopted key if there is one.
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
                        // Small compared to the budget: a key is made a few times in the life of a ring.
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

    /// Whether the key for opening is the same as for sealing. It is for passphrases and services; a command may have
    /// two.
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

    /// The key of this metadata. The metadata of other providers does not matter.
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
                // Checked before the chain is used: invalid metadata should not run a command.
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

    /// Uses the key of this metadata for sealing records from now on, if the settings would make an equivalent one:
    /// derived only from passphrases, with the same iterations, digest and lengths. Only for metadata that has just
    /// opened a record, so that only someone who knows the passphrase can choose it. The first adopted key stays.
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
        ServiceError::Request(_) => KeyError::Service { provider, error },
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
