//! Bytes of content: digests, revisions derived from content, and the validation of records before they reach a store.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::error::StoreError;
use crate::json::canonical;
use crate::problems;
use crate::record::{InstanceObject, InstanceRecord, OutputRecord, PathStep, RawJson};
use crate::result::Writes;
use crate::run::{Digest, OpIndex};
use crate::step::{Claim, ClaimMode, DoubtOutcome, StoreAnswer, StoreStep};
use crate::subject::{Revision, Subject};

/// The serialized form of plain data, used for comparing, hashing and storing it.
pub(crate) fn bytes_of(value: &impl Serialize) -> Vec<u8> {
    // Serializing plain data into memory cannot fail: there are no maps of unknown length and no custom serializers.
    postcard::to_stdvec(value).unwrap_or_default()
}

/// The digest of plain data.
pub(crate) fn digest_of(value: &impl Serialize) -> Digest {
    Digest::of(&bytes_of(value))
}

/// The revision of a record in a store that derives revisions from content. It is never [`Revision::NEVER`].
pub(crate) fn content_revision(value: &impl Serialize) -> Revision {
    let digest = digest_of(value);
    let mut first = [0; 8];
    first.copy_from_slice(&digest.0[..8]);
    Revision(u64::from_le_bytes(first).max(1))
}

/// Converts the records of all steps to their canonical form.
///
/// # Errors
/// [`StoreError::Record`] if a record is not valid. The caller must then write nothing of the batch.
pub(crate) fn prepare(steps: &mut [StoreStep]) -> Result<(), StoreError> {
    for step in steps {
        match step {
            StoreStep::Commit(commit) => prepare_writes(&mut commit.writes)?,
            StoreStep::Fail(failure) => prepare_writes(&mut failure.writes)?,
            StoreStep::Checks(writes) => prepare_writes(writes)?,
            StoreStep::Resolve(resolution) => {
                let (op, attempt) = match &mut resolution.outcome {
                    DoubtOutcome::Pending => continue,
                    DoubtOutcome::Done(commit) => {
                        prepare_writes(&mut commit.writes)?;
                        (commit.op, commit.attempt)
                    }
                    DoubtOutcome::Failed(failure) => {
                        prepare_writes(&mut failure.writes)?;
                        (failure.op, failure.attempt)
                    }
                };
                if (op, attempt) != (resolution.op, resolution.attempt) {
                    return Err(problems::other_resolution(resolution.op));
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

/// Converts the records of these writes to their canonical form.
///
/// # Errors
/// [`StoreError::Record`] if a record is not valid.
pub(crate) fn prepare_writes(writes: &mut Writes) -> Result<(), StoreError> {
    for write in &mut writes.instances {
        if write.record.as_ref().is_some_and(InstanceRecord::is_empty) {
            write.record = None;
        }
        let Some(record) = &mut write.record else { continue };
        let composed = record.address.to_string();
        if composed != write.address {
            return Err(problems::other_address(&write.address, &composed));
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

/// The positions of the steps that the store refused only because the batch was sent twice. For example, a batch has
/// two steps of one operation, and the first delivery executes both. In the second delivery, the operation is beyond
/// the first step, so this step is refused, and the second step is answered as repeated. So a refused step counts if
/// the answer to a later step of the same operation is marked as repeated.
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

/// Combines claims of the same subject, and sorts the claims by subject. A combined claim has the strongest mode and
/// the first expected revision.
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

/// Whether claims with these modes by two different runs exclude each other.
pub(crate) fn excludes(one: ClaimMode, other: ClaimMode) -> bool {
    one == ClaimMode::Exclusive || other == ClaimMode::Exclusive
}
