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

/// What a replacement does with the old object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceOrder {
    /// It is destroyed, then the new one is created.
    DestroyFirst,
    /// The new one is created, then it is destroyed.
    CreateFirst,
    /// It is left alone.
    ForgetOld,
}

/// What happens to a managed instance: `before` and `planned` with their marks, and the paths at which the provider
/// demands a replacement and something differs.
pub fn action(
    before: &Value,
    planned: &Value,
    replace_paths: &[Path],
    pressure: Pressure,
    order: ReplaceOrder,
) -> (ChangeAction, Reason) {
    let replace = match order {
        ReplaceOrder::DestroyFirst => ChangeAction::DeleteThenCreate,
        ReplaceOrder::CreateFirst => ChangeAction::CreateThenDelete,
        ReplaceOrder::ForgetOld => ChangeAction::ForgetThenCreate,
    };
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

/// Why an instance that state has is not wanted any more. `configured` says whether its resource has a block,
/// `module_is_there` whether its module instance is wanted, `resource` is the expansion of the resource in it.
pub fn orphan_reason(
    key: &InstanceKey,
    configured: bool,
    module_is_there: bool,
    resource: Option<&Expansion>,
) -> Reason {
    if !configured {
        return Reason::DeleteBecauseNoResourceConfig;
    }
    let Some(expansion) = resource.filter(|_| module_is_there) else { return Reason::DeleteBecauseNoModule };
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
        for (before, planned, paths, pressure, order, want) in [
            (&null, &object(1), &[][..], none, ReplaceOrder::DestroyFirst, (only(Action::Create), Reason::None)),
            (&object(1), &object(1), &[], none, ReplaceOrder::DestroyFirst, (only(Action::NoOp), Reason::None)),
            (&object(1), &object(2), &[], none, ReplaceOrder::CreateFirst, (only(Action::Update), Reason::None)),
            (
                &object(1),
                &object(2),
                &path,
                none,
                ReplaceOrder::DestroyFirst,
                (ChangeAction::DeleteThenCreate, Reason::ReplaceBecauseCannotUpdate),
            ),
            (
                &object(1),
                &object(1),
                &[],
                Pressure { tainted: true, ..none },
                ReplaceOrder::CreateFirst,
                (ChangeAction::CreateThenDelete, Reason::ReplaceBecauseTainted),
            ),
        ] {
            assert_eq!(action(before, planned, paths, pressure, order), want, "{before:?} -> {planned:?}");
        }
    }

    #[test]
    fn orphans() {
        let expansion = |kind| Expansion { kind, keys: Vec::new() };
        let text = InstanceKey::String("a".into());
        let reason = |configured, there, kind: Option<ExpansionKind>| {
            orphan_reason(&text, configured, there, kind.map(expansion).as_ref())
        };
        assert_eq!(reason(false, false, None), Reason::DeleteBecauseNoResourceConfig);
        assert_eq!(reason(true, false, None), Reason::DeleteBecauseNoModule);
        assert_eq!(reason(true, true, Some(ExpansionKind::ForEach)), Reason::DeleteBecauseEachKey);
        assert_eq!(reason(true, true, Some(ExpansionKind::Count)), Reason::DeleteBecauseWrongRepetition);
    }
}
