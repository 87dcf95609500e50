//! The part of a plan that apply executes. With targets, apply may execute less than the plan shows. For example, the
//! plan shows all instances of a resource that a target refers to. If the reference has a constant key, apply changes
//! only the instance with this key.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_evaluator::config::applied_part;
use weft_evaluator::config::reach::applied;
use weft_evaluator::selection::Selection;
use weft_graph_format::address::{ConfigResource, Module, ResourceInstance};
use weft_graph_format::changes::{OutputChange, ResourceChange};
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::OperationId;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::agenda::Agenda;
use crate::agenda::planned::{Computed, PlannedStep, Work};
use crate::evaluated::Evaluated;
use crate::facts::Facts;
use crate::gaps::reached;
use crate::whole::checking::active;

/// Removes from an agenda the steps that are omitted at apply. Returns the changes of the outputs that are stored at
/// apply. The other outputs keep their values: those that depend on omitted steps and are not known yet. `active` are
/// the resources that are evaluated at apply: changed resources, and resources with conditions.
pub(crate) fn leave_out(
    facts: &Facts,
    agenda: &mut Agenda,
    outputs: &BTreeMap<SmolStr, OutputChange>,
    active: &BTreeSet<ConfigResource>,
) -> BTreeMap<SmolStr, OutputChange> {
    if *facts.selection() == Selection::All {
        return outputs.clone();
    }
    // A plan that creates nothing knows all outputs that its apply stores.
    let evaluated = match facts.rules.makes_objects {
        true => applied(&facts.root, facts.selection(), active).outputs,
        false => BTreeSet::new(),
    };
    let targets = match facts.selection() {
        Selection::Only(targets) if facts.rules.makes_objects => targets,
        _ => return stored_outputs(outputs, &evaluated, &BTreeSet::new()),
    };
    let changed: BTreeSet<ResourceInstance> = agenda.work.iter().map(|work| work.address.clone()).collect();
    // A create-first object is deleted after its dependents change.
    let goes_first = |work: &&Work| match &work.step {
        PlannedStep::Delete(leaving) => leaving.deposed.is_none() && !leaving.prior.record.create_before_destroy,
        _ => false,
    };
    let deleted = agenda.work.iter().filter(goes_first).map(|work| work.address.clone()).collect();
    let part = applied_part(&facts.root, targets, &changed, &deleted, active);
    let left: BTreeSet<String> = changed.difference(&part.instances).map(ToString::to_string).collect();
    if !left.is_empty() {
        // The conditions of these outputs are not evaluated, whether their values are stored or not.
        let left: BTreeSet<String> =
            left.into_iter().chain(part.outputs_left.iter().map(|name| format!("output.{name}"))).collect();
        without(agenda, &part.instances, &left);
    }
    stored_outputs(outputs, &evaluated, &part.outputs_left)
}

/// The outputs that the apply of a partial plan stores. A wholly known value is stored. Another value is stored only if
/// apply evaluates the output: it is in `evaluated`, and not in `left`.
fn stored_outputs(
    outputs: &BTreeMap<SmolStr, OutputChange>,
    evaluated: &BTreeSet<(Module, SmolStr)>,
    left: &BTreeSet<SmolStr>,
) -> BTreeMap<SmolStr, OutputChange> {
    let is_evaluated = |name: &SmolStr| !left.contains(name) && evaluated.contains(&(Module::root(), name.clone()));
    let stored = outputs.iter().filter(|(name, change)| change.after.is_wholly_known() || is_evaluated(name));
    stored.map(|(name, change)| (name.clone(), change.clone())).collect()
}

/// The outputs that apply evaluates although a partial plan omits them. The plan omits an output that depends on a
/// resource outside the selection. Apply ignores such a resource, unless something that apply evaluates needs it. So
/// apply evaluates an output if it ignores all resources of the output that are outside the selection, and evaluates at
/// least one other resource of the output.
pub(crate) fn late_outputs(facts: &Facts, evaluated: &Evaluated, changes: &[ResourceChange]) -> Vec<SmolStr> {
    if !facts.rules.makes_objects || *facts.selection() == Selection::All {
        return Vec::new();
    }
    let reached = applied(&facts.root, facts.selection(), &active(facts, evaluated, changes));
    let outputs = reached.outputs.into_iter().filter(|(module, _)| module.is_root()).map(|(_, name)| name);
    outputs.filter(|name| !evaluated.outputs.contains_key(name)).collect()
}

/// Removes the steps of all objects that are not in `kept`. Also removes the conditions of the objects in `left`, and
/// everything that reads a result of these steps, except outputs. The reserved numbers of the removed operations become
/// the numbers of constants that nothing reads.
fn without(agenda: &mut Agenda, kept: &BTreeSet<ResourceInstance>, left: &BTreeSet<String>) {
    let mut unread: Vec<(OperationId, SmolStr)> = Vec::new();
    agenda.work.retain(|work| {
        let stays = kept.contains(&work.address);
        if !stays {
            unread.push((work.result, work.address.to_string().into()));
        }
        stays
    });
    agenda.checks.retain(|check| {
        let stays = !left.contains(check.address.as_str());
        if !stays {
            unread.push((check.result, check.address.clone()));
        }
        stays
    });
    for (address, provisions) in &agenda.provisions {
        if !kept.contains(address) && left.contains(&address.to_string()) {
            let label = SmolStr::from(address.to_string());
            unread.extend(provisions.iter().filter_map(|provision| Some((provision.result?, label.clone()))));
        }
    }
    without_readers(agenda, &mut unread);
    let nothing = || Formula::constant(Value::null(Type::Dynamic));
    let computed = unread.into_iter().map(|(result, label)| Computed {
        result,
        label,
        formula: nothing(),
        waits: None,
        provider: None,
    });
    agenda.computed.extend(computed);
}

/// Removes the conditions and the computed values that read one of the results in `unread`, and adds their results.
fn without_readers(agenda: &mut Agenda, unread: &mut Vec<(OperationId, SmolStr)>) {
    let mut gone: FxHashSet<OperationId> = unread.iter().map(|(result, _)| *result).collect();
    // `clean` stays valid while numbers are added to `gone`: a formula reads only results whose numbers were reserved
    // before it was made, and computed values are visited in the order of their numbers. So no visited formula reads a
    // result that is added later.
    let mut clean = FxHashMap::default();
    let mut reads = |formula: &Formula, gone: &FxHashSet<OperationId>| {
        let is_gone = |part: &Formula| matches!(part.op(), FormulaOp::Result(result, _) if gone.contains(result));
        reached(formula, &is_gone, &mut clean)
    };
    agenda.computed.sort_by_key(|computed| computed.result);
    agenda.computed.retain(|computed| {
        let stays = !reads(&computed.formula, &gone);
        if !stays {
            gone.insert(computed.result);
            unread.push((computed.result, computed.label.clone()));
        }
        stays
    });
    agenda.checks.retain(|check| {
        let stays = !reads(&check.condition, &gone) && !reads(&check.message, &gone);
        if !stays {
            unread.push((check.result, check.address.clone()));
        }
        stays
    });
}
