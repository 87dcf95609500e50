//! The content of the state, with a revision for each subject.

use std::collections::{BTreeMap, BTreeSet};

use super::RevisionRule;
use crate::check::CheckRecord;
use crate::content::{content_revision, digest_of};
use crate::record::OutputWrite;
use crate::record::{InstanceRecord, OutputRecord};
use crate::run::Digest;
use crate::snapshot::{StoredInstance, StoredOutput};
use crate::subject::{Revision, Subject};

/// Instances, outputs and results of checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LedgerContent {
    rule: RevisionRule,
    /// The number of the last commit.
    sequence: u64,
    instances: BTreeMap<String, StoredInstance>,
    outputs: BTreeMap<String, StoredOutput>,
    checks: Option<Vec<CheckRecord>>,
    checks_revision: Revision,
    /// The last revisions of removed subjects, and of dependents, under [`RevisionRule::Sequence`].
    others: BTreeMap<Subject, Revision>,
    /// The instances that depend on each resource.
    dependents: BTreeMap<String, BTreeSet<String>>,
}

impl LedgerContent {
    /// Empty content.
    pub(super) fn new(rule: RevisionRule) -> LedgerContent {
        LedgerContent {
            rule,
            sequence: 0,
            instances: BTreeMap::new(),
            outputs: BTreeMap::new(),
            checks: None,
            checks_revision: Revision::NEVER,
            others: BTreeMap::new(),
            dependents: BTreeMap::new(),
        }
    }

    /// Replaces the content with that of a state file.
    pub(super) fn load(
        &mut self,
        instances: BTreeMap<String, InstanceRecord>,
        outputs: BTreeMap<String, OutputRecord>,
        checks: Option<Vec<CheckRecord>>,
    ) {
        self.instances.clear();
        self.outputs.clear();
        self.dependents.clear();
        for (address, record) in instances {
            self.set_instance(&address, Some(record));
        }
        for (name, record) in outputs {
            self.set_output(OutputWrite { name, record: Some(record) });
        }
        self.set_checks(checks);
    }

    /// Every instance by its address.
    pub(super) fn instances(&self) -> impl Iterator<Item = (&String, &StoredInstance)> {
        self.instances.iter()
    }

    /// Every output by its name.
    pub(super) fn outputs(&self) -> impl Iterator<Item = (&String, &StoredOutput)> {
        self.outputs.iter()
    }

    /// The results of checks.
    pub(super) fn checks(&self) -> Option<&Vec<CheckRecord>> {
        self.checks.as_ref()
    }

    /// The revisions of removed subjects, and of dependents.
    pub(super) fn other_revisions(&self) -> BTreeMap<Subject, Revision> {
        let mut revisions = self.others.clone();
        if self.rule == RevisionRule::Content {
            for resource in self.dependents.keys() {
                let subject = Subject::Dependents(resource.clone());
                revisions.insert(subject.clone(), self.revision(&subject));
            }
        }
        revisions
    }

    /// A digest of all content. Equal content has equal digests.
    pub(super) fn digest(&self) -> Digest {
        let revision = |stored: &StoredInstance| match self.rule {
            RevisionRule::Content => stored.revision,
            RevisionRule::Sequence => content_revision(&stored.record),
        };
        let instances: Vec<_> = self.instances.values().map(revision).collect();
        let outputs: Vec<_> = self.outputs.iter().map(|(name, stored)| (name, &stored.record)).collect();
        digest_of(&(self.instances.keys().collect::<Vec<_>>(), instances, outputs, &self.checks))
    }

    /// The current revision of a subject.
    pub(super) fn revision(&self, subject: &Subject) -> Revision {
        let held = match subject {
            Subject::Instance(address) => self.instances.get(address).map(|stored| stored.revision),
            Subject::Output(name) => self.outputs.get(name).map(|stored| stored.revision),
            Subject::Checks => Some(self.checks_revision),
            Subject::Dependents(resource) if self.rule == RevisionRule::Content => {
                self.dependents.get(resource).map(content_revision)
            }
            Subject::Dependents(_) => None,
        };
        held.or_else(|| self.others.get(subject).copied()).unwrap_or_default()
    }

    /// Begins a commit: everything that it writes gets the next revision.
    pub(super) fn begin_commit(&mut self) {
        self.sequence += 1;
    }

    /// The revision for a subject that the current commit writes.
    fn next_revision(&self, content: Option<Revision>) -> Revision {
        match self.rule {
            RevisionRule::Sequence => Revision(self.sequence),
            RevisionRule::Content => content.unwrap_or_default(),
        }
    }

    pub(super) fn set_instance(&mut self, address: &str, record: Option<InstanceRecord>) -> Revision {
        let content = (self.rule == RevisionRule::Content).then(|| record.as_ref().map(content_revision)).flatten();
        let revision = self.next_revision(content);
        let subject = Subject::Instance(address.to_owned());
        let before = match record {
            Some(record) => {
                let stored = StoredInstance { record, revision };
                self.others.remove(&subject);
                self.instances.insert(address.to_owned(), stored)
            }
            None => {
                if self.rule == RevisionRule::Sequence {
                    self.others.insert(subject, revision);
                }
                self.instances.remove(address)
            }
        };
        self.set_dependents(address, before.map(|stored| stored.record));
        revision
    }

    /// Updates the index of dependents after an instance was written. `before` is its old record.
    fn set_dependents(&mut self, address: &str, before: Option<InstanceRecord>) {
        let names = |record: &InstanceRecord| -> BTreeSet<String> {
            record.dependencies().into_iter().map(str::to_owned).collect()
        };
        let old = before.as_ref().map(names).unwrap_or_default();
        let new = self.instances.get(address).map(|stored| names(&stored.record)).unwrap_or_default();
        for resource in old.symmetric_difference(&new) {
            if self.rule == RevisionRule::Sequence {
                self.others.insert(Subject::Dependents(resource.clone()), Revision(self.sequence));
            }
            let known = self.dependents.entry(resource.clone()).or_default();
            if new.contains(resource) {
                known.insert(address.to_owned());
            } else {
                known.remove(address);
                if known.is_empty() {
                    self.dependents.remove(resource);
                }
            }
        }
    }

    pub(super) fn set_output(&mut self, write: OutputWrite) -> Revision {
        let subject = Subject::Output(write.name.clone());
        let content =
            (self.rule == RevisionRule::Content).then(|| write.record.as_ref().map(content_revision)).flatten();
        let revision = self.next_revision(content);
        match write.record {
            Some(record) => {
                self.others.remove(&subject);
                self.outputs.insert(write.name, StoredOutput { record, revision });
            }
            None => {
                self.outputs.remove(&write.name);
                if self.rule == RevisionRule::Sequence {
                    self.others.insert(subject, revision);
                }
            }
        }
        revision
    }

    pub(super) fn set_checks(&mut self, checks: Option<Vec<CheckRecord>>) -> Revision {
        let content = checks.as_ref().map(content_revision);
        self.checks_revision = self.next_revision(content);
        self.checks = checks;
        self.checks_revision
    }
}
