//! The last write of each subject, and the writes that lead from one state to another.

use std::collections::BTreeMap;

use crate::check::CheckRecord;
use crate::record::OutputWrite;
use crate::result::{InstanceWrite, Writes};
use crate::snapshot::Snapshot;
use crate::tfstate::StateFile;

/// The last write of each subject.
#[derive(Default)]
pub(super) struct LastWrites {
    instances: BTreeMap<String, InstanceWrite>,
    outputs: BTreeMap<String, OutputWrite>,
    checks: Option<Option<Vec<CheckRecord>>>,
}

impl LastWrites {
    /// Adds writes. Later ones replace earlier ones.
    pub(super) fn add_writes(&mut self, writes: Writes) {
        self.instances.extend(writes.instances.into_iter().map(|write| (write.address.clone(), write)));
        self.outputs.extend(writes.outputs.into_iter().map(|write| (write.name.clone(), write)));
        if writes.checks.is_some() {
            self.checks = writes.checks;
        }
    }

    /// All of them.
    pub(super) fn into_writes(self) -> Writes {
        let (instances, outputs) = (self.instances.into_values().collect(), self.outputs.into_values().collect());
        Writes { instances, outputs, checks: self.checks }
    }
}

/// The writes that lead from this state to the content of the file.
pub(super) fn leading_to(file: &StateFile, snapshot: &Snapshot) -> Writes {
    let mut writes = Writes::default();
    for (address, record) in &file.instances {
        if snapshot.instances.get(&record.address).is_none_or(|known| known.record != *record) {
            writes.instances.push(InstanceWrite { address: address.clone(), record: Some(record.clone()) });
        }
    }
    let names = snapshot.instances.keys().map(ToString::to_string);
    let gone = names.filter(|address| !file.instances.contains_key(address));
    writes.instances.extend(gone.map(|address| InstanceWrite { address, record: None }));
    for (name, record) in &file.outputs {
        if snapshot.outputs.get(name).is_none_or(|known| known.record != *record) {
            writes.outputs.push(OutputWrite { name: name.clone(), record: Some(record.clone()) });
        }
    }
    let gone = snapshot.outputs.keys().filter(|name| !file.outputs.contains_key(*name));
    writes.outputs.extend(gone.map(|name| OutputWrite { name: name.clone(), record: None }));
    writes.checks = (snapshot.checks != file.checks).then(|| file.checks.clone());
    writes
}
