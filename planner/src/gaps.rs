//! Placeholders for instances outside the selection that do not exist. Apply cannot compute what depends on them.

use rustc_hash::{FxHashMap, FxHashSet};
use weft_graph_format::formula::Formula;
use weft_graph_format::value::{Transform, Value};

/// The formulas of the placeholders.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Keeps the formulas, because an identity is unique only while its formula exists.
    formulas: Vec<Formula>,
    identities: FxHashSet<usize>,
    /// Formulas that depend on no placeholder, by their identities. A later placeholder is in none of these formulas.
    clean: FxHashMap<usize, Formula>,
}

impl Gaps {
    /// Adds the formula of a placeholder.
    pub(crate) fn add(&mut self, formula: Formula) {
        self.identities.insert(formula.identity());
        self.formulas.push(formula);
    }

    /// Replaces each unknown part that depends on a placeholder with null.
    pub(crate) fn nulled(&mut self, value: &Value) -> Value {
        if self.formulas.is_empty() {
            return value.clone();
        }
        let Gaps { identities, clean, .. } = self;
        value.transform(&mut |_, part| match part.formula() {
            Some(formula) if !part.is_known() && reached(formula, &of(identities), clean) => {
                Transform::Replace(Value::null(part.ty()))
            }
            _ => Transform::Descend,
        })
    }

    /// Whether a formula depends on a placeholder.
    pub(crate) fn reach(&mut self, formula: &Formula) -> bool {
        !self.formulas.is_empty() && reached(formula, &of(&self.identities), &mut self.clean)
    }
}

/// Whether a formula is one of the placeholders with these identities.
fn of(placeholders: &FxHashSet<usize>) -> impl Fn(&Formula) -> bool {
    |formula| placeholders.contains(&formula.identity())
}

/// Whether a part of a formula is `wanted`. `clean` caches formulas without such parts, so shared parts are visited
/// once.
pub(crate) fn reached(
    formula: &Formula,
    wanted: &dyn Fn(&Formula) -> bool,
    clean: &mut FxHashMap<usize, Formula>,
) -> bool {
    let (mut pending, mut seen) = (vec![formula.clone()], FxHashMap::default());
    while let Some(next) = pending.pop() {
        let identity = next.identity();
        if wanted(&next) {
            return true;
        }
        if !clean.contains_key(&identity) && !seen.contains_key(&identity) {
            next.operands(|operand| pending.push(operand.clone()));
            seen.insert(identity, next);
        }
    }
    clean.extend(seen);
    false
}

#[cfg(test)]
mod tests {
    use weft_graph_format::formula::FormulaOp;
    use weft_graph_format::types::Type;

    use super::*;

    #[test]
    fn what_depends_on_a_placeholder_is_found_and_nulled() {
        let tuple = |parts: Vec<Formula>| {
            let ty = Type::tuple(parts.iter().map(|part| part.ty().clone()));
            Formula::new(FormulaOp::Tuple(parts), ty, None)
        };
        let missing = Formula::constant(Value::null(Type::String));
        let shared = tuple(vec![Formula::constant(Value::int(1))]);
        let (clean, dirty) = (tuple(vec![shared.clone(), shared.clone()]), tuple(vec![shared, missing.clone()]));
        let mut gaps = Gaps::default();
        assert!(!gaps.reach(&dirty), "there are no placeholders yet");
        gaps.add(missing);
        assert!(!gaps.reach(&clean) && gaps.reach(&dirty) && !gaps.reach(&clean) && gaps.reach(&dirty));
        let unknown = |formula: &Formula| Value::unknown(formula.ty().clone()).with_formula(Some(formula.clone()));
        assert!(gaps.nulled(&unknown(&dirty)).is_null());
        assert!(!gaps.nulled(&unknown(&clean)).is_known());
    }
}
