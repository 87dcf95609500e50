//! Additions to the graph of a configuration: objects and outputs that only the state has.

use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_evaluator::drawing::{Drawing, VertexKind};
use weft_graph_format::address::Module;
use weft_state::{Snapshot, StoredInstance};

/// Adds the objects and outputs that only the state has.
pub fn add(drawing: &mut Drawing, root: &Arc<CompiledModule>, snapshot: &Snapshot) {
    outputs(drawing, root, snapshot);
    let modules = root.all();
    let has = |stored: &StoredInstance| {
        let config = stored.record.address.config();
        modules.iter().any(|module| module.path == config.module && module.resources.contains_key(&config.resource))
    };
    for (text, stored) in snapshot.in_text_order() {
        let address = &stored.record.address;
        if stored.record.current.is_none() || !address.resource.is_valid() || has(stored) {
            continue;
        }
        let vertex = drawing.vertex(&format!("{text} (orphan)"), &address.config().to_string(), VertexKind::Box);
        use_provider(drawing, vertex, stored);
        let module = address.module.config();
        let begin = format!("{module} (expand)");
        if !module.is_root() && drawing.has(&begin) {
            let begin = drawing.vertex(&begin, "", VertexKind::Plain);
            let end = close(drawing, &module);
            drawing.edge(vertex, begin);
            drawing.edge(end, vertex);
        }
    }
    drawing.add_root();
}

/// Adds the outputs that only the state has.
pub fn outputs(drawing: &mut Drawing, root: &Arc<CompiledModule>, snapshot: &Snapshot) {
    let mut gone: Vec<&str> = snapshot.named_outputs().map(|(name, _)| name.as_str()).collect();
    gone.retain(|name| !root.outputs.contains_key(*name));
    gone.sort_unstable();
    for name in gone {
        let name = format!("output.{name} (destroy)");
        drawing.vertex(&name, &name, VertexKind::Note);
    }
}

/// Adds the edges of an object to the start and the end of its provider.
pub fn use_provider(drawing: &mut Drawing, vertex: usize, stored: &StoredInstance) {
    let Ok(instance) = stored.record.provider.instance() else { return };
    let name = instance.config().to_string();
    let open = drawing.vertex(&name, &name, VertexKind::Diamond);
    let end = drawing.vertex(&format!("{name} (close)"), &name, VertexKind::Plain);
    drawing.edge(vertex, open);
    drawing.edge(end, vertex);
}

/// The end vertex of a module.
pub fn close(drawing: &mut Drawing, module: &Module) -> usize {
    drawing.vertex(&format!("{module} (close)"), &module.to_string(), VertexKind::Plain)
}
