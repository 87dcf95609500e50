//! Formulas as a table without duplicates. Each row refers to earlier rows.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::source::SourceRange;
use crate::types::Type;
use crate::value::formula::{Formula, FormulaOp};

/// A row of a [`FormulaTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FormulaIndex(pub u32);

/// One formula, whose operands are earlier rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormulaRow {
    /// The computation.
    pub op: FormulaOp<FormulaIndex>,
    /// The type of the result, as far as it is known.
    pub ty: Type,
    /// The position in the source.
    pub range: Option<SourceRange>,
}

/// A table of formulas. Operands precede the formulas that use them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FormulaTable {
    /// The rows.
    pub rows: Vec<FormulaRow>,
}

/// Why a table is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// A row refers to itself, to a later row, or to a row that does not exist.
    #[error("formula {row} names formula {operand}, which does not come before formula {row}")]
    ForwardReference {
        /// The row.
        row: u32,
        /// The row that the invalid row refers to.
        operand: u32,
    },
}

impl FormulaTable {
    /// All rows as shared formulas, in the order of the table. Takes time linear in the size of the table.
    pub fn formulas(&self) -> Result<Vec<Formula>, TableError> {
        let mut built: Vec<Formula> = Vec::with_capacity(self.rows.len());
        for (i, row) in self.rows.iter().enumerate() {
            let mut wrong = None;
            row.op.operands(&mut |operand: &FormulaIndex| {
                if operand.0 as usize >= i {
                    wrong = Some(operand.0);
                }
            });
            if let Some(operand) = wrong {
                return Err(TableError::ForwardReference { row: i as u32, operand });
            }
            let op = row.op.map(&mut |operand| built[operand.0 as usize].clone());
            built.push(Formula::new(op, row.ty.clone(), row.range.clone()));
        }
        Ok(built)
    }
}
