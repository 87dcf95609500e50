//! Which action: plain functions over values.

use weft_evaluator::glue::{Expansion, ExpansionKind};
use weft_graph_format::address::InstanceKey;
use weft_graph_format::changes::{ChangeAction, Reason};
use weft_graph_format::graph::Action;
use weft_graph_format::path::Path;
use weft_graph_format::value::Value;

/// Why an instance is to be replaced although it could stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// The object is tainted.
    pub tainted: bool,
    /// The user asked for it.
    pub requested: bool,
    /// Something that `replace_triggered_by` names changes.
    pub triggered: bool,
}

/// What happens to a managed instance: `before` and `planned` with their marks, and the paths at which the provider
/// demands a replacement and something differs.
pub fn action(
    before: &Value,
    planned: &Value,
    replace_paths: &[Path],
    pressure: Pressure,
    create_before_destroy: bool,
) -> (ChangeAction, Reason) {
    let replace = if create_before_destroy { ChangeAction::CreateThenDelete } else { ChangeAction::DeleteThenCreate };
    if before.is_null() {
        return (
            ChangeAction::Only(Action::Create),
            if pressure.triggered { Reason::ReplaceByTriggers } else { Reason::None },
        );
    }
    if pressure.tainted {
        return (replace, Reason::ReplaceBecauseTainted);
    }
    if pressure.requested {
        return (replace, Reason::ReplaceByRequest);
    }
    if !replace_paths.is_empty() {
        return (replace, Reason::ReplaceBecauseCannotUpdate);
    }
    if pressure.triggered {
        return (replace, Reason::ReplaceByTriggers);
    }
    if planned.same_content(before) {
        return (ChangeAction::Only(Action::NoOp), Reason::None);
    }
    (ChangeAction::Only(Action::Update), Reason::None)
}

/// Why an instance that state has is not wanted any more. `resource` is the expansion of its resource where that is
/// still configured.
pub fn orphan_reason(key: &InstanceKey, module_is_there: bool, resource: Option<&Expansion>) -> Reason {
    let Some(expansion) = resource else {
        return if module_is_there { Reason::DeleteBecauseNoResourceConfig } else { Reason::DeleteBecauseNoModule };
    };
    match (expansion.kind, key) {
        (ExpansionKind::Enabled, InstanceKey::None) => Reason::DeleteBecauseEnabledFalse,
        (ExpansionKind::Count, InstanceKey::Int(_)) => Reason::DeleteBecauseCountIndex,
        (ExpansionKind::ForEach, InstanceKey::String(_)) => Reason::DeleteBecauseEachKey,
        _ => Reason::DeleteBecauseWrongRepetition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(n: i64) -> Value {
        Value::object([("n", Value::int(n))])
    }

    #[test]
    fn actions() {
        let null = Value::null(object(1).ty());
        let none = Pressure::default();
        let path = [Path::ROOT.attribute("n")];
        let only = ChangeAction::Only;
        for (before, planned, paths, pressure, cbd, want) in [
            (&null, &object(1), &[][..], none, false, (only(Action::Create), Reason::None)),
            (&object(1), &object(1), &[], none, false, (only(Action::NoOp), Reason::None)),
            (&object(1), &object(2), &[], none, true, (only(Action::Update), Reason::None)),
            (
                &object(1),
                &object(2),
                &path,
                none,
                false,
                (ChangeAction::DeleteThenCreate, Reason::ReplaceBecauseCannotUpdate),
            ),
            (
                &object(1),
                &object(1),
                &[],
                Pressure { tainted: true, ..none },
                true,
                (ChangeAction::CreateThenDelete, Reason::ReplaceBecauseTainted),
            ),
        ] {
            assert_eq!(action(before, planned, paths, pressure, cbd), want, "{before:?} -> {planned:?}");
        }
    }

    #[test]
    fn orphans() {
        let expansion = |kind| Expansion { kind, keys: Vec::new() };
        let text = InstanceKey::String("a".into());
        assert_eq!(orphan_reason(&text, true, None), Reason::DeleteBecauseNoResourceConfig);
        assert_eq!(orphan_reason(&text, false, None), Reason::DeleteBecauseNoModule);
        assert_eq!(orphan_reason(&text, true, Some(&expansion(ExpansionKind::ForEach))), Reason::DeleteBecauseEachKey);
        assert_eq!(
            orphan_reason(&text, true, Some(&expansion(ExpansionKind::Count))),
            Reason::DeleteBecauseWrongRepetition
        );
    }
}
