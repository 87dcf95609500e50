//! Tests of drafting, with hand-written agendas.

use smol_str::SmolStr;
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{Action, PlannedObject, StateRecord, disassemble, verify};
use weft_graph_format::path::Path;

use super::*;
use crate::agenda::planned::{Change, Leaving, OldObject, PlannedInstance};
use crate::inputs::{PlanKind, PlanOptions};
use crate::prior::Prior;

fn facts() -> Facts {
    Facts::for_tests("", &[], PlanOptions::of_kind(PlanKind::Normal))
}

fn object(n: i64) -> Value {
    Value::object([("n", Value::int(n))])
}

fn prior(dependencies: &[&str]) -> Prior {
    let dependencies = dependencies.iter().map(SmolStr::new).collect();
    let record = StateRecord { dependencies, ..StateRecord::default() };
    Prior { stored: object(1), value: object(1), record, ..Prior::gone() }
}

fn change(address: &str, action: ChangeAction) -> ResourceChange {
    ResourceChange {
        address: address.parse().unwrap(),
        previous_address: None,
        deposed: None,
        provider: "provider[\"registry.opentofu.org/x/y\"]".parse().unwrap(),
        action,
        reason: Reason::None,
        before: object(1),
        after: object(2),
        replace_paths: Vec::new(),
        importing: None,
        before_record: None,
        schema_version: 0,
    }
}

/// A create or an update of an object with these dependencies.
fn changed(address: &str, config: Formula, old: OldObject, needs: &[&str]) -> PlannedInstance {
    let action = if matches!(old, OldObject::Updated(_)) { Action::Update } else { Action::Create };
    let dependencies = needs.iter().map(SmolStr::new).collect();
    let planned = PlannedObject {
        action,
        value: object(2),
        private: Vec::new(),
        legacy: false,
        provisioned: false,
        config_known: true,
        record: StateRecord { dependencies, ..StateRecord::default() },
        sensitive: Vec::new(),
        lookup: None,
    };
    let step = Change { config, waits: None, checked: None, planned, depended: Vec::new(), old, is_forced: false };
    PlannedInstance {
        change: change(address, ChangeAction::Only(action)),
        step: Some(PlannedStep::Change(Box::new(step))),
    }
}

fn deleted(address: &str, needs: &[&str]) -> PlannedInstance {
    let leaving = Leaving { deposed: None, prior: prior(needs), private: Vec::new(), farewell: Vec::new() };
    let step = Some(PlannedStep::Delete(Box::new(leaving)));
    PlannedInstance { change: change(address, ChangeAction::Only(Action::Delete)), step }
}

/// The lines of a graph that call providers, without their values.
fn graph(agenda: Agenda) -> Vec<String> {
    let facts = facts();
    let drafted = Drafting::of(&facts, &|_| None, agenda, BTreeSet::new());
    let graph = drafted.builder.finish().expect("a graph");
    assert_eq!(verify(&graph), Vec::new());
    let text = disassemble(&graph);
    text.lines().filter(|line| line.contains(" apply ")).map(|line| line.trim().to_owned()).collect()
}

/// The position of the first line that contains this word.
fn place(lines: &[String], word: &str) -> usize {
    let found = lines.iter().position(|line| line.contains(word));
    found.unwrap_or_else(|| panic!("{word} is not in {lines:#?}"))
}

#[test]
fn a_formula_reads_a_result_by_its_reserved_number() {
    let mut agenda = Agenda::default();
    let known = || Formula::constant(object(2));
    let first = agenda.take(changed("a.x", known(), OldObject::Nothing, &[])).expect("a number");
    let reads = Formula::result(first, Path::ROOT, object(2).ty());
    agenda.take(changed("a.y", reads, OldObject::Updated(Box::new(prior(&[]))), &["a.x"]));
    let lines = graph(agenda);
    assert_eq!(lines.len(), 2);
    assert!(place(&lines, "a.x") < place(&lines, "a.y"), "{lines:#?}");
}

#[test]
fn dependents_are_deleted_first() {
    let mut agenda = Agenda::default();
    agenda.take(deleted("a.x", &[]));
    agenda.take(deleted("a.y", &["a.x"]));
    let lines = graph(agenda);
    assert!(place(&lines, "a.y") < place(&lines, "a.x"), "{lines:#?}");
}

#[test]
fn a_replacement_deletes_then_creates() {
    let mut agenda = Agenda::default();
    let config = Formula::constant(object(2));
    agenda.take(changed("a.x", config, OldObject::DeletedFirst(Box::new(prior(&[])), Vec::new()), &[]));
    assert_eq!(graph(agenda).len(), 2);
}

#[test]
fn an_unused_reserved_number_is_an_error() {
    let mut agenda = Agenda::default();
    agenda.reserve();
    let facts = facts();
    let drafted = Drafting::of(&facts, &|_| None, agenda, BTreeSet::new());
    assert!(drafted.builder.finish().is_err());
}
