//! Table tests of decisions.

use std::sync::Arc;

use weft_evaluator::glue::{BlockRules, Places};
use weft_graph_format::schema::{Attribute, Block};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;

use super::*;

fn object(n: i64) -> Value {
    Value::object([("n", Value::int(n))])
}

#[test]
fn the_action_follows_from_the_difference() {
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
        (
            &object(1),
            &object(2),
            &path,
            Pressure { triggered: true, requested: true, ..none },
            ReplaceOrder::CreateFirst,
            (ChangeAction::CreateThenDelete, Reason::ReplaceByTriggers),
        ),
    ] {
        assert_eq!(action(before, planned, paths, pressure, order), want, "{before:?} -> {planned:?}");
    }
}

fn rules() -> BlockRules {
    BlockRules {
        range: SourceRange::default(),
        check: None,
        ignored: Ignored::Nothing,
        create_first: false,
        destroy: None,
        has_conditions: false,
        is_provisioned: false,
        places: Places::at(SourceRange::default()),
    }
}

fn desired(config: Value, block: BlockRules) -> DesiredInstance {
    let attributes = [("n".into(), Attribute::new(Type::Number))].into_iter().collect();
    let block_schema = Block { attributes, ..Block::default() };
    DesiredInstance {
        address: "a.b".parse().unwrap(),
        provider: "provider[\"registry.opentofu.org/x/y\"]".parse().unwrap(),
        config,
        schema: Arc::new(Schema { version: 3, block: block_schema }),
        block: Arc::new(block),
        waits: None,
        checked: None,
        dependencies: Arc::from([]),
        create_first: false,
        direct: Vec::new(),
        awaited: Arc::from([]),
        import: None,
        triggers: Vec::new(),
    }
}

/// The outcome for a prior object and a configuration, with a provider that plans the configuration as it is. With
/// `replaces`, the provider cannot update.
fn outcome(before: Option<Prior>, config: i64, block: BlockRules, replaces: bool, pressure: Pressure) -> InstancePlan {
    let config = object(config);
    let desired = desired(config.clone(), block);
    let accepted = Accepted { config: config.clone(), marks: Vec::new(), plain: config };
    let case = Case { desired: &desired, prior: before.as_ref(), accepted: &accepted };
    let pressure = Pressure { tainted: case.is_tainted(), ..pressure };
    let answer = |input: ProposalInput| {
        let replace = if replaces && !input.before.is_null() { vec![Path::ROOT.attribute("n")] } else { Vec::new() };
        Proposal { planned: input.config, private: vec![7], replace, legacy: false }
    };
    let mut proposal = answer(case.proposal_input());
    let decision = decide(case, &proposal, pressure, false);
    if decision.asks_again {
        proposal = answer(case.create_input());
    }
    let deposed_key = DeposedKey("0badc0de".into());
    let around = Surroundings { previous_address: None, importing: None, deposed_key, farewell: Vec::new() };
    plan(case, decision, proposal, around)
}

fn prior(n: i64) -> Option<Prior> {
    Some(Prior { stored: object(n), value: object(n), private: vec![1], ..Prior::gone() })
}

fn tainted(n: i64) -> Option<Prior> {
    prior(n).map(|prior| Prior { tainted: true, ..prior })
}

/// One line for an outcome: action, reason, old object, and step.
fn shown(outcome: InstancePlan) -> String {
    let after = outcome.after.clone();
    let (planned, _) = outcome.split();
    let actions = planned.change.action.words().join("+");
    let reason = planned.change.reason.word().unwrap_or("-");
    let step = match planned.step {
        None => "nothing".to_owned(),
        Some(PlannedStep::Change(change)) => {
            let old = match change.old {
                OldObject::Nothing => "nothing before",
                OldObject::Updated(_) => "the same object",
                OldObject::DeletedFirst(..) => "deleted first",
                OldObject::DeletedLast(..) => "deleted last",
                OldObject::Forgotten(_) => "forgotten",
            };
            assert_eq!(change.planned.value, after);
            format!("{} ({old})", change.planned.action.word())
        }
        Some(other) => format!("{other:?}"),
    };
    format!("{actions}, {reason}: {step}")
}

#[test]
fn a_change_is_planned_by_the_rules_of_its_block() {
    let none = Pressure::default();
    let first = || BlockRules { create_first: true, ..rules() };
    let ignoring = |ignored| BlockRules { ignored, ..rules() };
    let path = || Ignored::Paths(vec![Path::ROOT.attribute("n")]);
    for (before, config, block, replaces, pressure, want) in [
        (None, 1, rules(), false, none, "create, -: create (nothing before)"),
        (None, 1, first(), false, none, "create, -: create (nothing before)"),
        (Some(Prior::gone()), 1, rules(), false, none, "create, -: create (nothing before)"),
        (prior(1), 1, rules(), false, none, "no-op, -: nothing"),
        (prior(1), 2, rules(), false, none, "update, -: update (the same object)"),
        (prior(1), 2, ignoring(Ignored::All), false, none, "no-op, -: nothing"),
        (prior(1), 2, ignoring(path()), false, none, "no-op, -: nothing"),
        (prior(1), 2, rules(), true, none, "delete+create, replace_because_cannot_update: create (deleted first)"),
        (prior(1), 2, first(), true, none, "create+delete, replace_because_cannot_update: create (deleted last)"),
        (tainted(1), 1, rules(), false, none, "delete+create, replace_because_tainted: create (deleted first)"),
        (
            prior(1),
            1,
            first(),
            false,
            Pressure { requested: true, ..none },
            "create+delete, replace_by_request: create (deleted last)",
        ),
        (
            prior(1),
            1,
            rules(),
            false,
            Pressure { triggered: true, ..none },
            "delete+create, replace_by_triggers: create (deleted first)",
        ),
    ] {
        let (value, found) = (before.clone(), shown(outcome(before, config, block, replaces, pressure)));
        assert_eq!(found, want, "{value:?} to {config}");
    }
}

#[test]
fn an_object_without_marks_that_its_schema_wants_is_updated() {
    let bare = prior(1).map(|prior| Prior { lacks_marks: true, ..prior });
    assert_eq!(shown(outcome(bare, 1, rules(), false, Pressure::default())), "update, -: update (the same object)");
}

#[test]
fn a_replacement_is_planned_from_nothing() {
    let replaced = outcome(prior(1), 2, rules(), true, Pressure::default());
    assert!(replaced.creates() && replaced.record.schema_version == 3);
    assert_eq!(replaced.change.replace_paths, [Path::ROOT.attribute("n")]);
    // A tainted object is always replaced, so the provider is first asked to plan a create.
    assert!(outcome(tainted(1), 2, rules(), true, Pressure::default()).change.replace_paths.is_empty());
}
