//! The encrypted parts of a store in Redis: results, failures, objects of superseded attempts, plans, reasons of
//! doubts, and records of the state. The encryption binds each part to its name. Data that scripts use stays
//! unencrypted: addresses, revisions, statuses, names of workers, and digests.

use std::sync::Arc;

use weft_sealing::{OpenError, Opened, Sealing, TargetName};

use crate::error::StoreError;
use crate::record::OutputWrite;
use crate::result::{InstanceWrite, Writes};
use crate::snapshot::Snapshot;
use crate::subject::{Doubt, Subject};

/// The prefix of a sealed text in base64.
const SEALED_TEXT: &str = "=sealed:";

/// The seal of the records of a workspace.
#[derive(Clone, Debug)]
pub(super) struct RecordSeal {
    sealing: Arc<Sealing>,
    /// The common part of all keys of the workspace.
    workspace: String,
    /// The location of the store, for messages.
    place: String,
}

impl RecordSeal {
    pub(super) fn new(sealing: Arc<Sealing>, workspace: String, place: String) -> RecordSeal {
        RecordSeal { sealing, workspace, place }
    }

    /// Derives the key in advance, which takes a few tenths of a second, so that no step has to wait for it.
    ///
    /// # Errors
    /// Returns an error if the key is unavailable.
    pub(super) async fn prepare(&self) -> Result<(), StoreError> {
        let seal = self.clone();
        match tokio::task::spawn_blocking(move || seal.seal("nothing", Vec::new())).await {
            Ok(made) => made.map(|_| ()),
            Err(_) => Err(crate::problems::process_ending()),
        }
    }

    /// Whether anything is sealed.
    pub(super) fn seals(&self) -> bool {
        self.sealing.seals(&TargetName::State)
    }

    fn context(&self, what: &str) -> Vec<u8> {
        format!("redis\0{}\0{what}", self.workspace).into_bytes()
    }

    /// The bytes to store. `what` names the value within the workspace.
    ///
    /// # Errors
    /// Returns an error if encryption fails.
    pub(super) fn seal(&self, what: &str, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        if !self.seals() {
            return Ok(bytes);
        }
        let sealed = self.sealing.seal_record(&TargetName::State, &self.context(what), &bytes);
        sealed.map_err(|error| StoreError::Unsealed { place: self.place.clone(), error })
    }

    /// Decrypts stored bytes, if they are encrypted.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be decrypted, or should have been encrypted.
    pub(super) fn open(&self, what: &str, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
        Ok(self.opened(what, bytes)?.plain.to_vec())
    }

    /// Like [`RecordSeal::open`], and also returns whether the bytes would be stored differently now.
    ///
    /// # Errors
    /// See [`RecordSeal::open`].
    pub(super) fn opened(&self, what: &str, bytes: &[u8]) -> Result<Opened, StoreError> {
        self.told(self.sealing.open_record(&TargetName::State, &self.context(what), bytes))
    }

    /// The stored form of a plan.
    ///
    /// # Errors
    /// See [`RecordSeal::seal`].
    pub(super) fn seal_plan(&self, what: &str, plan: &[u8]) -> Result<Vec<u8>, StoreError> {
        let sealed = self.sealing.seal_kept_plan(&self.context(what), plan);
        sealed.map_err(|error| StoreError::Unsealed { place: self.place.clone(), error })
    }

    /// The plan from its stored form.
    ///
    /// # Errors
    /// See [`RecordSeal::open`].
    pub(super) fn open_plan(&self, what: &str, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
        Ok(self.told(self.sealing.open_kept_plan(&self.context(what), bytes))?.plain.to_vec())
    }

    fn told(&self, opened: Result<Opened, OpenError>) -> Result<Opened, StoreError> {
        opened.map_err(|error| StoreError::Unopened { place: self.place.clone(), error })
    }

    /// Whether states are configured to be encrypted.
    pub(super) fn covers(&self) -> bool {
        self.sealing.covers(&TargetName::State)
    }

    /// Whether plans are sealed.
    pub(super) fn seals_plans(&self) -> bool {
        self.seals() || self.sealing.seals(&TargetName::Plan)
    }

    /// The stored form of a text.
    ///
    /// # Errors
    /// See [`RecordSeal::seal`].
    pub(super) fn seal_text(&self, what: &str, text: &str) -> Result<String, StoreError> {
        if !self.seals() {
            return Ok(text.to_owned());
        }
        let sealed = self.seal(what, text.as_bytes().to_vec())?;
        Ok(format!("{SEALED_TEXT}{}", data_encoding::BASE64.encode(&sealed)))
    }

    /// A doubt with its reason decrypted.
    ///
    /// # Errors
    /// See [`RecordSeal::open`].
    pub(super) fn open_doubt(&self, mut doubt: Doubt) -> Result<Doubt, StoreError> {
        if let Some(text) = doubt.reason.strip_prefix(SEALED_TEXT)
            && let Ok(sealed) = data_encoding::BASE64.decode(text.as_bytes())
        {
            let plain = self.open(&doubt_name(&doubt.run.to_string(), doubt.op.0), &sealed)?;
            doubt.reason = String::from_utf8_lossy(&plain).into_owned();
        }
        Ok(doubt)
    }
}

/// The number of records that are resealed by one edit. Such an edit blocks the server for a few milliseconds.
const RESEALED_AT_ONCE: usize = 500;

/// Writes that store the `outdated` records again with the same contents, so that they are sealed as the settings now
/// require. Contains at most [`RESEALED_AT_ONCE`] records. `None` if no record is outdated.
pub(super) fn updated(snapshot: &Snapshot, outdated: &[Subject]) -> Option<Writes> {
    let mut writes = Writes::default();
    for subject in outdated.iter().take(RESEALED_AT_ONCE) {
        match subject {
            Subject::Instance(address) => {
                let record = snapshot.instance(address).map(|stored| stored.record.clone());
                writes.instances.extend(record.map(|r| InstanceWrite { address: address.clone(), record: Some(r) }));
            }
            Subject::Output(name) => {
                let record = snapshot.outputs.get(name).map(|stored| stored.record.clone());
                writes.outputs.extend(record.map(|r| OutputWrite { name: name.clone(), record: Some(r) }));
            }
            Subject::Checks => writes.checks = Some(snapshot.checks.clone()),
            Subject::Dependents(_) => {}
        }
    }
    (!outdated.is_empty()).then_some(writes)
}

/// The name under which the reason of a doubt is sealed.
pub(super) fn doubt_name(run: &str, op: u32) -> String {
    format!("doubt {run} {op}")
}

/// The name under which the result or failure of an operation is sealed.
pub(super) fn outcome_name(run: &str, op: u32) -> String {
    format!("outcome {run} {op}")
}
