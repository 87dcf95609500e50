//! From a plan file to the input of a coordinator: the outline of its operations, and the part of each shard.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_coordinator::{
    Export, Need, OperationKind, Outline, OutlineOperation, OutlineShard, RunPlan, ShardKey, Waiter,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::{self, Action, Opcode, OutlineRow, Shard, Waits};
use weft_graph_format::path::Path;
use weft_graph_format::plan_file::{Manifest, PlanFile, PlanReader};
use weft_state::{Claim, ClaimMode, Digest, Revision, Subject};

use crate::apply::checks;
use crate::problems;

/// How claims of outputs begin.
const OUTPUT: &str = "output.";

/// What a run of this plan is begun with. The plan itself is not kept: there may be millions of operations.
///
/// # Errors
/// When a part of it cannot be written for a worker.
pub fn run_plan(mut plan: PlanFile, digest: Digest) -> Result<RunPlan, Vec<Diagnostic>> {
    let outline = Arc::new(outline(&plan));
    let wanted = plan.manifest.ephemeral_variables.keys().map(ToString::to_string).collect();
    let encoded = plan.take_packages().map(|package| package.encode().map(Arc::from));
    let fragments: Result<Vec<Arc<[u8]>>, _> = encoded.collect();
    let unwritable = |error| vec![Diagnostic::error("Plan cannot be carried out", format!("{error}."))];
    Ok(RunPlan { outline, fragments: fragments.map_err(unwritable)?, digest, inputs: BTreeMap::new(), wanted })
}

/// The operations as a coordinator sees them.
pub fn outline(plan: &PlanFile) -> Outline {
    let mut operations: Vec<OutlineOperation> = plan.graph.outline.iter().map(operation).collect();
    let mut exports = exports(plan);
    for operation in &mut operations {
        operation.exports = exports.remove(&operation.index).unwrap_or_default();
    }
    Outline {
        operations,
        waiters: plan.graph.waiters.iter().map(|waits| Waiter { needs: needs(waits) }).collect(),
        shards: plan.graph.fragments.iter().map(|fragment| shard(&fragment.shard, &plan.manifest)).collect(),
        claims: plan.manifest.claims.iter().map(claim).collect(),
        lineage: Some(plan.manifest.lineage.clone()),
        checks: checks::records(&checks::Known::of(plan)).unwrap_or_default(),
        check_needs: plan.manifest.check_needs.clone(),
    }
}

fn operation(row: &OutlineRow) -> OutlineOperation {
    let kind = kind(row);
    let action = match kind {
        OperationKind::Evaluate => "evaluate",
        OperationKind::Output => "output",
        OperationKind::Check => "check",
        OperationKind::Record => "record",
        OperationKind::Depose => "depose",
        OperationKind::Provision => "provision",
        _ => row.action.word(),
    };
    OutlineOperation {
        deposed: row.deposed.clone(),
        needs: needs(&row.needs),
        changes_world: row.changes_world,
        probe_by_identity: row.lookup.is_some() && kind == OperationKind::Create,
        ..OutlineOperation::new(row.id.0, kind, row.address.clone(), action, row.shard)
    }
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

/// What each fragment wants of results elsewhere; those that want the same of an operation share one export.
fn exports(plan: &PlanFile) -> BTreeMap<u32, Vec<Export>> {
    let mut wanted: BTreeMap<u32, BTreeMap<&[Path], Vec<u32>>> = BTreeMap::new();
    for (reader, fragment) in (0..).zip(&plan.graph.fragments) {
        for foreign in &fragment.foreign {
            let readers = wanted.entry(foreign.operation.0).or_default().entry(&foreign.paths).or_default();
            readers.push(reader);
        }
    }
    let export = |(paths, readers): (&[Path], Vec<u32>)| Export { paths: paths.to_vec(), readers };
    wanted.into_iter().map(|(id, exports)| (id, exports.into_iter().map(export).collect())).collect()
}

fn shard(shard: &Shard, manifest: &Manifest) -> OutlineShard {
    match shard {
        Shard::Home => OutlineShard::new(ShardKey::Home),
        Shard::Unplaced => OutlineShard::new(ShardKey::Unplaced),
        Shard::Provider(instance) => OutlineShard {
            packages: manifest.package(&instance.source).map(|package| package.hashes.clone()).unwrap_or_default(),
            ..OutlineShard::new(ShardKey::Provider(instance.to_string()))
        },
    }
}

fn claim(claim: &graph::Claim) -> Claim {
    let subject = match claim.address.strip_prefix(OUTPUT) {
        Some(name) if !name.contains('.') => Subject::Output(name.to_owned()),
        _ => Subject::Instance(claim.address.clone()),
    };
    let mode = if claim.exclusive { ClaimMode::Exclusive } else { ClaimMode::Shared };
    Claim { subject, mode, expected: Revision(claim.revision) }
}

/// Reads plan files for a coordinator: checked as a whole, and refused where planning had failed.
#[derive(Clone, Copy, Debug)]
pub struct Reader;

/// A plan file in memory, whole and checked.
///
/// # Errors
/// What is wrong with it.
pub fn read(bytes: &[u8]) -> Result<PlanFile, Vec<Diagnostic>> {
    let refused = |error: weft_graph_format::plan_file::PlanFileError| {
        vec![Diagnostic::error("Plan file refused", format!("{error}."))]
    };
    PlanReader::from_bytes(bytes).and_then(|reader| reader.whole()).map_err(refused)
}

/// Why a plan with errors is not applied.
pub fn refuse_errored(plan: &PlanFile) -> Result<(), Diagnostic> {
    if !plan.manifest.errored {
        return Ok(());
    }
    Err(problems::incomplete_plan())
}

impl weft_coordinator::PlanReader for Reader {
    fn read(&self, plan: &[u8]) -> Result<RunPlan, Vec<Diagnostic>> {
        let file = read(plan)?;
        refuse_errored(&file).map_err(|problem| vec![problem])?;
        run_plan(file, Digest::of(plan))
    }
}
