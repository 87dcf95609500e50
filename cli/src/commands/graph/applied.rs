//! The graph of an apply that has no plan file and makes no changes. The graph contains:
//!
//! - the outputs of the root module and the checks, with everything that they read,
//! - the variables of the root module,
//! - the vertices `(close)` of modules, and of the providers of the other vertices.
//!
//! A resource is omitted if its only readers are outputs of the root module, because the state has its objects.

use std::collections::{BTreeMap, BTreeSet};

use weft_evaluator::drawing::{Drawing, Vertex, VertexKind};

/// The suffix of the end vertex of a module or provider.
const CLOSE: &str = " (close)";
/// The suffix of the vertex of a check's report.
const REPORT: &str = " (report)";

/// The reduced graph of a configuration. `whole` is its full graph.
pub fn draw(whole: &Drawing) -> Drawing {
    let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in whole.edges() {
        next.entry(from).or_default().push(to);
    }
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    let mut pending: Vec<usize> = Vec::new();
    for (index, vertex) in whole.vertices().iter().enumerate() {
        if is_end_of_module(vertex) || vertex.shape == VertexKind::Note {
            kept.insert(index);
        } else if is_read_last(vertex) {
            pending.push(index);
        }
    }
    while let Some(index) = pending.pop() {
        let Some(vertex) = whole.vertices().get(index) else { continue };
        if vertex.name.ends_with(REPORT) || !kept.insert(index) {
            continue;
        }
        let is_resource = |to: &usize| whole.vertices().get(*to).is_some_and(|read| read.shape == VertexKind::Box);
        let read = next.get(&index).into_iter().flatten().copied();
        pending.extend(read.filter(|to| !(is_root_output(vertex) && is_resource(to))));
    }
    let ends = whole.vertices().iter().enumerate().filter(|(_, vertex)| is_end_of_provider(vertex));
    let used: Vec<usize> = ends
        .filter(|(index, _)| next.get(index).into_iter().flatten().any(|to| kept.contains(to)))
        .map(|(index, _)| index)
        .collect();
    kept.extend(used);
    let mut drawing = Drawing::default();
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, vertex) in whole.vertices().iter().enumerate().filter(|(index, _)| kept.contains(index)) {
        places.insert(index, drawing.vertex(&vertex.name, &vertex.label, vertex.shape));
    }
    for (from, to) in whole.edges() {
        if let (Some(from), Some(to)) = (places.get(&from), places.get(&to)) {
            drawing.edge(*from, *to);
        }
    }
    drawing.add_root();
    drawing
}

fn is_end_of_module(vertex: &Vertex) -> bool {
    vertex.name.ends_with(CLOSE) && !is_end_of_provider(vertex)
}

fn is_end_of_provider(vertex: &Vertex) -> bool {
    vertex.name.ends_with(CLOSE) && vertex.label.contains("provider[")
}

fn is_root_output(vertex: &Vertex) -> bool {
    vertex.label.starts_with("output.")
}

/// Whether a vertex is an output of the root module, or a check.
fn is_read_last(vertex: &Vertex) -> bool {
    let of_check = |label: &str| label.starts_with("check.") || label.contains(".check.");
    is_root_output(vertex) || of_check(&vertex.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nothing_reads_is_left_out() {
        let mut whole = Drawing::default();
        let mut vertex = |name: &str, label: &str, shape| whole.vertex(name, label, shape);
        let read = vertex("a.read (expand)", "a.read", VertexKind::Box);
        let unread = vertex("a.unread (expand)", "a.unread", VertexKind::Box);
        let output = vertex("output.o (expand)", "output.o", VertexKind::Plain);
        let check = vertex("check.c (expand)", "check.c", VertexKind::Plain);
        let open = vertex("provider[\"p\"]", "provider[\"p\"]", VertexKind::Diamond);
        let end = vertex("provider[\"p\"] (close)", "provider[\"p\"]", VertexKind::Plain);
        vertex("var.x", "var.x", VertexKind::Note);
        let of_provider = [(read, open), (unread, open), (end, read), (end, unread), (end, open)];
        for (from, to) in [(check, read), (output, unread)].into_iter().chain(of_provider) {
            whole.edge(from, to);
        }
        let found = draw(&whole);
        let names: Vec<&str> = found.vertices().iter().map(|vertex| vertex.name.as_str()).collect();
        let want = [
            "a.read (expand)",
            "output.o (expand)",
            "check.c (expand)",
            "provider[\"p\"]",
            "provider[\"p\"] (close)",
            "var.x",
            "root",
        ];
        assert_eq!(names, want);
    }
}
