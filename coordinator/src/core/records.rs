//! The state's records of the instances that a run changes. Workers report changes of objects, and the store receives
//! whole records.

use std::collections::BTreeMap;

use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_state::{
    DoubtKey, IdOwners, InstanceObject, InstanceRecord, InstanceWrite, Revision, StoredProvider, Subject, Writes,
};

use weft_protocol::{ObjectChange, ObjectWrite, TaskWrites};

/// Why a worker's writes cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("{0} is ephemeral, so it cannot be stored")]
    Ephemeral(ResourceInstance),
    #[error("{address} has no object to be {what}")]
    Absent { address: ResourceInstance, what: &'static str },
    #[error("{address} has a deposed object {key} already")]
    Occupied { address: ResourceInstance, key: String },
}

/// The records, and the revisions as of the last step that was sent to the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    instances: BTreeMap<ResourceInstance, InstanceRecord>,
    /// Revisions in the answers of the store.
    revisions: BTreeMap<Subject, Revision>,
    /// The number of writes of an instance that the store has not answered.
    unanswered: BTreeMap<Subject, u32>,
    /// The addresses of objects by id. This map is built at the first use.
    owners: Option<IdOwners>,
}

impl Records {
    pub(crate) fn new(instances: Vec<InstanceRecord>, revisions: BTreeMap<Subject, Revision>) -> Records {
        let instances = instances.into_iter().map(|record| (record.address.clone(), record)).collect();
        Records { instances, revisions, unanswered: BTreeMap::new(), owners: None }
    }

    /// The revision of an instance in the store. `None` if the revision is unknown, or if the store has not answered
    /// every write of the instance, including writes of its deposed objects.
    pub(crate) fn revision(&self, address: &str) -> Option<Revision> {
        let subject = Subject::Instance(address.to_owned());
        if self.unanswered.contains_key(&subject) {
            return None;
        }
        self.revisions.get(&subject).copied()
    }

    /// Sets the revisions from one answer of the store. The answer has one revision for each instance of the write.
    pub(crate) fn set_revisions(&mut self, revisions: Vec<(Subject, Revision)>) {
        for (subject, revision) in revisions {
            if let Some(count) = self.unanswered.get_mut(&subject) {
                *count -= 1;
                if *count == 0 {
                    self.unanswered.remove(&subject);
                }
            }
            self.revisions.insert(subject, revision);
        }
    }

    /// Applies changes of objects, and returns the complete records. After an error, nothing has changed.
    pub(crate) fn write(&mut self, writes: TaskWrites) -> Result<Writes, RecordError> {
        let mut changed: BTreeMap<ResourceInstance, InstanceRecord> = BTreeMap::new();
        let load = |changed: &mut BTreeMap<_, _>, address: &ResourceInstance| -> Result<(), RecordError> {
            if !changed.contains_key(address) {
                let record = match self.instances.get(address) {
                    Some(record) => record.clone(),
                    None => new_record(address)?,
                };
                changed.insert(address.clone(), record);
            }
            Ok(())
        };
        for write in writes.objects {
            load(&mut changed, &write.address)?;
            let mut along = BTreeMap::new();
            if let ObjectChange::DeposedFrom(previous) = &write.change {
                load(&mut changed, previous)?;
                along = changed.get_mut(previous).map(|record| std::mem::take(&mut record.deposed)).unwrap_or_default();
            }
            if let Some(record) = changed.get_mut(&write.address) {
                record.deposed.append(&mut along);
                change(record, write)?;
            }
        }
        let mut instances = Vec::with_capacity(changed.len());
        for (address, record) in changed {
            let text = address.to_string();
            *self.unanswered.entry(Subject::Instance(text.clone())).or_default() += 1;
            let kept = (!record.is_empty()).then(|| record.clone());
            if record.is_empty() {
                self.instances.remove(&address);
            } else {
                if let Some(owners) = &mut self.owners {
                    owners.add(&record);
                }
                self.instances.insert(address, record);
            }
            instances.push(InstanceWrite { address: text, record: kept });
        }
        Ok(Writes { instances, outputs: writes.outputs, checks: None })
    }

    /// Another address of this run that already has one of the written objects. An id belongs to the address that last
    /// had an object with this id.
    pub(crate) fn other_owner(&mut self, writes: &TaskWrites) -> Option<String> {
        let owners = self.owners.get_or_insert_with(|| {
            let mut owners = IdOwners::default();
            self.instances.values().for_each(|record| owners.add(record));
            owners
        });
        writes.objects.iter().find_map(|write| match &write.change {
            ObjectChange::Put(object) => owners.other_with(&write.address, object),
            _ => None,
        })
    }

    /// Objects of a late report that differ from the recorded objects.
    pub(crate) fn strays(&self, writes: &TaskWrites) -> Vec<(DoubtKey, Option<InstanceObject>)> {
        let mut strays = Vec::new();
        for write in &writes.objects {
            let record = self.instances.get(&write.address);
            let recorded = match &write.deposed {
                None => record.and_then(|record| record.current.as_ref()),
                Some(key) => record.and_then(|record| record.deposed.get(key)),
            };
            let reported = match &write.change {
                ObjectChange::Put(object) => Some(object.as_ref()),
                ObjectChange::Remove => None,
                ObjectChange::DeposeAs(_)
                | ObjectChange::RestoreFrom(_)
                | ObjectChange::DeposedFrom(_)
                | ObjectChange::Untaint => continue,
            };
            if recorded != reported {
                strays.push((
                    DoubtKey { address: write.address.to_string(), deposed: write.deposed.clone() },
                    reported.cloned(),
                ));
            }
        }
        strays
    }
}

fn change(record: &mut InstanceRecord, write: ObjectWrite) -> Result<(), RecordError> {
    if !write.provider.is_empty() {
        record.provider = StoredProvider::read(&write.provider);
    }
    match (write.change, write.deposed) {
        (ObjectChange::Put(object), None) => record.current = Some(*object),
        (ObjectChange::Put(object), Some(deposed)) => {
            record.deposed.insert(deposed, *object);
        }
        (ObjectChange::Remove, None) => record.current = None,
        (ObjectChange::Remove, Some(deposed)) => {
            record.deposed.remove(&deposed);
        }
        (ObjectChange::DeposeAs(key), _) => {
            // A retried create reports the replaced object again. That object is still deposed, or was restored.
            if record.deposed.contains_key(&key) && record.current.is_none() {
                return Ok(());
            }
            if record.deposed.contains_key(&key) {
                return Err(RecordError::Occupied { address: write.address, key: key.to_string() });
            }
            let Some(object) = record.current.take() else {
                return Err(RecordError::Absent { address: write.address, what: "set aside" });
            };
            record.deposed.insert(key, object);
        }
        (ObjectChange::Untaint, _) => match &mut record.current {
            Some(object) => object.tainted = false,
            None => return Err(RecordError::Absent { address: write.address, what: "untainted" }),
        },
        // The caller has already moved the deposed objects.
        (ObjectChange::DeposedFrom(_), _) => {}
        (ObjectChange::RestoreFrom(deposed), _) => {
            if record.current.is_none() {
                let Some(object) = record.deposed.remove(&deposed) else {
                    return Err(RecordError::Absent { address: write.address, what: "restored" });
                };
                record.current = Some(object);
            }
        }
    }
    Ok(())
}

/// An empty record for an address that the state does not have yet.
fn new_record(address: &ResourceInstance) -> Result<InstanceRecord, RecordError> {
    if address.resource.mode == ResourceMode::Ephemeral {
        return Err(RecordError::Ephemeral(address.clone()));
    }
    // The provider is empty here, because the write sets it.
    Ok(InstanceRecord::new(address.clone(), StoredProvider::read("")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::address::DeposedKey;
    use weft_state::RawJson;

    fn key(text: &str) -> DeposedKey {
        DeposedKey::parse(text).unwrap()
    }

    fn put(address: &str, text: &str) -> ObjectWrite {
        ObjectWrite {
            address: address.parse().unwrap(),
            provider: "provider[\"h/n/t\"].x".to_owned(),
            deposed: None,
            change: ObjectChange::Put(Box::new(InstanceObject::new(1, RawJson::new(text)))),
        }
    }

    fn with(address: &str, deposed: Option<&str>, change: ObjectChange) -> ObjectWrite {
        ObjectWrite { address: address.parse().unwrap(), provider: String::new(), deposed: deposed.map(key), change }
    }

    fn one(write: ObjectWrite) -> TaskWrites {
        TaskWrites { objects: vec![write], outputs: Vec::new() }
    }

    #[test]
    fn create_before_destroy_keeps_both_objects() {
        const A: &str = "module.m[\"k\"].aws_x.y[0]";
        let mut records = Records::default();
        let written = records.write(one(put(A, "{}"))).unwrap();
        let record = written.instances[0].record.clone().unwrap();
        assert_eq!(record.address, A.parse().unwrap());
        assert_eq!(record.provider.text(), "provider[\"h/n/t\"].x");
        records.write(one(with(A, None, ObjectChange::DeposeAs(key("00000001"))))).unwrap();
        let written = records.write(one(put(A, "{\"a\":1}"))).unwrap();
        let record = written.instances[0].record.clone().unwrap();
        assert!(record.current.is_some() && record.deposed.len() == 1);
        let written = records.write(one(with(A, Some("00000001"), ObjectChange::Remove))).unwrap();
        assert!(written.instances[0].record.as_ref().unwrap().deposed.is_empty());
        let written = records.write(one(with(A, None, ObjectChange::Remove))).unwrap();
        assert!(written.instances[0].record.is_none());
    }

    #[test]
    fn a_revision_is_unknown_during_a_write() {
        let subject = Subject::Instance("a.b".to_owned());
        let mut records = Records::new(Vec::new(), BTreeMap::from([(subject.clone(), Revision(1))]));
        assert_eq!(records.revision("a.b"), Some(Revision(1)));
        records.write(one(put("a.b", "{\"id\":1}"))).unwrap();
        records.write(one(put("a.b", "{\"id\":2}"))).unwrap();
        assert_eq!(records.revision("a.b"), None);
        records.set_revisions(vec![(subject.clone(), Revision(2))]);
        assert_eq!(records.revision("a.b"), None);
        records.set_revisions(vec![(subject, Revision(3))]);
        assert_eq!(records.revision("a.b"), Some(Revision(3)));
    }

    #[test]
    fn a_late_report_with_another_object_is_a_stray() {
        let mut records = Records::default();
        records.write(one(put("a.b", "{\"id\":1}"))).unwrap();
        assert!(records.strays(&one(put("a.b", "{\"id\":1}"))).is_empty());
        let strays = records.strays(&one(put("a.b", "{\"id\":2}")));
        assert_eq!(strays.len(), 1);
        assert_eq!(strays[0].0, DoubtKey::current("a.b"));
    }

    #[test]
    fn invalid_writes_change_nothing() {
        let mut records = Records::default();
        assert!(matches!(records.write(one(put("ephemeral.a.b", "{}"))), Err(RecordError::Ephemeral(_))));
        let missing = with("a.b", None, ObjectChange::DeposeAs(key("00000001")));
        assert!(matches!(records.write(one(missing)), Err(RecordError::Absent { .. })));
    }
}
