//! Checks of a single fragment.

use std::collections::{BTreeMap, BTreeSet};

use super::{Flaw, RowFacts, ascending, facts_of};
use crate::address::ResourceInstance;
use crate::graph::Action;
use crate::graph::opcode::{Opcode, Operation};
use crate::graph::{FormulaIndex, FormulaRow, Fragment, OperationId, Row, Shard, TableError};
use crate::value::Value;
use crate::value::formula::FormulaOp;

/// The maximum number of parameters that a row uses without binding them: two for each `for` around it. Rows come from
/// the evaluation of nested bodies, and no configuration nests them this deep.
const MOST_OPEN_PARAMETERS: usize = 512;

/// All flaws that are visible in a single fragment, in order. Takes time linear in the size of the fragment.
pub fn verify_fragment(fragment: &Fragment) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    if !fragment.rows.windows(2).all(|pair| pair[0].id < pair[1].id) {
        flaws.push(Flaw::Numbering { count: fragment.rows.len() as u32 });
        return flaws;
    }
    let facts = formulas(&fragment.formulas.rows, &mut flaws);
    for row in &fragment.rows {
        check_row(fragment, row, &facts, &mut flaws);
    }
    check_providers(fragment, &mut flaws);
    check_ephemerals(fragment, &mut flaws);
    check_foreign(fragment, &mut flaws);
    flaws
}

/// Checks the table and collects the facts of each row. Rows after an invalid row have no facts.
fn formulas(rows: &[FormulaRow], flaws: &mut Vec<Flaw>) -> Vec<RowFacts> {
    let mut facts: Vec<RowFacts> = Vec::with_capacity(rows.len());
    for (row, i) in rows.iter().zip(0u32..) {
        let mut forward = None;
        let mut latest = None;
        let mut open: BTreeSet<u32> = BTreeSet::new();
        row.op.operands(&mut |operand: &FormulaIndex| match facts_of(&facts, *operand) {
            Some(below) => {
                latest = latest.max(below.latest);
                open.extend(below.open.iter().copied());
            }
            None => forward = Some(operand.0),
        });
        if let Some(operand) = forward {
            flaws.push(Flaw::Formula(TableError::ForwardReference { row: i, operand }));
            return facts;
        }
        match &row.op {
            FormulaOp::Result(operation, _) => latest = Some(*operation),
            FormulaOp::Parameter(parameter) => {
                open.insert(parameter.0);
            }
            FormulaOp::For { key_parameter, value_parameter, .. } => {
                open.remove(&key_parameter.0);
                open.remove(&value_parameter.0);
            }
            FormulaOp::Splat { parameter, .. } => {
                open.remove(&parameter.0);
            }
            FormulaOp::Constant(value) if value.stores_ephemeral() => flaws.push(Flaw::EphemeralFormula(i)),
            FormulaOp::Defaults(_, defaults) if defaults.any_value(&mut |value| value.stores_ephemeral()) => {
                flaws.push(Flaw::EphemeralFormula(i));
            }
            _ => {}
        }
        if open.len() > MOST_OPEN_PARAMETERS {
            flaws.push(Flaw::Parameter { formula: i });
            return facts;
        }
        facts.push(RowFacts { latest, open: open.into_iter().collect() });
    }
    facts
}

fn check_row(fragment: &Fragment, row: &Row, facts: &[RowFacts], flaws: &mut Vec<Flaw>) {
    let id = row.id;
    let operation = &row.operation;
    let forward = |to: OperationId| Flaw::ForwardReference { operation: id.0, to: to.0 };
    for earlier in operation.operands().iter().chain(&row.waits.operations) {
        if *earlier >= id {
            flaws.push(forward(*earlier));
            return;
        }
    }
    if !ascending(&row.waits.operations) || !ascending(&row.waits.waiters) {
        flaws.push(forward(id));
    }
    for formula in operation.formulas() {
        match facts_of(facts, *formula) {
            None => flaws.push(Flaw::NoFormula { operation: id.0, formula: formula.0 }),
            Some(known) => {
                if !known.open.is_empty() {
                    flaws.push(Flaw::Parameter { formula: formula.0 });
                }
                flaws.extend(known.latest.filter(|latest| *latest >= id).map(forward));
            }
        }
    }
    if values(operation).into_iter().any(|value| value.stores_ephemeral()) {
        flaws.push(Flaw::Ephemeral(id.0));
    }
    check_operands(fragment, row, flaws);
}

/// Checks that operations use a provider in the shard of its instance, at home or, if the provider is built in, in
/// [`Shard::Unplaced`]. A shard opens other providers for ephemeral objects only.
fn check_providers(fragment: &Fragment, flaws: &mut Vec<Flaw>) {
    let mut used = BTreeSet::new();
    let mut opening = BTreeSet::new();
    for row in &fragment.rows {
        match &row.operation {
            Operation::FinalPlan { provider, .. } | Operation::ReadData { provider, .. } => {
                used.insert(*provider);
            }
            Operation::OpenEphemeral { provider, .. } => {
                opening.insert(*provider);
            }
            _ => {}
        }
    }
    for row in &fragment.rows {
        let Operation::OpenProvider { instance, .. } = &row.operation else { continue };
        let at_home_here = match &fragment.shard {
            Shard::Provider(here) => instance == here,
            Shard::Home => true,
            Shard::Unplaced => instance.source.is_builtin(),
        };
        if !at_home_here && (used.contains(&row.id) || !opening.contains(&row.id)) {
            flaws.push(Flaw::Shard(row.id.0));
        }
    }
}

/// Checks that each ephemeral object is closed once, after everything in the shard that may need it.
fn check_ephemerals(fragment: &Fragment, flaws: &mut Vec<Flaw>) {
    let mut closed: BTreeMap<OperationId, Vec<OperationId>> = BTreeMap::new();
    let mut last = None;
    for row in &fragment.rows {
        match &row.operation {
            Operation::OpenEphemeral { .. } => drop(closed.entry(row.id).or_default()),
            Operation::CloseEphemeral { ephemeral } => {
                closed.entry(*ephemeral).or_default().push(row.id);
                continue;
            }
            Operation::CloseProvider { .. } => continue,
            _ => {}
        }
        last = Some(row.id);
    }
    for (opened, closes) in closed {
        if !matches!(closes.as_slice(), [close] if Some(*close) > last) {
            flaws.push(Flaw::NotClosedEphemeral(opened.0));
        }
    }
}

fn check_operands(fragment: &Fragment, row: &Row, flaws: &mut Vec<Flaw>) {
    let id = row.id;
    let find = |other: OperationId| {
        let at = fragment.rows.binary_search_by_key(&other, |r| r.id).ok()?;
        fragment.rows.get(at).map(|r| &r.operation)
    };
    let mut expect = |other: OperationId, opcode: Opcode, of: Option<&ResourceInstance>| {
        let found = find(other).filter(|o| o.opcode() == opcode);
        let same_object = |o: &Operation<FormulaIndex>| of.is_none() || instance(o) == of;
        if !found.is_some_and(same_object) {
            flaws.push(Flaw::WrongKind { operation: id.0, operand: other.0 });
        }
    };
    match &row.operation {
        Operation::CloseProvider { provider }
        | Operation::ReadData { provider, .. }
        | Operation::OpenEphemeral { provider, .. } => {
            expect(*provider, Opcode::OpenProvider, None);
        }
        Operation::CloseEphemeral { ephemeral } => expect(*ephemeral, Opcode::OpenEphemeral, None),
        Operation::FinalPlan { address, provider, prior, desired, planned } => {
            expect(*provider, Opcode::OpenProvider, None);
            // The prior object of a moved instance has another address.
            prior.iter().for_each(|p| expect(*p, Opcode::PriorState, None));
            desired.iter().for_each(|d| expect(*d, Opcode::Desired, Some(address)));
            let fits = match planned.action {
                Action::Create => prior.is_none() && desired.is_some() && !planned.value.is_null(),
                Action::Update => prior.is_some() && desired.is_some() && !planned.value.is_null(),
                Action::Delete => prior.is_some() && desired.is_none() && planned.value.is_null(),
                Action::NoOp | Action::Read | Action::Forget => false,
            };
            if !fits {
                flaws.push(Flaw::Plan(id.0));
            }
        }
        Operation::Apply { address, plan, .. } => expect(*plan, Opcode::FinalPlan, Some(address)),
        _ => {}
    }
}

fn instance<F>(operation: &Operation<F>) -> Option<&ResourceInstance> {
    match operation {
        Operation::Desired { address, .. } | Operation::FinalPlan { address, .. } => Some(address),
        _ => None,
    }
}

/// The values that are stored in an operation itself.
fn values<F>(operation: &Operation<F>) -> Vec<&Value> {
    match operation {
        Operation::PriorState { object, .. } => vec![&object.value],
        Operation::FinalPlan { planned, .. } => vec![&planned.value],
        Operation::ReadData { planned, .. } | Operation::Output { planned, .. } => vec![planned],
        Operation::Record { object, .. } => object.iter().map(|o| &o.value).collect(),
        _ => Vec::new(),
    }
}

/// Checks that every result that is read from another fragment is listed as foreign.
fn check_foreign(fragment: &Fragment, flaws: &mut Vec<Flaw>) {
    let here = |id: OperationId| fragment.rows.binary_search_by_key(&id, |r| r.id).is_ok();
    if !fragment.foreign.windows(2).all(|pair| pair[0].operation < pair[1].operation) {
        flaws.push(Flaw::Foreign(fragment.foreign.first().map_or(0, |f| f.operation.0)));
        return;
    }
    for foreign in &fragment.foreign {
        // In this order, a container comes directly before its parts.
        let apart = foreign.paths.windows(2).all(|pair| pair[0] < pair[1] && !pair[0].is_prefix_of(&pair[1]));
        if here(foreign.operation) || foreign.paths.is_empty() || !apart {
            flaws.push(Flaw::Foreign(foreign.operation.0));
        }
    }
    for row in &fragment.formulas.rows {
        let FormulaOp::Result(operation, path) = &row.op else { continue };
        if here(*operation) {
            continue;
        }
        let listed = fragment.foreign.binary_search_by_key(operation, |f| f.operation).ok();
        let covered = listed.and_then(|at| fragment.foreign.get(at)).is_some_and(|foreign| {
            // A listed path that contains `path` is always the last listed path that does not come after `path`.
            let behind = foreign.paths.partition_point(|listed| listed <= path);
            behind.checked_sub(1).and_then(|at| foreign.paths.get(at)).is_some_and(|p| p.is_prefix_of(path))
        });
        if !covered {
            flaws.push(Flaw::Foreign(operation.0));
        }
    }
}
