//! The whole state at one moment, for planning and for commands that show the state.

use std::collections::BTreeMap;

use weft_graph_format::address::ResourceInstance;
use weft_graph_format::bare::BareResource;
use weft_graph_format::stored::is_provider_memory;

use crate::check::CheckRecord;
use crate::record::{InstanceRecord, OutputRecord};
use crate::subject::{Doubt, DoubtKey, Revision, Subject};
use crate::tfstate::StateFile;

/// An instance with its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredInstance {
    /// The record.
    pub record: InstanceRecord,
    /// Its revision.
    pub revision: Revision,
}

/// An output with its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOutput {
    /// The record.
    pub record: OutputRecord,
    /// Its revision.
    pub revision: Revision,
}

/// Why a plan does not belong to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrelated {
    /// The plan was made for a state of another lineage.
    OtherState,
    /// The plan was made when there was no state. Now there is a state.
    NoLongerNew,
}

/// The state at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The lineage of the state, or empty if there is no state yet.
    pub lineage: String,
    /// The state's serial.
    pub serial: u64,
    /// The version of the tool that wrote the state last, or empty if there is no state yet.
    pub terraform_version: String,
    /// Resource instances by address, which is also the address in the record.
    pub instances: BTreeMap<ResourceInstance, StoredInstance>,
    /// Root outputs by name, the memories of provider instances ([`is_provider_memory`]), and resources without
    /// instances ([`BareResource`]).
    pub outputs: BTreeMap<String, StoredOutput>,
    /// The results of checks. `None` is JSON null.
    pub checks: Option<Vec<CheckRecord>>,
    /// The revision of the check results.
    pub checks_revision: Revision,
    /// The revisions of subjects that existed earlier, and of `Subject::Dependents`.
    pub other_revisions: BTreeMap<Subject, Revision>,
    /// Open doubts of all runs.
    pub doubts: BTreeMap<DoubtKey, Doubt>,
}

impl Snapshot {
    /// The revision that a plan must record for an instance.
    pub fn instance_revision(&self, address: &ResourceInstance) -> Revision {
        match self.instances.get(address) {
            Some(stored) => stored.revision,
            None => self.other_revision(&Subject::Instance(address.to_string())),
        }
    }

    /// The revision that a plan must record for a subject. [`Snapshot::instance_revision`] is cheaper if the caller has
    /// the address of an instance.
    pub fn revision(&self, subject: &Subject) -> Revision {
        let held = match subject {
            Subject::Instance(address) => self.instance(address).map(|stored| stored.revision),
            Subject::Output(name) => self.outputs.get(name).map(|stored| stored.revision),
            Subject::Checks => Some(self.checks_revision),
            Subject::Dependents(_) => None,
        };
        held.unwrap_or_else(|| self.other_revision(subject))
    }

    /// The outputs of the configuration, without the memories of provider instances and without bare resources.
    pub fn named_outputs(&self) -> impl Iterator<Item = (&String, &StoredOutput)> {
        self.outputs.iter().filter(|(name, _)| !is_provider_memory(name))
    }

    /// The memories of provider instances, by address.
    pub fn provider_memories(&self) -> impl Iterator<Item = (&String, &StoredOutput)> {
        let is_memory = |name: &str| is_provider_memory(name) && BareResource::of_name(name).is_none();
        self.outputs.iter().filter(move |(name, _)| is_memory(name))
    }

    /// The entries of resources without instances. An entry may be out of date: the state may have instances of its
    /// resource.
    pub fn bare_resources(&self) -> impl Iterator<Item = BareResource> {
        self.outputs.keys().filter_map(|name| BareResource::of_name(name))
    }

    fn other_revision(&self, subject: &Subject) -> Revision {
        self.other_revisions.get(subject).copied().unwrap_or_default()
    }

    /// The instance with this address, as text. Journals have addresses as text.
    pub fn instance(&self, name: &str) -> Option<&StoredInstance> {
        self.instances.get(&name.parse().ok()?)
    }

    /// The instances in the order of their addresses as text. Lists that users see have this order.
    pub fn in_text_order(&self) -> Vec<(String, &StoredInstance)> {
        let mut all: Vec<_> = self.instances.iter().map(|(address, stored)| (address.to_string(), stored)).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Whether nothing has ever been written.
    pub fn is_new(&self) -> bool {
        self.serial == 0 && self.is_empty()
    }

    /// Checks whether a plan belongs to this state. `lineage` is the lineage of the state that the plan was made for,
    /// or empty if there was none. Returns the reason if the plan does not belong to this state.
    pub fn unrelated(&self, lineage: &str) -> Option<Unrelated> {
        if lineage.is_empty() {
            return (!self.is_new()).then_some(Unrelated::NoLongerNew);
        }
        (self.lineage != lineage).then_some(Unrelated::OtherState)
    }

    /// The content of the state file.
    pub fn into_state_file(self) -> StateFile {
        StateFile {
            terraform_version: self.terraform_version,
            serial: self.serial,
            lineage: self.lineage,
            outputs: self.outputs.into_iter().map(|(name, stored)| (name, stored.record)).collect(),
            instances: self.instances.into_iter().map(|(name, stored)| (name.to_string(), stored.record)).collect(),
            checks: self.checks,
        }
    }

    /// Whether a state file would have no content.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.outputs.is_empty() && self.checks.is_none()
    }
}
