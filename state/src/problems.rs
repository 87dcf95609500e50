//! Errors that several stores share, as constructors.

use crate::error::StoreError;
use crate::run::OpIndex;

/// The process is ending while a store operation is in progress.
pub(crate) fn process_ending() -> StoreError {
    StoreError::Closed("the process is ending".to_owned())
}

/// A resolution has the commit or failure of another operation or attempt.
pub(crate) fn other_resolution(op: OpIndex) -> StoreError {
    StoreError::Record {
        name: format!("operation {op}"),
        what: "the resolution is for another operation or attempt".to_owned(),
    }
}

/// The address of a record does not match its parts, which make up `composed`.
pub(crate) fn other_address(address: &str, composed: &str) -> StoreError {
    StoreError::Record { name: address.to_owned(), what: format!("its parts belong to another address, {composed}") }
}
