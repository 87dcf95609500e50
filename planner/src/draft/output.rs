//! Drafts outputs of the root module.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::changes::OutputChange;
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{Action, Builder};
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;

use crate::gaps::Gaps;
use crate::kind::KindOfPlan;
use crate::whole::outputs::RootOutputs;

/// Drafts an operation for each output that changes. `gaps` are the formulas of placeholders for missing instances.
pub(crate) fn outputs(
    builder: &Builder,
    kind: &dyn KindOfPlan,
    wanted: &RootOutputs,
    changes: &BTreeMap<SmolStr, OutputChange>,
    gaps: &mut Gaps,
) {
    for (name, change) in changes.iter().filter(|(_, change)| change.action != Action::NoOp) {
        let Some(output) = wanted.get(name) else {
            builder.output(name.clone(), None, Type::Dynamic, false, change.after.clone(), None);
            continue;
        };
        // A known value is stored regardless of the results of other operations, because nothing at apply can change
        // the value. So the value is stored even if it comes from an object whose create fails. A value that is null
        // because of a placeholder is not known: it is stored only if nothing that the output waits for fails.
        let value = gaps.nulled(&output.value);
        let settled = kind.settled_output(&output.value, &change.after);
        let waits = match settled {
            Some(_) => [None, None],
            None => [output.waits.clone(), value.deep_origin()],
        };
        let formula = settled.map_or_else(|| value.to_formula(), Formula::constant);
        // The formula may have a dynamic type although the value does not. If so, the type of the output stays dynamic
        // in the plan, and the formula's result determines it at apply.
        let ty = if formula.ty().has_dynamic() { Type::Dynamic } else { output.value.ty() };
        let waits = Origin::union(waits.into_iter().flatten());
        let after = change.after.clone();
        let drafted = builder.output(name.clone(), Some(formula), ty, output.sensitive, after, waits);
        if let Some(notice) = &output.deprecated {
            builder.deprecate_output(drafted, notice.clone());
        }
    }
}
