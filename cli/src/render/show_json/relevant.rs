//! Which attributes of resources a plan rests on: those whose results apply reads.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use weft_graph_format::formula::FormulaOp;
use weft_graph_format::graph::{ExecutionGraph, Operation, OperationId};
use weft_graph_format::path::{Path, Step};

/// The entries of `relevant_attributes`, ordered by address and path.
pub fn attributes(graph: &ExecutionGraph) -> Vec<Json> {
    let mut objects: BTreeMap<OperationId, String> = BTreeMap::new();
    let mut read: Vec<(OperationId, &Path)> = Vec::new();
    for fragment in &graph.fragments {
        for row in &fragment.rows {
            if let Operation::Apply { address, .. } | Operation::ReadData { address, .. } = &row.operation {
                objects.insert(row.id, address.to_string());
            }
        }
        read.extend(fragment.formulas.rows.iter().filter_map(|row| match &row.op {
            FormulaOp::Result(operation, path) => Some((*operation, path)),
            _ => None,
        }));
    }
    let found: BTreeSet<(&String, &Path)> =
        read.into_iter().filter_map(|(operation, path)| Some((objects.get(&operation)?, path))).collect();
    found
        .into_iter()
        .map(|(address, path)| {
            let steps: Vec<Json> = path
                .0
                .iter()
                .map(|step| match step {
                    Step::Attribute(name) | Step::Key(name) => Json::from(name.as_str()),
                    Step::Index(i) => (*i).into(),
                })
                .collect();
            json!({"resource": address, "attribute": steps})
        })
        .collect()
}
