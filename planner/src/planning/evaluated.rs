//! Parts of values that become operations of their own: `evaluate`, run once, whose result all readers take.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::value::{Transform, Value};

use super::Planning;

impl Planning {
    /// The part as the result of an `evaluate` of its formula. One that calls functions of a configured provider is run
    /// where that is open.
    pub(super) fn evaluated(&self, label: SmolStr, part: &Value, formula: &Formula) -> Value {
        let operation = match called(formula).instance {
            Some(instance) => {
                let opened = self.opened(&instance);
                let shard = Self::shard(&instance);
                let waits = part.deep_origin();
                let operation = self.builder.evaluate_with(label, formula.clone(), opened.provider, shard, waits);
                self.in_shard(&instance, operation.id());
                operation
            }
            None => self.builder.evaluate(label, formula.clone(), part.deep_origin()),
        };
        let op = FormulaOp::Result(operation.id(), Path::ROOT);
        let result = Formula::new(op, formula.ty().clone(), formula.range().cloned());
        // The operation waits for all that the value came from, so waiting for it is enough.
        let replaced = weft_expressions::symbolic::replace_formulas(&part.without_provenance(), &result);
        replaced.add_origin(Some(&Origin::after(operation.id())))
    }

    /// The configuration of a block with what is computed by impure calls taken apart: whoever looks at the object
    /// later, after a crash too, finds what it was made of, and not what the calls would give then. Calls of configured
    /// providers are taken apart too, since those may be open elsewhere.
    pub(super) fn impure_apart(&self, address: &str, config: Value) -> Value {
        self.apart(address, config, |found| found.impure || found.instance.is_some())
    }

    /// An output of the root module with calls of configured providers taken apart.
    pub(super) fn calls_apart(&self, address: &str, value: Value) -> Value {
        self.apart(address, value, |found| found.instance.is_some())
    }

    fn apart(&self, address: &str, value: Value, wanted: impl Fn(&Called) -> bool) -> Value {
        if !value.deep().formula {
            return value;
        }
        value.transform(&mut |path, part| match part.formula() {
            Some(formula) if !part.deep().ephemeral && wanted(&called(formula)) => {
                Transform::Replace(self.evaluated(SmolStr::from(format!("{address}{path}")), part, formula))
            }
            Some(_) => Transform::Replace(part.clone()),
            None => Transform::Descend,
        })
    }
}

/// What a formula calls, as far as it is not the result of another operation.
#[derive(Default)]
struct Called {
    /// Something that gives another value each time.
    impure: bool,
    /// The configured provider whose functions it calls; the first of several, as those of the others run without
    /// configuration.
    instance: Option<ProviderInstance>,
}

fn called(formula: &Formula) -> Called {
    let mut found = Called::default();
    let mut seen = FxHashSet::default();
    let mut pending = vec![formula.clone()];
    while let Some(formula) = pending.pop() {
        if !seen.insert(formula.identity()) {
            continue;
        }
        match formula.op() {
            FormulaOp::Call { occurrence: Some(_), .. } => found.impure = true,
            FormulaOp::ProviderCall { provider, .. } if found.instance.is_none() => {
                found.instance = provider.parse().ok();
            }
            _ => {}
        }
        formula.operands(|operand| pending.push(operand.clone()));
    }
    found
}
