//! The graph of destroying a state: dependents are destroyed before the objects that they depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_evaluator::drawing::{Drawing, VertexKind};
use weft_graph_format::address::ResourceMode;
use weft_state::{Snapshot, StoredInstance};

/// Prints it.
pub fn draw(root: &Arc<CompiledModule>, snapshot: &Snapshot) -> Drawing {
    let mut drawing = Drawing::default();
    for name in root.outputs.keys() {
        let name = format!("output.{name}");
        drawing.vertex(&format!("{name} (expand)"), &name, VertexKind::Plain);
    }
    let valid = |stored: &StoredInstance| stored.record.address.resource.is_valid();
    let all = snapshot.in_text_order().into_iter();
    let managed = all.filter(|(_, stored)| stored.record.mode() == ResourceMode::Managed && valid(stored));
    let mut of_config: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut all = Vec::new();
    for (text, stored) in managed {
        let config = stored.record.address.config().to_string();
        let vertex = drawing.vertex(&format!("{text} (destroy)"), &config, VertexKind::Box);
        of_config.entry(config).or_default().push(vertex);
        all.push((vertex, stored));
    }
    for (vertex, stored) in all {
        if let Ok(instance) = stored.record.provider.instance() {
            let name = instance.config().to_string();
            let open = drawing.vertex(&name, &name, VertexKind::Diamond);
            let close = drawing.vertex(&format!("{name} (close)"), &name, VertexKind::Plain);
            drawing.edge(vertex, open);
            drawing.edge(close, vertex);
        }
        for config in stored.record.dependencies() {
            for needed in of_config.get(config).into_iter().flatten() {
                drawing.edge(*needed, vertex);
            }
        }
    }
    drawing.add_root();
    drawing
}
