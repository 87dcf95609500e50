//! Types that decode the large records of a plan without keeping their elements. The writer uses these types to check
//! its own records.
//!
//! The fields have the same order as in the records, because records are encoded by position. A record that cannot be
//! read back is not written, so the first plan reveals a missing field.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use smol_str::SmolStr;

use super::{Manifest, SourceSnippets};
use crate::address::ProviderSource;
use crate::changes::{OutputChange, RelevantAttribute, ResourceChange};
use crate::graph::{ForeignResult, FormulaRow, OperationId, OutlineRow, Row, Shard, Waits};
use crate::schema::ProviderSchema;

/// Decodes [`crate::changes::Changes`].
#[derive(Deserialize)]
#[allow(dead_code)] // The fields are decoded, but never used.
pub(super) struct ReadBackChanges {
    resources: Each<ResourceChange>,
    drift: Each<ResourceChange>,
    outputs: BTreeMap<SmolStr, OutputChange>,
    relevant: Each<RelevantAttribute>,
}

/// Decodes [`crate::graph::Fragment`].
#[derive(Deserialize)]
#[allow(dead_code)] // The fields are decoded, but never used.
pub(super) struct ReadBackFragment {
    shard: Shard,
    rows: Each<Row>,
    formulas: ReadBackFormulaTable,
    foreign: Each<ForeignResult>,
}

/// Decodes [`crate::graph::FormulaTable`].
#[derive(Deserialize)]
#[allow(dead_code)] // The fields are decoded, but never used.
struct ReadBackFormulaTable {
    rows: Each<FormulaRow>,
}

/// Decodes the outline of a graph.
#[derive(Deserialize)]
#[allow(dead_code)] // The fields are decoded, but never used.
pub(super) struct ReadBackOutline {
    operations: u32,
    waiters: Each<Waits>,
    rows: Each<OutlineRow>,
    final_states: BTreeMap<String, OperationId>,
}

/// Decodes [`super::FragmentPackage`].
#[derive(Deserialize)]
#[allow(dead_code)] // The fields are decoded, but never used.
pub(super) struct ReadBackPackage {
    manifest: Manifest,
    schemas: BTreeMap<ProviderSource, ProviderSchema>,
    sources: SourceSnippets,
    fragment: ReadBackFragment,
}

/// A sequence whose elements are decoded one at a time and dropped.
struct Each<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Each<T>, D::Error> {
        deserializer.deserialize_seq(Each(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
    type Value = Each<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Each<T>, A::Error> {
        while elements.next_element::<T>()?.is_some() {}
        Ok(self)
    }
}
