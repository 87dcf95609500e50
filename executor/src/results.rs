//! The results that the formulas of a shard read, and the parts of the shard's own results that other shards read.

use std::collections::BTreeMap;

use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use weft_graph_format::formula::FormulaOp;
use weft_graph_format::graph::Fragment;
use weft_graph_format::path::Path;
use weft_graph_format::value::Value;
use weft_protocol::Export;

use crate::carried::{self, CarryError};

/// The results that formulas of one shard may read.
#[derive(Debug, Default)]
pub(crate) struct ShardResults {
    values: RwLock<FxHashMap<u32, Value>>,
    /// The parts that formulas of the shard read, by operation.
    read_here: FxHashMap<u32, Vec<Path>>,
    /// The parts of the shard's own results that other shards read, in the order of the exports.
    exports: FxHashMap<u32, Vec<Vec<Path>>>,
}

/// A result in the form in which it leaves the worker.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Published {
    pub(crate) local: Vec<u8>,
    pub(crate) exports: Vec<Vec<u8>>,
}

impl ShardResults {
    /// Prepares a shard without results, in one pass over the formula table of a fragment.
    pub(crate) fn new(fragment: &Fragment, exports: Vec<Export>) -> ShardResults {
        let mut read_here: FxHashMap<u32, Vec<Path>> = FxHashMap::default();
        for row in &fragment.formulas.rows {
            if let FormulaOp::Result(operation, path) = &row.op {
                read_here.entry(operation.0).or_default().push(path.clone());
            }
        }
        for paths in read_here.values_mut() {
            paths.sort();
            // A path covers all longer paths that begin with it.
            paths.dedup_by(|later, earlier| earlier.is_prefix_of(later));
        }
        let mut by_operation: FxHashMap<u32, Vec<Vec<Path>>> = FxHashMap::default();
        for Export { operation, paths } in exports {
            by_operation.entry(operation).or_default().push(paths);
        }
        ShardResults { values: RwLock::default(), read_here, exports: by_operation }
    }

    /// The result of an operation, or the part of it that this shard reads.
    pub(crate) fn get(&self, operation: u32) -> Option<Value> {
        self.values.read().get(&operation).cloned()
    }

    /// Stores a result from a coordinator. Empty bytes stand for a result without readers in this shard.
    pub(crate) fn arrived(&self, operation: u32, bytes: &[u8], live: &LiveResults) -> Result<(), CarryError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let value = match carried::carried(bytes)? {
            Some(value) => Some(value),
            None => live.get(operation),
        };
        if let Some(value) = value {
            self.values.write().insert(operation, value);
        }
        Ok(())
    }

    /// The bytes that replace a result that must not be sent.
    pub(crate) fn withheld(&self, operation: u32) -> Published {
        let exports = self.exports.get(&operation).map(Vec::len).unwrap_or_default();
        Published { local: Vec::new(), exports: vec![carried::withheld(); exports] }
    }

    /// Stores a result for its readers in this shard. Returns the encoded result: the parts that this shard reads, and
    /// the parts that other shards read. An ephemeral value is not sent: it stays among the live results of this
    /// process.
    pub(crate) fn publish(&self, operation: u32, value: &Value, live: &LiveResults) -> Result<Published, CarryError> {
        let here = self.read_here.get(&operation).map(|paths| carried::only(value, paths));
        let exports = self.exports.get(&operation).map(Vec::as_slice).unwrap_or_default();
        let published = if value.deep().ephemeral {
            live.insert(operation, value.clone());
            Published { local: Vec::new(), exports: exports.iter().map(|_| carried::withheld()).collect() }
        } else {
            let local = here.as_ref().map(carried::encode_value).transpose()?.unwrap_or_default();
            let part = |paths: &Vec<Path>| carried::encode_value(&carried::only(value, paths));
            Published { local, exports: exports.iter().map(part).collect::<Result<_, _>>()? }
        };
        if let Some(here) = here {
            self.values.write().insert(operation, here);
        }
        Ok(published)
    }
}

/// Ephemeral results of one run, for other shards in this process.
#[derive(Debug, Default)]
pub(crate) struct LiveResults {
    values: RwLock<BTreeMap<u32, Value>>,
}

impl LiveResults {
    fn get(&self, operation: u32) -> Option<Value> {
        self.values.read().get(&operation).cloned()
    }

    fn insert(&self, operation: u32, value: Value) {
        self.values.write().insert(operation, value);
    }
}

#[cfg(test)]
mod tests {
    use weft_graph_format::formula::FormulaOp;
    use weft_graph_format::graph::{FormulaRow, FormulaTable, OperationId, Shard};
    use weft_graph_format::marks::Marks;
    use weft_graph_format::types::Type;

    use super::*;

    fn reading(paths: &[Path]) -> Fragment {
        let row = |path: &Path| FormulaRow {
            op: FormulaOp::Result(OperationId(1), path.clone()),
            ty: Type::Dynamic,
            range: None,
        };
        let formulas = FormulaTable { rows: paths.iter().map(row).collect() };
        Fragment { shard: Shard::Unplaced, rows: Vec::new(), formulas, foreign: Vec::new() }
    }

    #[test]
    fn only_the_parts_that_are_read_are_kept_and_sent() {
        let (a, b) = (Path::ROOT.attribute("a"), Path::ROOT.attribute("b"));
        let results = ShardResults::new(
            &reading(&[a.attribute("x"), a.clone()]),
            vec![Export { operation: 1, paths: vec![b.clone()] }],
        );
        let value = Value::object([("a", Value::int(1)), ("b", Value::int(2)), ("c", Value::int(3))]);
        let live = LiveResults::default();
        let published = results.publish(1, &value, &live).unwrap();
        assert_eq!(results.get(1), Some(Value::object([("a", Value::int(1))])));
        let export = carried::decode_value(&published.exports[0]).unwrap();
        assert_eq!(export, Value::object([("b", Value::int(2))]));
        let other = ShardResults::new(&reading(&[b]), Vec::new());
        other.arrived(1, &published.exports[0], &live).unwrap();
        assert_eq!(other.get(1), Some(export));
        let unread = ShardResults::new(&reading(&[]), Vec::new()).publish(1, &value, &live).unwrap();
        assert_eq!(unread, Published::default());
    }

    #[test]
    fn an_ephemeral_value_stays_in_the_process() {
        let results =
            ShardResults::new(&reading(&[Path::ROOT]), vec![Export { operation: 1, paths: vec![Path::ROOT] }]);
        let secret = Value::string("hidden").mark(&Marks::EPHEMERAL);
        let live = LiveResults::default();
        let published = results.publish(1, &secret, &live).unwrap();
        assert_eq!(published, Published { local: Vec::new(), exports: vec![carried::withheld()] });
        let here = ShardResults::new(&reading(&[Path::ROOT]), Vec::new());
        here.arrived(1, &published.exports[0], &live).unwrap();
        assert_eq!(here.get(1), Some(secret));
        let elsewhere = ShardResults::new(&reading(&[Path::ROOT]), Vec::new());
        elsewhere.arrived(1, &published.exports[0], &LiveResults::default()).unwrap();
        assert_eq!(elsewhere.get(1), None);
    }
}
