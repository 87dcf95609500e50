//! Parts of values that become `evaluate` operations, so that they are computed once and all readers use the result.

use std::fmt::Display;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::value::{Transform, Value};

use crate::agenda::planned::Computed;
use crate::planner::Planner;

impl Planner {
    /// Adds an `evaluate` operation that computes `formula`. Returns `part` with a formula that reads the result of
    /// this operation. If `formula` calls functions of a configured provider, the operation runs where that provider is
    /// open.
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
        // The operation waits for all origins of the value, so readers only wait for the operation.
        let replaced = weft_expressions::symbolic::replace_formulas(&part.without_provenance(), &result);
        replaced.add_origin(Some(&Origin::after(operation)))
    }

    /// Moves the impure calls in the arguments of an object or provisioner (`config`) into operations of their own. So
    /// everything that uses these arguments at apply gets the same values, even after a crash. Calls of functions of
    /// configured providers are moved, too, because those providers may be open on another worker.
    pub(crate) fn impure_apart(&self, address: &dyn Display, config: Value) -> Value {
        self.apart(address, config, |found| found.impure || found.instance.is_some())
    }

    /// Moves calls of functions of configured providers in an output of the root module into operations of their own.
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

/// The calls in a formula, except those inside the results of other operations.
#[derive(Default)]
struct Called {
    /// Whether a call is impure: it yields a different value each time.
    impure: bool,
    /// The configured provider whose functions the formula calls. If the formula calls functions of several configured
    /// providers, this is the first one. The functions of the other providers run without configuration.
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
                found.instance = provider.instance().cloned();
            }
            _ => {}
        }
        formula.operands(|operand| pending.push(operand.clone()));
    }
    found
}
