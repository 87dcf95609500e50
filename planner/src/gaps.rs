//! Placeholders for instances outside the selection that do not exist. Apply cannot compute what depends on them.

use rustc_hash::FxHashSet;
use weft_graph_format::formula::Formula;
use weft_graph_format::value::{Transform, Value};

/// The formulas of the placeholders.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Keeps the formulas, because an identity is unique only while its formula exists.
    formulas: Vec<Formula>,
    identities: FxHashSet<usize>,
}

impl Gaps {
    /// Adds the formula of a placeholder.
    pub(crate) fn add(&mut self, formula: Formula) {
        self.identities.insert(formula.identity());
        self.formulas.push(formula);
    }

    /// Replaces each unknown part that depends on a placeholder with null.
    pub(crate) fn nulled(&self, value: &Value) -> Value {
        if self.formulas.is_empty() {
            return value.clone();
        }
        let mut clean = FxHashSet::default();
        value.transform(&mut |_, part| match part.formula() {
            Some(formula) if !part.is_known() && self.reached(formula, &mut clean) => {
                Transform::Replace(Value::null(part.ty()))
            }
            _ => Transform::Descend,
        })
    }

    /// Whether a formula depends on a placeholder.
    pub(crate) fn reach(&self, formula: &Formula) -> bool {
        !self.formulas.is_empty() && self.reached(formula, &mut FxHashSet::default())
    }

    /// `clean` caches formulas that depend on no placeholder, so shared parts are visited once.
    fn reached(&self, formula: &Formula, clean: &mut FxHashSet<usize>) -> bool {
        let (mut pending, mut seen) = (vec![formula.clone()], FxHashSet::default());
        while let Some(next) = pending.pop() {
            if self.identities.contains(&next.identity()) {
                return true;
            }
            if !clean.contains(&next.identity()) && seen.insert(next.identity()) {
                next.operands(|operand| pending.push(operand.clone()));
            }
        }
        clean.extend(seen);
        false
    }
}
