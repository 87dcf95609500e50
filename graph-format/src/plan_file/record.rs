//! Records: the content of sections, encoded with postcard.

use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::depth::Guard;
use super::error::{Damage, WriteError};
use super::section::SectionKind;

/// The content of a section that holds `record`.
pub(super) fn encode(kind: SectionKind, record: &impl Serialize) -> Result<Vec<u8>, WriteError> {
    postcard::to_stdvec(record).map_err(|_| WriteError::Unwritable(kind))
}

/// Decodes the content of a section, all of which must belong to it.
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
