//! Parts of values that become operations of their own: `evaluate`, run once, whose result all readers take.

use std::fmt::Display;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::value::{Transform, Value};

use super::planned::Computed;
use crate::planner::Planner;

impl Planner {
    /// The part as the result of an `evaluate` of its formula. One that calls functions of a configured provider is run
    /// where that is open.
    pub(crate) fn computed(&self, label: SmolStr, part: &Value, formula: &Formula) -> Value {
        let provider = called(formula).instance;
        let mut agenda = self.agenda();
        if let Some(instance) = &provider {
            agenda.reserve_provider(instance);
        }
        let operation = agenda.reserve();
        let waits = part.deep_origin();
        agenda.computed.push(Computed { result: operation, label, formula: formula.clone(), waits, provider });
        drop(agenda);
        let op = FormulaOp::Result(operation, Path::ROOT);
        let result = Formula::new(op, formula.ty().clone(), formula.range().cloned());
        // The operation waits for all that the value came from, so waiting for it is enough.
        let replaced = weft_expressions::symbolic::replace_formulas(&part.without_provenance(), &result);
        replaced.add_origin(Some(&Origin::after(operation)))
    }

    /// The configuration of a block with what is computed by impure calls taken apart: whoever looks at the object
    /// later, after a crash too, finds what it was made of, and not what the calls would give then. Calls of configured
    /// providers are taken apart too, since those may be open elsewhere.
    pub(crate) fn impure_apart(&self, address: &dyn Display, config: Value) -> Value {
        self.apart(address, config, |found| found.impure || found.instance.is_some())
    }

    /// An output of the root module with calls of configured providers taken apart.
    pub(crate) fn calls_apart(&self, address: &dyn Display, value: Value) -> Value {
        self.apart(address, value, |found| found.instance.is_some())
    }

    fn apart(&self, address: &dyn Display, value: Value, wanted: impl Fn(&Called) -> bool) -> Value {
        if !value.deep().formula {
            return value;
        }
        value.transform(&mut |path, part| match part.formula() {
            Some(formula) if !part.deep().ephemeral && wanted(&called(formula)) => {
                Transform::Replace(self.computed(SmolStr::from(format!("{address}{path}")), part, formula))
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
