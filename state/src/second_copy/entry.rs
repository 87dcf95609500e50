//! The entries of a write-ahead file, as plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::redis::Tip;
use crate::run::{Digest, Holder, Incarnation, RunId, Token};
use crate::step::{Claim, StoreStep};

/// The beginning of a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TermStart {
    pub(super) incarnation: Incarnation,
    pub(super) lineage: String,
    pub(super) run: RunId,
    pub(super) token: Token,
    pub(super) holder: Holder,
    pub(super) tip: Tip,
}

/// One entry of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Entry {
    /// The first entry.
    Began(TermStart),
    /// The digests of the claimed instances before the run changes them. Instances that did not exist are absent.
    Bases(BTreeMap<String, Digest>),
    /// The claims that the store has granted.
    Claimed { claims: Vec<Claim>, tip: Tip },
    /// Steps that the store has accepted.
    Steps { steps: Vec<StoreStep>, tip: Tip },
    /// The end of the term, with the serial of the state. The file stays until the copy has this serial, too.
    Ended { stopped: bool, serial: u64 },
}
