//! Parts of values that become operations of their own: `evaluate`, run once, whose result all readers take.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::value::{Transform, Value};

use super::Planning;

impl Planning {
    /// The part as the result of an `evaluate` of its formula.
    pub(super) fn evaluated(&self, label: SmolStr, part: &Value, formula: &Formula) -> Value {
        let operation = self.builder.evaluate(label, formula.clone(), part.deep_origin());
        let op = FormulaOp::Result(operation.id(), Path::ROOT);
        let result = Formula::new(op, formula.ty().clone(), formula.range().cloned());
        // The operation waits for all that the value came from, so waiting for it is enough.
        let replaced = weft_expressions::symbolic::replace_formulas(&part.without_provenance(), &result);
        replaced.add_origin(Some(&Origin::after(operation.id())))
    }

    /// The configuration of a block with what is computed by impure calls taken apart: whoever looks at the object
    /// later, after a crash too, finds what it was made of, and not what the calls would give then.
    pub(super) fn impure_apart(&self, address: &str, config: Value) -> Value {
        if !config.deep().formula {
            return config;
        }
        config.transform(&mut |path, part| match part.formula() {
            Some(formula) if is_impure(formula) && !part.deep().ephemeral => {
                Transform::Replace(self.evaluated(SmolStr::from(format!("{address}{path}")), part, formula))
            }
            Some(_) => Transform::Replace(part.clone()),
            None => Transform::Descend,
        })
    }
}

/// Whether an impure call is anywhere in the formula, as far as it is not the result of another operation.
fn is_impure(formula: &Formula) -> bool {
    let mut seen = FxHashSet::default();
    let mut pending = vec![formula.clone()];
    while let Some(formula) = pending.pop() {
        if !seen.insert(formula.identity()) {
            continue;
        }
        if let FormulaOp::Call { occurrence: Some(_), .. } = formula.op() {
            return true;
        }
        formula.operands(|operand| pending.push(operand.clone()));
    }
    false
}
