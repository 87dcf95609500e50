//! All formulas of a graph in one table without duplicates, and the choice of the formulas that become operations.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{Drafted, FinishError};
use crate::graph::opcode::Operation;
use crate::graph::{FormulaIndex, FormulaRow, OperationId};
use crate::path::Path;
use crate::source::SourceRange;
use crate::value::formula::{BinaryOperator, Formula, FormulaOp};
use crate::value::{DEEPEST_VALUE, Value};

/// A formula with several users becomes an operation if it reads at least this many results. So N readers of M results
/// cost N + M edges. A formula that reads fewer results costs each of its users only a few extra edges.
const WIDE_FORMULA: u32 = 8;

/// No operation has used the row so far.
const NOBODY: u32 = u32::MAX;
/// Several operations use the row.
const SEVERAL: u32 = u32::MAX - 1;

/// The table of formulas.
pub(super) struct Interned {
    pub(super) rows: Vec<FormulaRow>,
    by_content: FxHashMap<Vec<u8>, u32>,
    by_node: FxHashMap<usize, u32>,
    /// The formulas that were visited. Nodes are identified by address, so the formulas must stay alive.
    keep: Vec<Formula>,
    can_fail: Vec<bool>,
    /// The parameters that each row uses and that a row above it binds, in ascending order.
    open: Vec<Box<[u32]>>,
    /// The values of `prior_state` operations, by draft.
    priors: FxHashMap<u32, Value>,
    /// Whether each draft has a result that formulas may read.
    readable: Vec<bool>,
}

/// A formula that becomes an operation.
pub(super) struct Wide {
    pub(super) operation: u32,
    pub(super) row: u32,
    pub(super) range: Option<SourceRange>,
}

impl Interned {
    pub(super) fn new(priors: FxHashMap<u32, Value>, readable: Vec<bool>) -> Interned {
        Interned {
            rows: Vec::new(),
            by_content: FxHashMap::default(),
            by_node: FxHashMap::default(),
            keep: Vec::new(),
            can_fail: Vec::new(),
            open: Vec::new(),
            priors,
            readable,
        }
    }

    /// Adds a formula to the table and returns its row. `user` names the operation that uses the formula, for errors.
    pub(super) fn intern(&mut self, root: &Formula, user: &str) -> Result<u32, FinishError> {
        let mut pending = vec![(root.clone(), false)];
        while let Some((formula, entered)) = pending.pop() {
            if self.by_node.contains_key(&formula.identity()) {
                continue;
            }
            if entered {
                self.add(&formula, user)?;
            } else {
                pending.push((formula.clone(), true));
                formula.operands(|operand| pending.push((operand.clone(), false)));
            }
        }
        Ok(self.by_node[&root.identity()])
    }

    fn add(&mut self, formula: &Formula, user: &str) -> Result<(), FinishError> {
        let by_node = &self.by_node;
        let mut op = formula.op().map(&mut |operand: &Formula| FormulaIndex(by_node[&operand.identity()]));
        let mut ty = formula.ty().clone();
        if let FormulaOp::Result(operation, path) = &op {
            let nothing = || FinishError::NoResult { reader: user.to_owned(), operation: operation.0 };
            if !self.readable.get(operation.0 as usize).copied().unwrap_or(false) {
                return Err(nothing());
            }
            // A prior object is known. Its value replaces the reference, so no result has to be sent.
            if let Some(prior) = self.priors.get(&operation.0) {
                let value = prior.at_path(path).map_err(|_| nothing())?;
                ty = value.ty();
                op = FormulaOp::Constant(value);
            }
        }
        let stored_ephemeral = match &op {
            FormulaOp::Constant(value) => value.stores_ephemeral(),
            FormulaOp::Defaults(_, defaults) => defaults.any_value(&mut |value| value.stores_ephemeral()),
            _ => false,
        };
        if stored_ephemeral {
            return Err(FinishError::EphemeralConstant(user.to_owned()));
        }
        let row = FormulaRow { op, ty, range: formula.range().cloned() };
        // Ephemeral constants were refused above, so only the depth can be the reason.
        let content = postcard::to_stdvec(&row).map_err(|_| {
            FinishError::Unwritable(format!("{user} has a value that is nested deeper than {DEEPEST_VALUE} levels"))
        })?;
        let next = self.rows.len() as u32;
        let index = *self.by_content.entry(content).or_insert(next);
        if index == next {
            self.open.push(self.open_of(&row.op));
            self.can_fail.push(formula.can_fail());
            self.rows.push(row);
        }
        self.by_node.insert(formula.identity(), index);
        self.keep.push(formula.clone());
        Ok(())
    }

    fn open_of(&self, op: &FormulaOp<FormulaIndex>) -> Box<[u32]> {
        let mut open = BTreeSet::new();
        if let FormulaOp::Parameter(parameter) = op {
            open.insert(parameter.0);
        }
        op.operands(&mut |operand: &FormulaIndex| open.extend(self.open[operand.0 as usize].iter().copied()));
        match op {
            FormulaOp::For { key_parameter, value_parameter, .. } => {
                open.remove(&key_parameter.0);
                open.remove(&value_parameter.0);
            }
            FormulaOp::Splat { parameter, .. } => {
                open.remove(&parameter.0);
            }
            _ => {}
        }
        open.into_iter().collect()
    }

    /// If several operations use a wide row ([`WIDE_FORMULA`]), moves the row out of the formulas that contain it. The
    /// caller adds an operation for each moved row. The formulas then read the result of this operation.
    ///
    /// A row that may fail stays in place if a formula may skip it, because the row is in the branch of a conditional,
    /// in `try`, or in the body of a `for`. As an operation, the row would always be computed, and would report its
    /// error.
    ///
    /// Rows that are `live` stay in place too: the result of an operation would be stored.
    pub(super) fn widen(&mut self, operations: &[Drafted], live: &[bool]) -> Vec<Wide> {
        let count = self.rows.len();
        let (owner, spared) = self.users(operations);
        let mut uses = vec![0u32; count];
        for row in &self.rows {
            row.op.operands(&mut |operand: &FormulaIndex| uses[operand.0 as usize] += 1);
        }
        for drafted in operations {
            drafted.operation.formulas().into_iter().for_each(|root| uses[*root as usize] += 1);
        }
        let mut width = vec![0u32; count];
        let mut wide = Vec::new();
        for i in 0..count {
            let row = &self.rows[i];
            let mut reads = u32::from(matches!(row.op, FormulaOp::Result(..)));
            row.op.operands(&mut |operand: &FormulaIndex| {
                reads = reads.saturating_add(width[operand.0 as usize]).min(WIDE_FORMULA);
            });
            width[i] = reads;
            let chosen = reads >= WIDE_FORMULA
                && uses[i] >= 2
                && owner[i] == SEVERAL
                && self.open[i].is_empty()
                && !live[i]
                && !(self.can_fail[i] && spared[i]);
            if !chosen {
                continue;
            }
            width[i] = 1;
            let operation = (operations.len() + wide.len()) as u32;
            let (ty, range) = (row.ty.clone(), row.range.clone());
            let by_result = FormulaOp::Result(OperationId(operation), Path::ROOT);
            let by_result = FormulaRow { op: by_result, ty, range: range.clone() };
            let row = std::mem::replace(&mut self.rows[i], by_result);
            wide.push(Wide { operation, row: self.rows.len() as u32, range });
            self.rows.push(row);
        }
        wide
    }

    /// For each row, whether its value may depend on values that are never stored. Such values are inputs, ephemeral
    /// objects, and parts that are marked ephemeral. An `evaluate` has a lower draft number than its readers, so the
    /// row of its formula comes first.
    ///
    /// # Errors
    /// Returns an error if a formula reads the result of an `evaluate` with a higher draft number. Such a result might
    /// be stored although it must not be.
    pub(super) fn live_rows(&self, operations: &[Drafted]) -> Result<Vec<bool>, FinishError> {
        let mut live: Vec<bool> = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let mut found = match &row.op {
                FormulaOp::Input(_) => true,
                FormulaOp::Mark(_, marks) => marks.is_ephemeral(),
                FormulaOp::Result(operation, _) => match &operations[operation.0 as usize].operation {
                    Operation::OpenEphemeral { .. } | Operation::EvaluateLive { .. } => true,
                    Operation::Evaluate { formula, .. } => {
                        *live.get(*formula as usize).ok_or(FinishError::ReadBeforeDrafted { operation: operation.0 })?
                    }
                    _ => false,
                },
                _ => false,
            };
            row.op.operands(&mut |operand: &FormulaIndex| {
                found |= live[operand.0 as usize];
            });
            live.push(found);
        }
        Ok(live)
    }

    /// For each row, the operation that uses it ([`SEVERAL`] if there is more than one), and whether an operation that
    /// uses the row may skip it.
    fn users(&self, operations: &[Drafted]) -> (Vec<u32>, Vec<bool>) {
        let mut owner = vec![NOBODY; self.rows.len()];
        let mut spared = vec![false; self.rows.len()];
        let merge = |known: u32, user: u32| match known {
            NOBODY => user,
            same if same == user => same,
            _ => SEVERAL,
        };
        for (drafted, id) in operations.iter().zip(0..) {
            for root in drafted.operation.formulas() {
                let known = &mut owner[*root as usize];
                *known = merge(*known, id);
            }
            // A message that fails is a failure of its own check, and that of a validation may never be evaluated.
            if let Operation::Check { message, .. } = &drafted.operation {
                spared[*message as usize] = true;
            }
        }
        for i in (0..self.rows.len()).rev() {
            let (user, all_spared) = (owner[i], spared[i]);
            let op = &self.rows[i].op;
            let strict = strict_operands(op);
            let mut place = 0;
            op.operands(&mut |operand: &FormulaIndex| {
                let at = operand.0 as usize;
                owner[at] = merge(owner[at], user);
                spared[at] |= all_spared || place >= strict;
                place += 1;
            });
        }
        (owner, spared)
    }

    /// For each operation, the operations whose results its formulas read, in ascending order.
    ///
    /// The results below a shared row are listed once. A row that is used only once has no list of its own: it is
    /// traversed together with the row or operation that uses it.
    pub(super) fn results_read(&self, operations: &[Drafted]) -> Vec<Vec<u32>> {
        let mut uses = vec![0u32; self.rows.len()];
        for row in &self.rows {
            row.op.operands(&mut |operand: &FormulaIndex| uses[operand.0 as usize] += 1);
        }
        for drafted in operations {
            drafted.operation.formulas().into_iter().for_each(|root| uses[*root as usize] += 1);
        }
        let mut known: Vec<Option<Box<[u32]>>> = vec![None; self.rows.len()];
        // In this order, the parts of a shared row come before it.
        for i in 0..self.rows.len() {
            if uses[i] >= 2 {
                known[i] = Some(self.reads_below(&[i as u32], &known).into());
            }
        }
        operations
            .iter()
            .map(|drafted| {
                let roots: Vec<u32> = drafted.operation.formulas().into_iter().copied().collect();
                self.reads_below(&roots, &known)
            })
            .collect()
    }

    fn reads_below(&self, roots: &[u32], known: &[Option<Box<[u32]>>]) -> Vec<u32> {
        let mut found = BTreeSet::new();
        let mut pending: Vec<u32> = roots.to_vec();
        while let Some(row) = pending.pop() {
            if let Some(reads) = &known[row as usize] {
                found.extend(reads.iter().copied());
                continue;
            }
            let op = &self.rows[row as usize].op;
            if let FormulaOp::Result(operation, _) = op {
                found.insert(operation.0);
            }
            op.operands(&mut |operand: &FormulaIndex| pending.push(operand.0));
        }
        found.into_iter().collect()
    }
}

/// The number of leading operands that are computed whenever the row is computed, so that their errors are always
/// reported.
fn strict_operands<F>(op: &FormulaOp<F>) -> usize {
    match op {
        FormulaOp::Conditional { .. }
        | FormulaOp::For { .. }
        | FormulaOp::Splat { .. }
        | FormulaOp::Binary(BinaryOperator::And | BinaryOperator::Or, ..) => 1,
        FormulaOp::Try(_) | FormulaOp::Can(_) => 0,
        _ => usize::MAX,
    }
}
