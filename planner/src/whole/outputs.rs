//! Outputs of the root module.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use weft_evaluator::config::reach::planned;
use weft_evaluator::glue::RootOutput;
use weft_evaluator::selection::Selection;
use weft_graph_format::address::Module;
use weft_graph_format::changes::OutputChange;
use weft_graph_format::codec::{json, type_json};
use weft_graph_format::graph::Action;
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_state::Snapshot;

use crate::facts::Facts;
use crate::prior::without_provenance;

/// Outputs by name.
pub(crate) type RootOutputs = BTreeMap<SmolStr, RootOutput>;

/// Outputs of a plan.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    /// The new values.
    pub(crate) wanted: RootOutputs,
    /// The values before a destroy plan that has read all objects.
    pub(crate) last: RootOutputs,
}

impl Outputs {
    /// Collects the outputs of a plan from evaluation. A plan that empties the state removes all outputs. If it
    /// refreshes, the evaluated values are the values before the plan.
    pub(crate) fn of(facts: &Facts, evaluated: RootOutputs) -> Outputs {
        let none = RootOutputs::new;
        match (facts.rules.empties_state, facts.options.refresh) {
            (false, _) => Outputs { wanted: evaluated, last: none() },
            (true, true) => Outputs { wanted: none(), last: evaluated },
            (true, false) => Outputs { wanted: none(), last: none() },
        }
    }

    /// The outputs that a partial destroy stores: those with known values whose resources are all selected. The
    /// values are those of the refreshed objects.
    pub(crate) fn kept_by_destroy(&self, facts: &Facts) -> RootOutputs {
        let is_kept = |output: &RootOutput| output.value.is_wholly_known() && !output.value.is_null();
        if *facts.selection() == Selection::All {
            return RootOutputs::new();
        }
        let reached = planned(&facts.root, facts.selection()).outputs;
        let is_selected = |name: &SmolStr| reached.contains(&(Module::root(), name.clone()));
        let kept = self.last.iter().filter(|(name, output)| is_selected(name) && is_kept(output));
        kept.map(|(name, output)| (name.clone(), output.clone())).collect()
    }
}

/// The value of an output before the plan.
struct Before {
    value: Value,
    existed: bool,
    sensitive: bool,
}

/// The value of an output before the plan. In a destroy plan that refreshes, this is the value computed from the
/// refreshed objects (see the recorded case `workflow/show-text`), if that value is wholly known and not null.
/// Otherwise, it is the stored value.
fn before(snapshot: &Snapshot, last: &RootOutputs, name: &str) -> Before {
    match last.get(name).map(|output| (without_provenance(&output.value), output.sensitive)) {
        Some((value, sensitive)) if value.is_wholly_known() && !value.is_null() => {
            Before { value: marked(value, sensitive), existed: true, sensitive }
        }
        _ => stored(snapshot, name),
    }
}

/// The stored value of an output, or null if it is missing or cannot be decoded.
fn stored(snapshot: &Snapshot, name: &str) -> Before {
    let null = || Value::null(Type::Dynamic);
    let Some(stored) = snapshot.outputs.get(name) else {
        return Before { value: null(), existed: false, sensitive: false };
    };
    let record = &stored.record;
    let ty = type_json::decode(record.value_type.as_str().as_bytes()).unwrap_or(Type::Dynamic);
    let value = json::decode(record.value.as_str().as_bytes(), &ty).unwrap_or_else(|_| null());
    Before { value: marked(value, record.sensitive), existed: true, sensitive: record.sensitive }
}

fn marked(value: Value, sensitive: bool) -> Value {
    if sensitive { value.mark(&Marks::SENSITIVE) } else { value }
}

/// The change of each output.
pub(crate) fn output_changes(facts: &Facts, outputs: &Outputs) -> BTreeMap<SmolStr, OutputChange> {
    let snapshot = facts.state.snapshot();
    let stored = snapshot.named_outputs().map(|(name, _)| SmolStr::from(name));
    let mut names: BTreeSet<SmolStr> = outputs.wanted.keys().cloned().chain(stored).collect();
    // A destroy plan starts from the refreshed state.
    let found = |output: &RootOutput| output.value.is_wholly_known() && !output.value.is_null();
    names.extend(outputs.last.iter().filter(|(_, output)| found(output)).map(|(name, _)| name.clone()));
    let partial = *facts.selection() != Selection::All;
    // An output whose evaluation failed is neither kept nor removed.
    let failed = |name: &SmolStr| match outputs.wanted.get(name) {
        None if partial => true,
        None => !facts.rules.empties_state && facts.root.outputs.contains_key(name),
        Some(_) => false,
    };
    names
        .into_iter()
        .filter(|name| !failed(name) && !is_removed(outputs, name))
        .map(|name| {
            let before = before(snapshot, &outputs.last, &name);
            let change = match outputs.wanted.get(&name) {
                Some(output) => change_of(output, before),
                None => gone(before),
            };
            (name, change)
        })
        .collect()
}

/// Whether the refresh before a destroy removes an output because it is null now.
fn is_removed(outputs: &Outputs, name: &SmolStr) -> bool {
    outputs.last.get(name).is_some_and(|output| output.value.is_null())
}

/// The changes of outputs that the plan does not show: those in `hidden`, and outputs that the refresh before a destroy
/// removes.
pub(crate) fn hidden_changes(
    facts: &Facts,
    outputs: &Outputs,
    hidden: &RootOutputs,
) -> BTreeMap<SmolStr, OutputChange> {
    let snapshot = facts.state.snapshot();
    let hidden = hidden.iter().map(|(name, output)| (name.clone(), change_of(output, stored(snapshot, name))));
    let removed = outputs.last.keys().filter(|name| is_removed(outputs, name) && stored(snapshot, name).existed);
    hidden.chain(removed.map(|name| (name.clone(), gone(stored(snapshot, name))))).collect()
}

/// The deletes of all outputs in a destroy plan that refreshes. The prior value of each delete is the value of the
/// output after the refresh, see [`before`]. A partial plan keeps the outputs, but the result contains their deletes
/// all the same. An output that is null after the refresh is included too, although the refresh removes it.
pub(crate) fn last_outputs(facts: &Facts, outputs: &Outputs) -> BTreeMap<SmolStr, OutputChange> {
    let removed = || Before { value: Value::null(Type::Dynamic), existed: true, sensitive: false };
    let change = |name: &SmolStr| match is_removed(outputs, name) {
        true => gone(removed()),
        false => gone(before(facts.state.snapshot(), &outputs.last, name)),
    };
    outputs.last.keys().map(|name| (name.clone(), change(name))).collect()
}

/// The delete of an output.
fn gone(before: Before) -> OutputChange {
    OutputChange {
        action: Action::Delete,
        before: before.value,
        after: Value::null(Type::Dynamic),
        sensitive_before: before.sensitive,
        sensitive_after: false,
    }
}

fn change_of(output: &RootOutput, before: Before) -> OutputChange {
    let after = without_provenance(&output.value);
    let same = || {
        after.is_wholly_known()
            && after.same_unmarked(&before.value)
            && after.ty() == before.value.ty()
            && before.sensitive == output.sensitive
    };
    let action = match before.existed {
        // A null output is not stored.
        false if after.is_null() => Action::NoOp,
        false => Action::Create,
        true if same() => Action::NoOp,
        true => Action::Update,
    };
    OutputChange {
        action,
        before: before.value,
        after,
        sensitive_before: before.sensitive,
        sensitive_after: output.sensitive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_of_an_output_has_its_action() {
        let output =
            |value: Value, sensitive| RootOutput { name: "o".into(), value, sensitive, deprecated: None, waits: None };
        let (one, null) = (|| Value::int(1), || Value::null(Type::Number));
        for (before, existed, was_sensitive, after, sensitive, want) in [
            (null(), false, false, one(), false, Action::Create),
            (null(), false, false, null(), false, Action::NoOp),
            (null(), false, false, Value::unknown(Type::Number), false, Action::Create),
            (one(), true, false, one(), false, Action::NoOp),
            (one(), true, false, Value::int(2), false, Action::Update),
            (one(), true, false, Value::string("1"), false, Action::Update),
            (one(), true, false, Value::unknown(Type::Number), false, Action::Update),
            (one(), true, false, one(), true, Action::Update),
            (one(), true, false, null(), false, Action::Update),
        ] {
            let before = Before { value: before, existed, sensitive: was_sensitive };
            let found = change_of(&output(after.clone(), sensitive), before).action;
            assert_eq!(found, want, "{after:?}");
        }
    }
}
