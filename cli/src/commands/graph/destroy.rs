//! The graph of a destroy of all objects in the state: dependents are destroyed before the objects that they depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_evaluator::config::{self, CompiledModule};
use weft_evaluator::drawing::{Drawing, VertexKind};
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_state::{Snapshot, StoredInstance};

use super::orphans;

/// The graph of a destroy of this state.
pub fn draw(root: &Arc<CompiledModule>, snapshot: &Snapshot) -> Drawing {
    let mut drawing = Drawing::default();
    frame(&mut drawing, root);
    orphans::outputs(&mut drawing, root, snapshot);
    let wanted = |stored: &StoredInstance| {
        let ephemeral = stored.record.mode() == ResourceMode::Ephemeral;
        !ephemeral && stored.record.current.is_some() && stored.record.address.resource.is_valid()
    };
    let all = snapshot.in_text_order().into_iter().filter(|(_, stored)| wanted(stored));
    let mut of_config: BTreeMap<String, Vec<(usize, &ResourceInstance)>> = BTreeMap::new();
    let mut drawn = Vec::new();
    for (text, stored) in all {
        let address = &stored.record.address;
        let config = address.config().to_string();
        let vertex = drawing.vertex(&format!("{text} (destroy)"), &config, VertexKind::Box);
        orphans::use_provider(&mut drawing, vertex, stored);
        of_config.entry(config).or_default().push((vertex, address));
        drawn.push((vertex, stored));
    }
    for (vertex, stored) in drawn {
        let address = &stored.record.address;
        for config in stored.record.dependencies() {
            let needed = of_config.get(config).into_iter().flatten();
            needed.filter(|(_, other)| !are_apart(address, other)).for_each(|(other, _)| drawing.edge(*other, vertex));
        }
    }
    configurations(&mut drawing, &config::draw(root));
    drawing.add_root();
    drawing
}

/// Whether two objects are in different instances of the same module. Recorded dependencies have no keys, so an object
/// seems to depend on objects in all instances of a module. The graph omits such edges between two instances of one
/// module.
fn are_apart(one: &ResourceInstance, other: &ResourceInstance) -> bool {
    one.module != other.module && one.module.config() == other.module.config()
}

/// Adds the outputs and variables of the root module, and the end vertices of all modules.
fn frame(drawing: &mut Drawing, root: &Arc<CompiledModule>) {
    for name in root.outputs.keys() {
        let name = format!("output.{name}");
        drawing.vertex(&format!("{name} (expand)"), &name, VertexKind::Plain);
    }
    for name in root.variables.keys() {
        let name = format!("var.{name}");
        drawing.vertex(&name, &name, VertexKind::Note);
    }
    for module in root.all() {
        let Some(outer) = module.path.parent().filter(|_| !module.path.is_root()) else { continue };
        let end = orphans::close(drawing, &module.path);
        if !outer.is_root() {
            let outer = orphans::close(drawing, &outer);
            drawing.edge(outer, end);
        }
    }
}

/// Adds everything that the configurations of the used providers refer to, except resources.
fn configurations(drawing: &mut Drawing, whole: &Drawing) {
    let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in whole.edges() {
        next.entry(from).or_default().push(to);
    }
    let providers = whole.vertices().iter().enumerate();
    let used = providers.filter(|(_, vertex)| vertex.shape == VertexKind::Diamond && drawing.has(&vertex.name));
    let mut pending: Vec<usize> = used.map(|(index, _)| index).collect();
    let mut seen: BTreeSet<usize> = pending.iter().copied().collect();
    while let Some(from) = pending.pop() {
        for to in next.get(&from).into_iter().flatten() {
            let (Some(one), Some(other)) = (whole.vertices().get(from), whole.vertices().get(*to)) else { continue };
            if other.shape == VertexKind::Box {
                continue;
            }
            let one = drawing.vertex(&one.name, &one.label, one.shape);
            let other = drawing.vertex(&other.name, &other.label, other.shape);
            drawing.edge(one, other);
            if seen.insert(*to) {
                pending.push(*to);
            }
        }
    }
}
