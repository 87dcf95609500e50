//! Prints a graph in the language of Graphviz, in OpenTofu's layout.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use weft_evaluator::drawing::{Drawing, VertexKind};

/// The prefix of each vertex name.
const PREFIX: &str = "[root] ";
/// The colors of cycles, used in rotation.
const COLOURS: [&str; 3] = ["red", "green", "blue"];

/// A text in quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Prints the graph: first a line for each vertex that has a shape, then a line for each edge. The lines of each kind
/// are sorted. If `colour_circles` is set, the edges of cycles are colored.
pub fn text(drawing: &Drawing, colour_circles: bool) -> String {
    let names: Vec<String> = drawing.vertices().iter().map(|v| quoted(&format!("{PREFIX}{}", v.name))).collect();
    let mut lines: BTreeSet<String> = BTreeSet::new();
    for (vertex, name) in drawing.vertices().iter().zip(&names) {
        let shape = match vertex.shape {
            VertexKind::Box => "box",
            VertexKind::Diamond => "diamond",
            VertexKind::Note => "note",
            VertexKind::Plain => continue,
        };
        lines.insert(format!("{name} [label = {}, shape = \"{shape}\"]", quoted(&vertex.label)));
    }
    let mut circle_of: BTreeMap<usize, usize> = BTreeMap::new();
    if colour_circles {
        for (circle, members) in drawing.circles().into_iter().enumerate() {
            circle_of.extend(members.into_iter().map(|member| (member, circle)));
        }
    }
    let mut edges: BTreeSet<String> = BTreeSet::new();
    for (from, to) in drawing.edges() {
        let (Some(start), Some(end)) = (names.get(from), names.get(to)) else { continue };
        let style = match (circle_of.get(&from), circle_of.get(&to)) {
            (Some(one), Some(other)) if one == other => {
                format!(" [color = \"{}\", penwidth = \"2.0\"]", COLOURS[one % COLOURS.len()])
            }
            _ => String::new(),
        };
        edges.insert(format!("{start} -> {end}{style}"));
    }
    let mut text = String::from("digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n");
    for line in lines.iter().chain(&edges) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "\t\t{line}");
    }
    // OpenTofu prints an empty line here too.
    text.push_str("\t}\n}\n\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_has_the_recorded_layout() {
        let mut drawing = Drawing::default();
        let a = drawing.vertex("a.b (expand)", "a.b", VertexKind::Box);
        let p = drawing.vertex("provider[\"h/n/t\"]", "provider[\"h/n/t\"]", VertexKind::Diamond);
        drawing.edge(a, p);
        drawing.add_root();
        let expected = "digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n\
            \t\t\"[root] a.b (expand)\" [label = \"a.b\", shape = \"box\"]\n\
            \t\t\"[root] provider[\\\"h/n/t\\\"]\" [label = \"provider[\\\"h/n/t\\\"]\", shape = \"diamond\"]\n\
            \t\t\"[root] a.b (expand)\" -> \"[root] provider[\\\"h/n/t\\\"]\"\n\
            \t\t\"[root] root\" -> \"[root] a.b (expand)\"\n\t}\n}\n\n";
        assert_eq!(text(&drawing, false), expected);
    }

    #[test]
    fn cycles_are_colored() {
        let mut drawing = Drawing::default();
        let a = drawing.vertex("a", "a", VertexKind::Plain);
        let b = drawing.vertex("b", "b", VertexKind::Plain);
        drawing.edge(a, b);
        drawing.edge(b, a);
        assert!(text(&drawing, true).contains("\"[root] a\" -> \"[root] b\" [color = \"red\", penwidth = \"2.0\"]"));
        assert!(!text(&drawing, false).contains("red"));
    }
}
