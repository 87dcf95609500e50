//! The contents of a write-ahead file, and what they add to a state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;

use super::entry::{Entry, TermStart};
use super::origin::Origin;
use super::problems::failed;
use crate::check::CheckRecord;
use crate::error::StoreError;
use crate::record::{InstanceRecord, OutputWrite};
use crate::redis::Tip;
use crate::result::{InstanceWrite, Writes};
use crate::run::{Digest, OpIndex};
use crate::snapshot::Snapshot;
use crate::step::StoreStep;
use crate::subject::{Revision, Subject};
use crate::tfstate::StateFile;

/// The suffix of the name of a file that cannot be used.
pub(super) const UNUSED: &str = ".unused";

/// The contents of a write-ahead file.
#[derive(Debug)]
pub(super) struct TermFile {
    path: PathBuf,
    /// The locked file, if the process that wrote it is dead.
    lock: Option<File>,
    pub(super) start: TermStart,
    pub(super) entries: Vec<Entry>,
}

/// The part of a file that a state lacks.
#[derive(Debug, Default)]
pub(super) struct Additions {
    /// The writes that the state lacks.
    pub(super) writes: Writes,
    /// The instances that were changed outside of the run since.
    pub(super) changed: Vec<String>,
}

impl TermFile {
    /// A file with these entries, or `None` if the first entry is missing.
    pub(super) fn new(path: PathBuf, lock: Option<File>, entries: Vec<Entry>) -> Option<TermFile> {
        let mut entries = entries.into_iter();
        let Some(Entry::Began(start)) = entries.next() else { return None };
        Some(TermFile { path, lock, start, entries: entries.collect() })
    }

    /// The path, for messages.
    pub(super) fn shown(&self) -> String {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).display().to_string()
    }

    /// Whether this process has locked the file, because the process that wrote it is dead.
    pub(super) fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// The state when the term began.
    pub(super) fn origin(&self) -> Origin {
        Origin::of(&self.path)
    }

    /// The results in the file, oldest first.
    pub(super) fn writes(&self) -> impl Iterator<Item = &Writes> {
        self.steps_after(0).filter_map(StoreStep::writes)
    }

    /// The sort key: orders the terms of one run by their beginning.
    pub(super) fn order(&self) -> (&str, u64, &PathBuf) {
        (self.start.run.as_str(), self.start.token.epoch, &self.path)
    }

    /// The last acknowledged line.
    pub(super) fn tip(&self) -> &Tip {
        self.tips().last().unwrap_or(&self.start.tip)
    }

    /// The acknowledged lines after which the entries were appended, in order.
    pub(super) fn tips(&self) -> impl Iterator<Item = &Tip> {
        let after = self.entries.iter().filter_map(|entry| match entry {
            Entry::Claimed { tip, .. } | Entry::Steps { tip, .. } => Some(tip),
            Entry::Began(_) | Entry::Bases(_) | Entry::Ended { .. } => None,
        });
        std::iter::once(&self.start.tip).chain(after)
    }

    /// The serial of the state at the end of the term, and whether the run was stopped, if the term has ended.
    pub(super) fn ended(&self) -> Option<(u64, bool)> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Ended { serial, stopped } => Some((*serial, *stopped)),
            _ => None,
        })
    }

    /// The steps that the store accepted after this number of lines.
    fn steps_after(&self, lines: u64) -> impl Iterator<Item = &StoreStep> {
        let steps = self.entries.iter().filter_map(move |entry| match entry {
            Entry::Steps { steps, tip } if tip.lines > lines => Some(steps),
            _ => None,
        });
        steps.flatten()
    }

    /// The objects of calls that began after this number of lines.
    pub(super) fn begun_after(&self, lines: u64) -> BTreeSet<String> {
        let target = |step: &StoreStep| match step {
            StoreStep::Intent(intent) => Some(intent.target.to_string()),
            _ => None,
        };
        self.steps_after(lines).filter_map(target).collect()
    }

    /// The objects with an intent and no result.
    pub(super) fn uncertain(&self) -> Vec<String> {
        let mut open: BTreeMap<OpIndex, String> = BTreeMap::new();
        for step in self.steps_after(0) {
            match (step, step.op()) {
                (StoreStep::Intent(intent), _) => drop(open.insert(intent.op, intent.target.to_string())),
                // A doubt stays uncertain until it is resolved.
                (StoreStep::Doubt { .. } | StoreStep::Stray(_), _) | (_, None) => {}
                (_, Some(op)) => drop(open.remove(&op)),
            }
        }
        open.into_values().collect()
    }

    /// The part of the file that this state lacks. The last record of an instance is included if the state still has an
    /// earlier one: a record of this run, or the record from before the run. If the state has neither the last record
    /// nor an earlier one, something else has changed the instance, and its address is in `changed`. Outputs and check
    /// results are included only if `changed` is empty.
    pub(super) fn additions(&self, state: &Snapshot) -> Additions {
        let bases = self.bases();
        let mut written: BTreeMap<&str, Vec<Option<&InstanceRecord>>> = BTreeMap::new();
        let mut outputs: BTreeMap<&str, &OutputWrite> = BTreeMap::new();
        let mut checks: Option<&Option<Vec<CheckRecord>>> = None;
        for writes in self.steps_after(0).filter_map(StoreStep::writes) {
            for write in &writes.instances {
                written.entry(&write.address).or_default().push(write.record.as_ref());
            }
            outputs.extend(writes.outputs.iter().map(|write| (write.name.as_str(), write)));
            checks = writes.checks.as_ref().or(checks);
        }
        let mut additions = Additions::default();
        for (address, versions) in written {
            let now = state.instance(address).map(|stored| digest_of_record(&stored.record));
            let Some(last) = versions.last().copied() else { continue };
            let versions: Vec<Option<Digest>> = versions.iter().map(|version| version.map(digest_of_record)).collect();
            if versions.last() == Some(&now) {
                continue;
            }
            let base = bases.get(address).copied();
            if versions.contains(&now) || now == base {
                additions.writes.instances.push(InstanceWrite { address: address.to_owned(), record: last.cloned() });
            } else {
                additions.changed.push(address.to_owned());
            }
        }
        if !additions.changed.is_empty() {
            return additions;
        }
        for (name, write) in outputs {
            if state.outputs.get(name).map(|stored| &stored.record) != write.record.as_ref() {
                additions.writes.outputs.push(write.clone());
            }
        }
        additions.writes.checks = checks.filter(|checks| **checks != state.checks).cloned();
        additions
    }

    /// The claimed subjects and their revisions before the run.
    pub(super) fn claimed(&self) -> BTreeMap<Subject, Revision> {
        let mut claimed = BTreeMap::new();
        for entry in &self.entries {
            if let Entry::Claimed { claims, .. } = entry {
                claimed.extend(claims.iter().map(|claim| (claim.subject.clone(), claim.expected)));
            }
        }
        claimed
    }

    /// The instances that the run wrote.
    pub(super) fn written(&self) -> impl Iterator<Item = Subject> {
        let writes = self.steps_after(0).filter_map(StoreStep::writes);
        writes.flat_map(|writes| &writes.instances).map(|write| Subject::Instance(write.address.clone()))
    }

    fn bases(&self) -> BTreeMap<&str, Digest> {
        let mut found = BTreeMap::new();
        for entry in &self.entries {
            if let Entry::Bases(bases) = entry {
                found.extend(bases.iter().map(|(address, digest)| (address.as_str(), *digest)));
            }
        }
        found
    }

    /// Removes the file.
    pub(super) fn remove(self) -> Result<(), StoreError> {
        let TermFile { path, lock, .. } = self;
        let removed = std::fs::remove_file(&path).map_err(failed("removing", &path));
        drop(lock);
        removed
    }

    /// Moves the file aside. Returns its new path.
    pub(super) fn set_aside(self) -> Result<String, StoreError> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(UNUSED);
        std::fs::rename(&self.path, &name).map_err(failed("moving", &self.path))?;
        Ok(PathBuf::from(name).display().to_string())
    }
}

/// The digest of a state file that contains only `record`. A record that was read from a copy may differ in white
/// space, and writing the state file removes such differences.
pub(super) fn digest_of_record(record: &InstanceRecord) -> Digest {
    let instances = [(String::new(), record.clone())].into();
    let file = StateFile { lineage: String::new(), serial: 0, instances, ..StateFile::create() };
    Digest::of(&file.to_bytes())
}
