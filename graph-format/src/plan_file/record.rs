//! Records: the content of sections, encoded with postcard.

use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::depth::Guard;
use super::error::{Damage, WriteError};
use super::section::SectionKind;

/// Encodes a record as the content of a section.
pub(super) fn encode(kind: SectionKind, record: &impl Serialize) -> Result<Vec<u8>, WriteError> {
    postcard::to_stdvec(record).map_err(|_| WriteError::Unwritable(kind))
}

/// Decodes the content of a section. The record must take all of it.
pub(super) fn decode<T: DeserializeOwned>(kind: SectionKind, content: &[u8]) -> Result<T, Damage> {
    let exceeded = Cell::new(false);
    let mut decoder = postcard::Deserializer::from_bytes(content);
    let record = T::deserialize(Guard::new(&mut decoder, &exceeded)).map_err(|_| match exceeded.get() {
        true => Damage::TooDeep(kind),
        false => Damage::Record(kind),
    })?;
    match decoder.finalize() {
        Ok([]) => Ok(record),
        _ => Err(Damage::Record(kind)),
    }
}
