//! The graph of a plan file: its operations, with the start and the end of their providers.

use std::collections::BTreeMap;

use weft_coordinator::{Need, OperationKind, OutlineOperation, ShardKey};
use weft_evaluator::drawing::{Drawing, VertexKind};
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::plan_file::PlanFile;

use weft_coordinator::outline::outline;

/// The graph of this plan.
pub fn draw(plan: &PlanFile) -> Drawing {
    let outline = outline(plan);
    let mut drawing = Drawing::default();
    let mut by_index: BTreeMap<u32, usize> = BTreeMap::new();
    for operation in &outline.operations {
        let vertex = vertex(&mut drawing, operation);
        by_index.insert(operation.index, vertex);
        let shard = outline.shard(operation.shard);
        if let Some(ShardKey::Provider(instance)) = shard.map(|shard| &shard.key) {
            let open = drawing.vertex(instance, instance, VertexKind::Diamond);
            let close = drawing.vertex(&format!("{instance} (close)"), instance, VertexKind::Plain);
            drawing.edge(vertex, open);
            drawing.edge(close, vertex);
        }
    }
    let waiters: Vec<usize> = (0..outline.waiters.len())
        .map(|index| drawing.vertex(&format!("waiter {index}"), "waiter", VertexKind::Plain))
        .collect();
    let place = |need: &Need| match need {
        Need::Operation(index) => by_index.get(index).copied(),
        Need::Waiter(index) => usize::try_from(*index).ok().and_then(|index| waiters.get(index)).copied(),
    };
    let own = outline
        .operations
        .iter()
        .filter_map(|operation| by_index.get(&operation.index).map(|vertex| (*vertex, operation.needs.as_slice())));
    let of_waiters = waiters.iter().copied().zip(outline.waiters.iter().map(|waiter| waiter.needs.as_slice()));
    for (from, needs) in own.chain(of_waiters) {
        needs.iter().filter_map(place).for_each(|to| drawing.edge(from, to));
    }
    drawing.add_root();
    drawing
}

/// The vertex of an operation. Its name is the one that OpenTofu uses for the operation, if OpenTofu has such an
/// operation.
fn vertex(drawing: &mut Drawing, operation: &OutlineOperation) -> usize {
    use OperationKind::{Create, Delete, Output, Read, Update};
    let deposed = operation.deposed.as_ref().map(|key| format!(" (deposed {key})")).unwrap_or_default();
    let address = format!("{}{deposed}", operation.address);
    let name = match operation.kind {
        Create | Update | Read => address,
        Output => format!("{address} (expand)"),
        Delete => format!("{address} (destroy)"),
        _ => format!("{address} ({})", operation.kind),
    };
    let label = match operation.address.parse::<ResourceInstance>() {
        Ok(instance) => instance.config().to_string(),
        Err(_) => operation.address.clone(),
    };
    let shape =
        if matches!(operation.kind, Create | Update | Delete | Read) { VertexKind::Box } else { VertexKind::Plain };
    drawing.vertex(&unused(drawing, name), &label, shape)
}

/// Makes a name unique. An object can be changed twice, and conditions have no names of their own.
fn unused(drawing: &Drawing, name: String) -> String {
    if !drawing.has(&name) {
        return name;
    }
    let mut number = 2;
    loop {
        let numbered = format!("{name} #{number}");
        if !drawing.has(&numbered) {
            return numbered;
        }
        number += 1;
    }
}
