//! Computes the writes that turn one state into another. This module does no I/O.

use crate::record::OutputWrite;
use crate::result::{InstanceWrite, Writes};
use crate::snapshot::Snapshot;
use crate::tfstate::StateFile;

/// The writes that turn this state into the content of the file.
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
