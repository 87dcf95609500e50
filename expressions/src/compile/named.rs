//! The names of the values that formulas use, for diagnostics.

use smol_str::SmolStr;
use weft_graph_format::diagnostic::InvolvedValue;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::OperationId;
use weft_graph_format::marks::Marks;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::value::Value;

use super::run::Run;
use super::{Node, NodeId, ResultSource};
use crate::involved;

/// The maximum number of nodes that are searched for one problem. This number is enough for typical expressions, and
/// the search takes little time compared to their evaluation.
const MOST_NODES: usize = 256;

/// The origin of a value in a formula.
#[derive(Clone)]
pub(super) enum Source {
    /// A part of the result of an operation.
    Result(OperationId, Path),
    /// A part of a variable that the user supplies again at apply. Such variables are ephemeral.
    Input(SmolStr, Path),
}

impl Source {
    /// The source of a formula. `first` is the source of its first operand.
    pub(super) fn of(formula: &Formula, first: Option<&Source>) -> Option<Source> {
        match formula.op() {
            FormulaOp::Result(operation, path) => Some(Source::Result(*operation, path.clone())),
            FormulaOp::Input(name) => Some(Source::Input(name.clone(), Path::ROOT)),
            FormulaOp::Attribute(_, name) => first.map(|source| source.part(ValueStep::Attribute(name.clone()))),
            _ => None,
        }
    }

    fn part(&self, step: ValueStep) -> Source {
        match self {
            Source::Result(operation, path) => Source::Result(*operation, path.with(step)),
            Source::Input(name, path) => Source::Input(name.clone(), path.with(step)),
        }
    }

    fn text(&self, results: &dyn ResultSource) -> Option<String> {
        match self {
            Source::Result(operation, path) => Some(format!("{}{path}", results.name(*operation)?)),
            Source::Input(name, path) => Some(format!("var.{name}{path}")),
        }
    }
}

impl Run<'_> {
    /// The named values that a node was computed from: results of operations, and variables.
    pub(super) fn involved(&self, node: &Node) -> Vec<InvolvedValue> {
        let mut found: Vec<InvolvedValue> = Vec::new();
        let mut seen: Vec<NodeId> = Vec::new();
        let mut pending: Vec<NodeId> = node.operands.iter().rev().copied().collect();
        while let Some(id) = pending.pop() {
            if found.len() >= involved::MOST_VALUES || seen.len() >= MOST_NODES {
                break;
            }
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let operand = &self.program.nodes[id as usize];
            let Some(text) = operand.source.as_ref().and_then(|source| source.text(self.results)) else {
                // The parts of a hidden value are hidden too.
                let hidden = |value: &Value| value.contains_sensitive() || value.deep().ephemeral;
                if !self.slot(id).is_some_and(|outcome| outcome.as_ref().is_ok_and(hidden)) {
                    pending.extend(operand.operands.iter().rev());
                }
                continue;
            };
            let statement = match (&operand.source, self.slot(id)) {
                (Some(Source::Input(..)), Some(Ok(value))) => involved::statement(&value.mark(&Marks::EPHEMERAL)),
                (_, Some(Ok(value))) => involved::statement(value),
                _ => None,
            };
            if let Some(statement) = statement
                && found.iter().all(|known| known.traversal != text)
            {
                found.push(InvolvedValue { traversal: text, statement });
            }
        }
        found.sort_by(|a, b| a.traversal.cmp(&b.traversal));
        found
    }
}
