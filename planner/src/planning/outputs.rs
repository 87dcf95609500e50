//! Outputs of the root module.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use weft_evaluator::glue::RootOutput;
use weft_evaluator::selection::Selection;
use weft_graph_format::changes::OutputChange;
use weft_graph_format::codec::{json, type_json};
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::Action;
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::{Planning, without_provenance};

impl Planning {
    /// In a plan to destroy all outputs go; what they would be now is what they are destroyed from.
    pub(crate) fn plan_outputs(&self) {
        if self.options.destroy {
            let last = std::mem::take(&mut *self.outputs.lock());
            if self.options.refresh {
                *self.last_outputs.lock() = last;
            }
        }
    }

    /// An output as it was before the plan: as state has it, or, where all is destroyed, as the refreshed objects make it
    /// (seen in the recorded case `workflow/show-text`).
    fn output_before(&self, name: &str) -> (Value, bool, bool) {
        let (stored, existed, sensitive) = self.stored_output(name);
        let last = self.last_outputs.lock();
        match last.get(name).map(|output| (without_provenance(&output.value), output.sensitive)) {
            Some((value, sensitive)) if value.is_wholly_known() && !value.is_null() => {
                (if sensitive { value.mark(&Marks::SENSITIVE) } else { value }, true, sensitive)
            }
            _ => (stored, existed, sensitive),
        }
    }

    /// The value of an output as state has it; null of no type when it has none or it cannot be read.
    fn stored_output(&self, name: &str) -> (Value, bool, bool) {
        let Some(stored) = self.snapshot.outputs.get(name) else {
            return (Value::null(Type::Dynamic), false, false);
        };
        let ty = type_json::decode(stored.record.value_type.as_str().as_bytes()).unwrap_or(Type::Dynamic);
        let value =
            json::decode(stored.record.value.as_str().as_bytes(), &ty).unwrap_or_else(|_| Value::null(Type::Dynamic));
        let value = if stored.record.sensitive { value.mark(&Marks::SENSITIVE) } else { value };
        (value, true, stored.record.sensitive)
    }

    /// What becomes of each output.
    pub(crate) fn output_changes(&self) -> BTreeMap<SmolStr, OutputChange> {
        let outputs = self.outputs.lock();
        let mut names: BTreeSet<SmolStr> =
            outputs.keys().cloned().chain(self.snapshot.outputs.keys().map(SmolStr::from)).collect();
        // The state that is destroyed from has what looking at everything found.
        let found = |output: &RootOutput| output.value.is_wholly_known() && !output.value.is_null();
        let last = self.last_outputs.lock();
        names.extend(last.iter().filter(|(_, output)| found(output)).map(|(name, _)| name.clone()));
        drop(last);
        let partial = self.options.selection != Selection::All;
        // An output whose value could not be computed is neither kept nor taken away.
        let failed = |name: &SmolStr| match outputs.get(name) {
            None if partial => true,
            None => !self.options.destroy && self.root.outputs.contains_key(name),
            Some(_) => false,
        };
        names
            .into_iter()
            .filter(|name| !failed(name))
            .map(|name| {
                let (before, existed, was_sensitive) = self.output_before(&name);
                let change = match outputs.get(&name) {
                    Some(output) => change_of(output, before, existed, was_sensitive),
                    None => OutputChange {
                        action: Action::Delete,
                        before,
                        after: Value::null(Type::Dynamic),
                        sensitive_before: was_sensitive,
                        sensitive_after: false,
                    },
                };
                (name, change)
            })
            .collect()
    }

    /// Drafts an operation for each output that changes.
    pub(crate) fn draft_outputs(&self, changes: &BTreeMap<SmolStr, OutputChange>) {
        let outputs = std::mem::take(&mut *self.outputs.lock());
        for (name, change) in changes {
            if change.action == Action::NoOp {
                continue;
            }
            match outputs.get(name) {
                Some(output) => {
                    // What is known by now is stored whatever becomes of the rest, also when it comes from an object
                    // that is not made then: nothing at apply can change it. A plan that only looks makes nothing, so
                    // what is unknown in it is stored as null.
                    let value = self.without_gaps(&output.value);
                    let settled = match self.options.refresh_only {
                        true => Some(change.after.unknown_as_null()),
                        false => Some(without_provenance(&value)).filter(Value::is_wholly_known),
                    };
                    let waits = match settled {
                        Some(_) => [None, None],
                        None => [output.waits.clone(), value.deep_origin()],
                    };
                    let formula = settled.map_or_else(|| value.to_formula(), Formula::constant);
                    // The formula may leave open what the value shows: then what it gives is the output as it is.
                    let ty = if formula.ty().has_dynamic() { Type::Dynamic } else { output.value.ty() };
                    let drafted = self.builder.output(
                        name.clone(),
                        Some(formula),
                        ty,
                        output.sensitive,
                        change.after.clone(),
                        Origin::union(waits.into_iter().flatten()),
                    );
                    if let Some(notice) = &output.deprecated {
                        self.builder.deprecate_output(drafted, notice.clone());
                    }
                }
                None => {
                    self.builder.output(name.clone(), None, Type::Dynamic, false, change.after.clone(), None);
                }
            }
        }
    }
}

fn change_of(output: &RootOutput, before: Value, existed: bool, was_sensitive: bool) -> OutputChange {
    let after = without_provenance(&output.value);
    let action = if after.is_null() && !existed {
        // An output that is null is not stored.
        Action::NoOp
    } else if !existed {
        Action::Create
    } else if after.is_wholly_known()
        && after.same_unmarked(&before)
        && after.ty() == before.ty()
        && was_sensitive == output.sensitive
    {
        Action::NoOp
    } else {
        Action::Update
    };
    OutputChange { action, before, after, sensitive_before: was_sensitive, sensitive_after: output.sensitive }
}
