//! Content as bytes: digests, revisions from content, and the check of records before they reach a store.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::json::canonical;
use crate::record::{InstanceObject, InstanceRecord, OutputRecord, PathStep, RawJson, instance_address};
use crate::run::{Digest, OpIndex};
use crate::snapshot::{Revision, Subject};
use crate::step::{Claim, ClaimMode, Outcome, StoreAnswer, StoreStep, Writes};
use crate::store::StoreError;

/// The bytes of plain data, by which it is compared, hashed and kept.
pub(crate) fn bytes_of(value: &impl Serialize) -> Vec<u8> {
    // Serialising plain data into memory has no way to fail: no maps of unknown length, no custom serialisers.
    postcard::to_stdvec(value).unwrap_or_default()
}

/// Digest of plain data.
pub(crate) fn digest_of(value: &impl Serialize) -> Digest {
    Digest::of(&bytes_of(value))
}

/// The revision of a record whose store counts by content: never [`Revision::NEVER`].
pub(crate) fn content_revision(value: &impl Serialize) -> Revision {
    let digest = digest_of(value);
    let mut first = [0; 8];
    first.copy_from_slice(&digest.0[..8]);
    Revision(u64::from_le_bytes(first).max(1))
}

/// Brings the records of all steps to their canonical form.
///
/// # Errors
/// [`StoreError::Record`] if one is not sound; nothing of the batch must then be written.
pub(crate) fn prepare(steps: &mut [StoreStep]) -> Result<(), StoreError> {
    for step in steps {
        match step {
            StoreStep::Commit(commit) => prepare_writes(&mut commit.writes)?,
            StoreStep::Fail(failure) => prepare_writes(&mut failure.writes)?,
            StoreStep::Checks(writes) => prepare_writes(writes)?,
            StoreStep::Resolve(resolution) => {
                let (op, attempt) = match &mut resolution.outcome {
                    Outcome::Pending => continue,
                    Outcome::Done(commit) => {
                        prepare_writes(&mut commit.writes)?;
                        (commit.op, commit.attempt)
                    }
                    Outcome::Failed(failure) => {
                        prepare_writes(&mut failure.writes)?;
                        (failure.op, failure.attempt)
                    }
                };
                if (op, attempt) != (resolution.op, resolution.attempt) {
                    return Err(StoreError::Record {
                        name: format!("operation {}", resolution.op),
                        what: "its resolution speaks of another operation or attempt".to_owned(),
                    });
                }
            }
            StoreStep::Stray(stray) => {
                if let Some(object) = &mut stray.object {
                    prepare_object(&stray.key.address, object)?;
                }
            }
            StoreStep::Intent(_) | StoreStep::Doubt { .. } | StoreStep::Skip { .. } | StoreStep::Reopen { .. } => {}
        }
    }
    Ok(())
}

/// Brings the records of these writes to their canonical form.
///
/// # Errors
/// [`StoreError::Record`] if one is not sound.
pub(crate) fn prepare_writes(writes: &mut Writes) -> Result<(), StoreError> {
    for write in &mut writes.instances {
        if write.record.as_ref().is_some_and(InstanceRecord::is_empty) {
            write.record = None;
        }
        let Some(record) = &mut write.record else { continue };
        let composed = instance_address(&record.module, record.mode, &record.resource_type, &record.name, &record.key);
        if record.address != write.address || composed != write.address {
            return Err(StoreError::Record {
                name: write.address.clone(),
                what: format!("its parts make the address {composed}"),
            });
        }
        for object in record.current.iter_mut().chain(record.deposed.values_mut()) {
            prepare_object(&write.address, object)?;
        }
    }
    for write in &mut writes.outputs {
        if let Some(record) = &mut write.record {
            let name = format!("output.{}", write.name);
            let OutputRecord { value, value_type, .. } = record;
            prepare_json(&name, value)?;
            prepare_json(&name, value_type)?;
        }
    }
    Ok(())
}

fn prepare_object(name: &str, object: &mut InstanceObject) -> Result<(), StoreError> {
    prepare_json(name, &mut object.attributes)?;
    if let Some(identity) = &mut object.identity {
        prepare_json(name, identity)?;
    }
    for step in object.sensitive_paths.iter_mut().flatten() {
        if let PathStep::Index(key) = step {
            prepare_json(name, key)?;
            *step = PathStep::index(std::mem::take(key));
        }
    }
    Ok(())
}

fn prepare_json(name: &str, json: &mut RawJson) -> Result<(), StoreError> {
    match canonical(json.as_str()) {
        Ok(text) => {
            *json = RawJson::new(text);
            Ok(())
        }
        Err(error) => Err(StoreError::Record { name: name.to_owned(), what: error.to_string() }),
    }
}

/// Positions of steps that are refused only because the same batch, sent before, had already taken their operation
/// further: a later step of the same operation is known as repeated. They too are repeated ones.
pub(crate) fn overtaken(steps: &[StoreStep], answers: &[StoreAnswer]) -> Vec<usize> {
    let mut repeated: BTreeSet<OpIndex> = BTreeSet::new();
    let mut found = Vec::new();
    for (position, (step, answer)) in steps.iter().zip(answers).enumerate().rev() {
        match answer {
            StoreAnswer::Ok { repeated: true, .. } => {
                repeated.extend(step.op());
            }
            StoreAnswer::Illegal { .. } if step.op().is_some_and(|op| repeated.contains(&op)) => found.push(position),
            _ => {}
        }
    }
    found
}

/// Claims in order of subject, each subject once: the stronger mode wins, the first expectation stands.
pub(crate) fn ordered(claims: &[Claim]) -> Vec<Claim> {
    let mut by_subject: BTreeMap<&Subject, Claim> = BTreeMap::new();
    for claim in claims {
        by_subject
            .entry(&claim.subject)
            .and_modify(|known| known.mode = known.mode.max(claim.mode))
            .or_insert_with(|| claim.clone());
    }
    by_subject.into_values().collect()
}

/// Whether two claims of different runs exclude each other.
pub(crate) fn excludes(one: ClaimMode, other: ClaimMode) -> bool {
    one == ClaimMode::Exclusive || other == ClaimMode::Exclusive
}

/// The subjects that these writes touch, in order of the writes: instances, outputs, checks.
pub(crate) fn subjects(writes: &Writes) -> Vec<Subject> {
    let instances = writes.instances.iter().map(|write| Subject::Instance(write.address.clone()));
    let outputs = writes.outputs.iter().map(|write| Subject::Output(write.name.clone()));
    let checks = writes.checks.iter().map(|_| Subject::Checks);
    instances.chain(outputs).chain(checks).collect()
}
