//! Builds the outline of an execution graph.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::address::ProviderInstance;
use weft_graph_format::graph::{Action, Claim, Fragment, Opcode, OutlineRow, Shard, Waits};
use weft_graph_format::lookups::{LookupTable, lookup_table};
use weft_graph_format::path::Path;
use weft_graph_format::plan_file::PlanFile;
use weft_state::{ClaimMode, Revision};

use super::checks::{check_subjects, planned_checks, run_checks};
use super::{Need, OperationKind, Outline, OutlineExport, OutlineOperation, OutlineShard, RunClaim, ShardKey, Waiter};
use crate::retry::RetryRule;
use crate::table::{BudgetIndex, ShardIndex};

/// The outline of a plan file: its operations as a coordinator sees them.
pub fn outline(plan: &PlanFile) -> Outline {
    let tables: Vec<_> = plan.graph.fragments.iter().map(names).collect();
    let table = |row: &OutlineRow| usize::try_from(row.shard).ok().and_then(|shard| *tables.get(shard)?);
    let mut operations: Vec<OutlineOperation> =
        plan.graph.outline.iter().map(|row| operation(row, table(row))).collect();
    let mut exports = exports(plan);
    for operation in &mut operations {
        operation.exports = exports.remove(&operation.index).unwrap_or_default();
    }
    let checks = planned_checks(&plan.manifest.checks).unwrap_or_default();
    let checks = run_checks(checks, &plan.manifest.check_needs);
    let mut rules = Rules::default();
    Outline {
        check_subjects: check_subjects(&operations, &checks),
        operations,
        waiters: plan.graph.waiters.iter().map(|waits| Waiter { needs: needs(waits) }).collect(),
        shards: plan
            .graph
            .fragments
            .iter()
            .enumerate()
            .map(|(index, fragment)| shard(index, fragment, plan, &mut rules))
            .collect(),
        budgets: plan.manifest.limits.budgets.clone(),
        claims: plan.manifest.claims.iter().map(claim).collect(),
        lineage: Some(plan.manifest.lineage.clone()),
        checks,
    }
}

/// The names for look-ups with the provider of a shard.
fn names(fragment: &Fragment) -> Option<&'static LookupTable> {
    match &fragment.shard {
        Shard::Provider(instance) => lookup_table(&instance.source),
        Shard::Home | Shard::Unplaced => None,
    }
}

fn operation(row: &OutlineRow, names: Option<&LookupTable>) -> OutlineOperation {
    let kind = kind(row);
    let operation = OutlineOperation {
        deposed: row.deposed.clone(),
        needs: needs(&row.needs),
        changes_world: row.changes_world,
        probe_by_identity: row.lookup.is_some() && kind == OperationKind::Create,
        ..OutlineOperation::new(row.id.0, kind, row.address.clone(), row.shard)
    };
    let looks_first =
        row.lookup.is_none() && kind == OperationKind::Create && names.is_some_and(|names| has_name(&operation, names));
    OutlineOperation { looks_first, ..operation }
}

/// Whether the object of a create is found by its name.
fn has_name(operation: &OutlineOperation, names: &LookupTable) -> bool {
    operation.instance().is_some_and(|found| names.contains_key(found.resource.type_name.as_str()))
}

fn kind(row: &OutlineRow) -> OperationKind {
    for (opcode, kind) in [
        (Opcode::Evaluate, OperationKind::Evaluate),
        (Opcode::Output, OperationKind::Output),
        (Opcode::Check, OperationKind::Check),
        (Opcode::Record, OperationKind::Record),
        (Opcode::Depose, OperationKind::Depose),
        (Opcode::Forget, OperationKind::Forget),
        (Opcode::ReadData, OperationKind::Read),
        (Opcode::Provision, OperationKind::Provision),
    ] {
        if row.is(opcode) {
            return kind;
        }
    }
    match row.action {
        Action::Create => OperationKind::Create,
        Action::Delete => OperationKind::Delete,
        Action::Forget => OperationKind::Forget,
        Action::Read => OperationKind::Read,
        Action::Update | Action::NoOp => OperationKind::Update,
    }
}

fn needs(waits: &Waits) -> Vec<Need> {
    let operations = waits.operations.iter().map(|id| Need::Operation(id.0));
    operations.chain(waits.waiters.iter().map(|index| Need::Waiter(index.0))).collect()
}

/// The exports of each operation. Fragments that read the same parts share one export.
fn exports(plan: &PlanFile) -> BTreeMap<u32, Vec<OutlineExport>> {
    let mut wanted: BTreeMap<u32, BTreeMap<&[Path], Vec<ShardIndex>>> = BTreeMap::new();
    for (reader, fragment) in (0..).zip(&plan.graph.fragments) {
        for foreign in &fragment.foreign {
            let readers = wanted.entry(foreign.operation.0).or_default().entry(&foreign.paths).or_default();
            readers.push(ShardIndex(reader));
        }
    }
    let export = |(paths, readers): (&[Path], Vec<ShardIndex>)| OutlineExport { paths: paths.to_vec(), readers };
    wanted.into_iter().map(|(id, exports)| (id, exports.into_iter().map(export).collect())).collect()
}

/// The retry rules, which the shards of a provider share.
type Rules = BTreeMap<(String, Option<u32>), Arc<RetryRule>>;

fn shard(index: usize, fragment: &Fragment, plan: &PlanFile, rules: &mut Rules) -> OutlineShard {
    let manifest = &plan.manifest;
    let shard = match &fragment.shard {
        Shard::Home => OutlineShard::new(ShardKey::Home),
        Shard::Unplaced => OutlineShard::new(ShardKey::Unplaced),
        Shard::Provider(instance) => OutlineShard {
            packages: manifest.package(&instance.source).map(|package| package.hashes.clone()).unwrap_or_default(),
            budgets: manifest.limits.budgets_of(index).map(BudgetIndex).collect(),
            retry: Some(retry(index, instance, plan, rules)),
            ..OutlineShard::new(ShardKey::Provider(instance.to_string()))
        },
    };
    let shard = OutlineShard { bound: manifest.placement.bound(index), ..shard };
    match manifest.placement.shard(index) {
        Some(demands) => OutlineShard { labels: demands.labels.clone(), concurrency: demands.concurrency, ..shard },
        None => shard,
    }
}

fn retry(index: usize, instance: &ProviderInstance, plan: &PlanFile, rules: &mut Rules) -> Arc<RetryRule> {
    let limits = &plan.manifest.limits;
    let source = format!("{}/{}", instance.source.namespace, instance.source.type_name);
    let own = limits.shards.get(index).and_then(|shard| shard.retry);
    let rule = rules.entry((source.clone(), own));
    Arc::clone(rule.or_insert_with(|| Arc::new(RetryRule::new(&source, limits.retry_of(index)))))
}

fn claim(claim: &Claim) -> RunClaim {
    let mode = if claim.exclusive { ClaimMode::Exclusive } else { ClaimMode::Shared };
    RunClaim { subject: claim.subject.clone(), mode, expected: Revision(claim.revision) }
}
