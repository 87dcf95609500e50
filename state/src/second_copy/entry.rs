//! The entries of a write-ahead file. Plain data.

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
    /// The digests of the claimed instances before the run changes them. Absent ones are left out.
    Bases(BTreeMap<String, Digest>),
    /// The claims that the store has granted.
    Claimed { claims: Vec<Claim>, tip: Tip },
    /// Steps that the store has taken.
    Steps { steps: Vec<StoreStep>, tip: Tip },
    /// The term has ended, and the state has this serial. The file stays until the copy has it, too.
    Ended { stopped: bool, serial: u64 },
}
