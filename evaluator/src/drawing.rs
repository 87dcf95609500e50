//! A dependency graph for display: named vertices, and edges from dependents to their dependencies. Duplicates are
//! dropped.

use std::collections::{BTreeMap, BTreeSet};

use crate::components::components;

/// The kind of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VertexKind {
    /// A resource or one of its instances.
    Box,
    /// A provider.
    Diamond,
    /// A variable of the root module.
    Note,
    /// A vertex that only edges name.
    Plain,
}

/// A vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Its unique name.
    pub name: String,
    /// Its label: the name of the object.
    pub label: String,
    /// Its kind.
    pub shape: VertexKind,
}

/// A graph for display.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    vertices: Vec<Vertex>,
    by_name: BTreeMap<String, usize>,
    next: Vec<BTreeSet<usize>>,
}

/// The vertex that waits for all others.
const ROOT: &str = "root";

impl Drawing {
    /// The vertex with this name. Creates the vertex if it does not exist.
    pub fn vertex(&mut self, name: &str, label: &str, shape: VertexKind) -> usize {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let index = self.vertices.len();
        self.vertices.push(Vertex { name: name.to_owned(), label: label.to_owned(), shape });
        self.by_name.insert(name.to_owned(), index);
        self.next.push(BTreeSet::new());
        index
    }

    /// Whether a vertex with this name exists.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Adds an edge: `from` waits for `to`. A vertex cannot wait for itself.
    pub fn edge(&mut self, from: usize, to: usize) {
        if from != to
            && to < self.next.len()
            && let Some(next) = self.next.get_mut(from)
        {
            next.insert(to);
        }
    }

    /// All vertices. Edges refer to vertices by index.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// All edges: the dependent and its dependency.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        self.next.iter().enumerate().flat_map(|(from, next)| next.iter().map(move |to| (from, *to)))
    }

    /// Adds edges from one vertex to all vertices without dependents, so that the graph has one root.
    pub fn add_root(&mut self) {
        let waited: BTreeSet<usize> = self.edges().map(|(_, to)| to).collect();
        let first: Vec<usize> = (0..self.vertices.len()).filter(|index| !waited.contains(index)).collect();
        let root = self.vertex(ROOT, ROOT, VertexKind::Plain);
        first.into_iter().for_each(|index| self.edge(root, index));
    }

    /// The vertices of each cycle.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let next: Vec<Vec<usize>> = self.next.iter().map(|next| next.iter().copied().collect()).collect();
        components(&next).into_iter().filter(|members| members.len() > 1).collect()
    }

    /// Removes edges that other edges imply. A graph with cycles is not changed.
    ///
    /// The time is at most the number of vertices times the number of edges. The vertices are blocks of a
    /// configuration, not instances. In practice, the time is less, because the search from a vertex skips all vertices
    /// that rank below the successors of this vertex.
    pub fn reduce(&mut self) {
        let next: Vec<Vec<usize>> = self.next.iter().map(|next| next.iter().copied().collect()).collect();
        // Vertices without successors have the lowest ranks.
        let mut rank = vec![0; next.len()];
        for (place, members) in components(&next).into_iter().enumerate() {
            match members.as_slice() {
                [only] => rank[*only] = place,
                _ => return,
            }
        }
        let mut seen = vec![usize::MAX; next.len()];
        for (from, targets) in next.iter().enumerate() {
            let mut targets = targets.clone();
            targets.sort_by_key(|to| std::cmp::Reverse(rank[*to]));
            let lowest = targets.last().map_or(0, |to| rank[*to]);
            for to in targets {
                if seen[to] == from {
                    self.next[from].remove(&to);
                    continue;
                }
                let mut pending = vec![to];
                while let Some(here) = pending.pop() {
                    for below in &next[here] {
                        // Vertices that rank below all targets cannot lead to any of them.
                        if seen[*below] != from && rank[*below] >= lowest {
                            seen[*below] = from;
                            pending.push(*below);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(edges: &[(&str, &str)]) -> Drawing {
        let mut drawing = Drawing::default();
        for (from, to) in edges {
            let from = drawing.vertex(from, "", VertexKind::Plain);
            let to = drawing.vertex(to, "", VertexKind::Plain);
            drawing.edge(from, to);
        }
        drawing
    }

    fn edges(drawing: &Drawing) -> Vec<String> {
        let name = |index: usize| drawing.vertices()[index].name.as_str();
        let mut found: Vec<String> = drawing.edges().map(|(from, to)| format!("{}>{}", name(from), name(to))).collect();
        found.sort();
        found
    }

    #[test]
    fn implied_edges_are_removed() {
        let mut drawing = drawn(&[("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d"), ("x", "d"), ("a", "a")]);
        drawing.add_root();
        drawing.reduce();
        assert_eq!(edges(&drawing), ["a>b", "b>c", "c>d", "root>a", "root>x", "x>d"]);
        assert!(drawing.circles().is_empty());
    }

    #[test]
    fn cycles_keep_all_their_edges() {
        let mut drawing = drawn(&[("a", "b"), ("b", "a"), ("c", "a"), ("c", "b")]);
        drawing.reduce();
        assert_eq!(edges(&drawing).len(), 4);
        assert_eq!(drawing.circles().len(), 1);
    }
}
