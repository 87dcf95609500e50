//! Sealing and opening with one set of settings.
//!
//! - Data is sealed with the target's main method. It is opened with any of the target's methods, which are tried in
//!   order.
//! - A target that is encrypted accepts plain text only if `unencrypted` is among its methods. Without this rule,
//!   anyone who can write the file could replace the state with plain text.
//! - Sealed data is never sealed again.

mod error;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use zeroize::Zeroizing;

pub use error::{FailedMethod, MethodError, OpenError, SealError};

use crate::cipher::Cipher;
use crate::envelope::{Envelope, Identity, LARGEST_PLAIN, copied, identity_of, is_sealed};
use crate::external;
use crate::keyring::{Keyring, Metadata, locked};
use crate::method::Method;
use crate::name::{MethodName, TargetName};
use crate::record::{self, LONGEST_WRAPPED_KEY, Record, RecordError, RecordKey, is_sealed_record};
use crate::settings::{EncryptionSettings, SettingsProblem};

/// The maximum number of cached record keys for opening. Without a limit, hostile records could fill the memory.
const MOST_KEPT: usize = 1024;

/// The method that opened a file or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Through {
    /// The main method.
    Main,
    /// A fallback, counted from 0.
    Fallback(usize),
    /// No method: the data was plain text, which the settings allow.
    Plain,
}

/// Opened data.
#[derive(Clone)]
pub struct Opened {
    /// The plain text. It is wiped when dropped.
    pub plain: Zeroizing<Vec<u8>>,
    /// The method that opened the data.
    pub through: Through,
    /// Whether the data would now be written differently: with another method, sealed instead of plain, or plain
    /// instead of sealed. If the data is outdated, OpenTofu writes a state even if its contents have not changed.
    pub outdated: bool,
}

impl fmt::Debug for Opened {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<{} bytes through {:?}, outdated: {}>", self.plain.len(), self.through, self.outdated)
    }
}

/// A method of a target, ready for use.
#[derive(Debug)]
struct Tool {
    name: MethodName,
    method: Method,
}

/// The methods of a target, and its keys for records.
#[derive(Debug)]
struct TargetTools {
    main: Tool,
    fallbacks: Vec<Tool>,
    record_key: Mutex<Option<Arc<RecordKey>>>,
    /// The record keys, by the header of their records.
    opened_keys: Mutex<BTreeMap<Vec<u8>, Arc<OpenedKey>>>,
}

#[derive(Debug)]
struct OpenedKey {
    cipher: Cipher,
    through: Through,
    outdated: bool,
}

/// Seals and opens with one set of settings. It is shared among threads, and should live as long as the process,
/// because it caches keys. Without settings (`Default`), it returns plain text unchanged and refuses sealed data.
#[derive(Debug)]
pub struct Sealing {
    targets: BTreeMap<TargetName, TargetTools>,
    keyring: Keyring,
}

impl Default for Sealing {
    fn default() -> Sealing {
        Sealing { targets: BTreeMap::new(), keyring: Keyring::new(BTreeMap::new()) }
    }
}

impl Sealing {
    /// Makes a `Sealing` with these settings, after checking them. No key is made and no command runs before the first
    /// use.
    ///
    /// # Errors
    /// Returns all problems of the settings that a target uses. Unused settings are not checked.
    pub fn new(settings: EncryptionSettings) -> Result<Sealing, Vec<SettingsProblem>> {
        let EncryptionSettings { key_providers, methods, targets } = settings.reached()?;
        let tool =
            |name: &MethodName| methods.get(name).map(|method| Tool { name: name.clone(), method: method.clone() });
        let targets = targets
            .into_iter()
            .filter_map(|(name, target)| {
                let mut tools = target.methods.iter().filter_map(tool);
                // The main method exists: the check of the settings refuses a target without methods.
                let main = tools.next()?;
                let fallbacks = tools.collect();
                let (record_key, opened_keys) = (Mutex::default(), Mutex::default());
                Some((name, TargetTools { main, fallbacks, record_key, opened_keys }))
            })
            .collect();
        Ok(Sealing { targets, keyring: Keyring::new(key_providers) })
    }

    /// Whether a target is written encrypted.
    pub fn seals(&self, target: &TargetName) -> bool {
        self.targets.get(target).is_some_and(|tools| tools.main.method != Method::Unencrypted)
    }

    /// Whether a target is configured.
    pub fn covers(&self, target: &TargetName) -> bool {
        self.targets.contains_key(target)
    }

    /// Seals a state: an envelope with its serial and lineage, or plain text if it is not encrypted.
    ///
    /// # Errors
    /// Returns the reason: see [`SealError`].
    pub fn seal_state(&self, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let identity = if self.seals(&TargetName::State) && !is_sealed(plain) {
            identity_of(plain).map_err(SealError::NotAState)?
        } else {
            Identity::default()
        };
        self.seal_envelope(&TargetName::State, identity, plain)
    }

    /// Seals a plan file.
    ///
    /// # Errors
    /// Returns the reason: see [`SealError`].
    pub fn seal_plan(&self, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        self.seal_envelope(&TargetName::Plan, Identity::default(), plain)
    }

    /// Opens a state file.
    ///
    /// # Errors
    /// Returns the reason: see [`OpenError`].
    pub fn open_state(&self, bytes: &[u8]) -> Result<Opened, OpenError> {
        self.open_state_of(&TargetName::State, bytes)
    }

    /// Opens the state that the data source of this name reads. Uses the target of that name, or the default target for
    /// remote states.
    ///
    /// # Errors
    /// Returns the reason: see [`OpenError`].
    pub fn open_remote_state(&self, name: &str, bytes: &[u8]) -> Result<Opened, OpenError> {
        let own = TargetName::RemoteState(name.to_owned());
        let target = if self.targets.contains_key(&own) { own } else { TargetName::DefaultRemoteState };
        self.open_state_of(&target, bytes)
    }

    /// Opens a plan file.
    ///
    /// # Errors
    /// Returns the reason: see [`OpenError`].
    pub fn open_plan(&self, bytes: &[u8]) -> Result<Opened, OpenError> {
        Ok(self.open_envelope(&TargetName::Plan, bytes)?.0)
    }

    /// Seals a small record (see [`record`]). The `context` is needed to open the record, but is not stored. It
    /// identifies the location of the record, so that a record that was moved to another location cannot be opened.
    ///
    /// # Errors
    /// Returns the reason: see [`SealError`].
    pub fn seal_record(&self, target: &TargetName, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, SealError> {
        check_plain(target, plain, is_sealed_record(plain))?;
        let Some(tools) = self.targets.get(target) else { return Ok(plain.to_vec()) };
        let failed = |error| SealError::Method { target: target.clone(), method: tools.main.name.clone(), error };
        match self.record_key(tools, plain.len() as u64).map_err(failed)? {
            Some(key) => key.seal(context, plain).map_err(|error| failed(error.into())),
            None => Ok(plain.to_vec()),
        }
    }

    /// Opens a record.
    ///
    /// # Errors
    /// Returns the reason: see [`OpenError`].
    pub fn open_record(&self, target: &TargetName, context: &[u8], bytes: &[u8]) -> Result<Opened, OpenError> {
        if !is_sealed_record(bytes) {
            return self.plain(target, bytes);
        }
        let refused = |error| OpenError::Record { target: target.clone(), error };
        let record = Record::parse(bytes).map_err(refused)?;
        let key = self.opened_key(target, &record)?;
        let plain = record.open(&key.cipher, context).map_err(refused)?;
        Ok(Opened { plain, through: key.through, outdated: key.outdated })
    }

    /// Seals the plan of a run as a record. The plan is stored beside the state, and contains values of the state. So
    /// the plan is sealed like a state, or like a plan if states are not encrypted.
    ///
    /// # Errors
    /// Returns the reason: see [`SealError`].
    pub fn seal_kept_plan(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, SealError> {
        self.seal_record(&self.kept_plan_target(), context, plain)
    }

    /// Opens the plan of a run. Earlier settings may have sealed it for the target `plan` although the current settings
    /// use the target `state`, or the other way round. So both targets are tried.
    ///
    /// # Errors
    /// Returns the reason: see [`OpenError`].
    pub fn open_kept_plan(&self, context: &[u8], bytes: &[u8]) -> Result<Opened, OpenError> {
        let target = self.kept_plan_target();
        let other = if target == TargetName::State { TargetName::Plan } else { TargetName::State };
        match self.open_record(&target, context, bytes) {
            Err(error) if is_sealed_record(bytes) => self.open_record(&other, context, bytes).map_err(|_| error),
            answer => answer,
        }
    }

    fn kept_plan_target(&self) -> TargetName {
        let plan = !self.seals(&TargetName::State) && self.covers(&TargetName::Plan);
        if plan { TargetName::Plan } else { TargetName::State }
    }

    fn seal_envelope(&self, target: &TargetName, identity: Identity, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        check_plain(target, plain, is_sealed(plain))?;
        let Some(TargetTools { main, .. }) = self.targets.get(target) else { return Ok(plain.to_vec()) };
        let sealed = self.seal_with(&main.method, plain, Purpose::File);
        match sealed.map_err(|error| SealError::Method { target: target.clone(), method: main.name.clone(), error })? {
            Some((metadata, payload)) => Ok(Envelope { identity, metadata, payload }.to_bytes()),
            None => Ok(plain.to_vec()),
        }
    }

    fn open_state_of(&self, target: &TargetName, bytes: &[u8]) -> Result<Opened, OpenError> {
        let (opened, outer) = self.open_envelope(target, bytes)?;
        if outer == Identity::default() {
            return Ok(opened);
        }
        let inner =
            identity_of(&opened.plain).map_err(|problem| OpenError::NotAState { target: target.clone(), problem })?;
        if let (Some(outer), Some(inner)) = (outer.serial, inner.serial)
            && outer != inner
        {
            return Err(OpenError::Serial { target: target.clone(), outer, inner });
        }
        if let (Some(outer), Some(inner)) = (outer.lineage, inner.lineage)
            && outer != inner
        {
            return Err(OpenError::Lineage { target: target.clone(), outer, inner });
        }
        Ok(opened)
    }

    fn open_envelope(&self, target: &TargetName, bytes: &[u8]) -> Result<(Opened, Identity), OpenError> {
        if !is_sealed(bytes) {
            return Ok((self.plain(target, bytes)?, Identity::default()));
        }
        let refused = |error| OpenError::Envelope { target: target.clone(), error };
        let envelope = Envelope::parse(bytes).map_err(refused)?;
        let (plain, through) = self.open_payload(target, &envelope.metadata, &envelope.payload)?;
        Ok((Opened { plain, through, outdated: through != Through::Main }, envelope.identity))
    }

    /// Opens data that is not sealed, if the target accepts plain text.
    fn plain(&self, target: &TargetName, bytes: &[u8]) -> Result<Opened, OpenError> {
        let outdated = match self.targets.get(target) {
            None => false,
            Some(tools) if tools.all().any(|(_, tool)| tool.method == Method::Unencrypted) => {
                tools.main.method != Method::Unencrypted
            }
            Some(_) => return Err(OpenError::PlainText { target: target.clone() }),
        };
        Ok(Opened { plain: copied(bytes), through: Through::Plain, outdated })
    }

    /// Tries the methods one after the other.
    fn open_payload(
        &self,
        target: &TargetName,
        metadata: &Metadata,
        payload: &[u8],
    ) -> Result<(Zeroizing<Vec<u8>>, Through), OpenError> {
        let metadata_keys = || metadata.keys().cloned().collect();
        let Some(tools) = self.targets.get(target) else {
            return Err(OpenError::NotConfigured { target: target.clone(), metadata_keys: metadata_keys() });
        };
        let mut attempts = Vec::new();
        for (through, tool) in tools.all() {
            match self.open_with(&tool.method, metadata, payload) {
                Ok(Some(plain)) => return Ok((plain, through)),
                Ok(None) => {}
                Err(error) => attempts.push(FailedMethod { method: tool.name.clone(), error }),
            }
        }
        Err(OpenError::NoMethodOpens { target: target.clone(), attempts, metadata_keys: metadata_keys() })
    }

    /// Seals with this method. Returns the metadata and the payload, or `None` if the method does not encrypt.
    fn seal_with(
        &self,
        method: &Method,
        plain: &[u8],
        purpose: Purpose,
    ) -> Result<Option<(Metadata, Vec<u8>)>, MethodError> {
        let key_of = |name| match purpose {
            Purpose::File => self.keyring.for_sealing(name, plain.len() as u64),
            Purpose::RecordKey => self.keyring.for_records(name, plain.len() as u64),
        };
        Ok(match method {
            Method::AesGcm { keys, aad } => {
                let key = key_of(keys)?;
                let length = key.key.expose().len();
                let cipher = Cipher::new(key.key.expose()).ok_or(MethodError::KeyLength { length })?;
                let mut payload = Vec::new();
                cipher.seal_onto(&mut payload, aad, plain)?;
                Some((key.metadata.clone(), payload))
            }
            Method::External { keys, encrypt_command, .. } => {
                let key = keys.as_ref().map(key_of).transpose()?;
                let mut payload = external::payload(encrypt_command, key.as_ref().map(|key| &key.key), plain)?;
                // Ciphertext is not secret, so it needs no wrapper that wipes it.
                Some((key.map(|key| key.metadata.clone()).unwrap_or_default(), std::mem::take(&mut *payload)))
            }
            Method::Unencrypted => None,
        })
    }

    /// Opens with this method. Returns the plain text, or `None` if the method does not encrypt.
    fn open_with(
        &self,
        method: &Method,
        metadata: &Metadata,
        payload: &[u8],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, MethodError> {
        Ok(match method {
            Method::AesGcm { keys, aad } => {
                let key = self.keyring.for_opening(keys, metadata)?;
                let length = key.expose().len();
                let cipher = Cipher::new(key.expose()).ok_or(MethodError::KeyLength { length })?;
                Some(cipher.open(aad, payload)?)
            }
            Method::External { keys, decrypt_command, .. } => {
                let key = keys.as_ref().map(|name| self.keyring.for_opening(name, metadata)).transpose()?;
                Some(external::payload(decrypt_command, key.as_deref(), payload)?)
            }
            Method::Unencrypted => None,
        })
    }

    /// The key that seals records of a target. A new key is made at the first use, and when the budget of the current
    /// key is used up. `None` if records of the target are plain text.
    fn record_key(&self, tools: &TargetTools, bytes: u64) -> Result<Option<Arc<RecordKey>>, MethodError> {
        let mut slot = locked(&tools.record_key);
        if let Some(key) = &*slot
            && key.may_seal(bytes, false)
        {
            return Ok(Some(Arc::clone(key)));
        }
        let plain = record::new_key()?;
        let wrapped = self.seal_with(&tools.main.method, &plain, Purpose::RecordKey)?;
        let Some((metadata, wrapped)) = wrapped else { return Ok(None) };
        if wrapped.len() > LONGEST_WRAPPED_KEY {
            return Err(MethodError::LongWrappedKey { size: wrapped.len() });
        }
        let key = Arc::new(RecordKey::new(&plain, &metadata, &wrapped).map_err(MethodError::RecordKey)?);
        key.may_seal(bytes, true);
        *slot = Some(Arc::clone(&key));
        Ok(Some(key))
    }

    /// The key that opens a record, cached by the record's header.
    fn opened_key(&self, target: &TargetName, record: &Record<'_>) -> Result<Arc<OpenedKey>, OpenError> {
        if let Some(tools) = self.targets.get(target)
            && let Some(key) = locked(&tools.opened_keys).get(record.header)
        {
            return Ok(Arc::clone(key));
        }
        let refused = |error: RecordError| OpenError::Record { target: target.clone(), error };
        let (metadata, wrapped) = record.header().map_err(refused)?;
        let (plain, through) = self.open_payload(target, &metadata, wrapped)?;
        let cipher = record::cipher_of(&plain).map_err(refused)?;
        let key = Arc::new(OpenedKey { cipher, through, outdated: through != Through::Main });
        if let Some(tools) = self.targets.get(target) {
            if let (Through::Main, Some(name)) = (through, tools.main.method.keys()) {
                self.keyring.adopt(name, &metadata);
            }
            let mut opened = locked(&tools.opened_keys);
            if opened.len() >= MOST_KEPT {
                opened.clear();
            }
            opened.insert(record.header.to_vec(), Arc::clone(&key));
        }
        Ok(key)
    }
}

/// The kinds of data that a method seals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A state or a plan.
    File,
    /// A record key, which then seals many records.
    RecordKey,
}

impl TargetTools {
    /// All methods in the order in which they are tried.
    fn all(&self) -> impl Iterator<Item = (Through, &Tool)> {
        let fallbacks = self.fallbacks.iter().enumerate().map(|(index, tool)| (Through::Fallback(index), tool));
        std::iter::once((Through::Main, &self.main)).chain(fallbacks)
    }
}

fn check_plain(target: &TargetName, plain: &[u8], sealed: bool) -> Result<(), SealError> {
    let size = plain.len() as u64;
    if size > LARGEST_PLAIN {
        return Err(SealError::TooLarge { target: target.clone(), size });
    }
    if sealed { Err(SealError::AlreadySealed { target: target.clone() }) } else { Ok(()) }
}
