//! What waits for what, to be looked at: vertices by name, edges from whoever waits, nothing said twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::components;

/// What a vertex looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A resource or one of its instances.
    Box,
    /// A provider.
    Diamond,
    /// A variable of the root module.
    Note,
    /// Nothing but a name at the ends of edges.
    Plain,
}

/// A vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Its name, which no other has.
    pub name: String,
    /// What stands in it; the name of the object that it is about.
    pub label: String,
    /// What it looks like.
    pub shape: Shape,
}

/// A graph to be looked at.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    vertices: Vec<Vertex>,
    by_name: BTreeMap<String, usize>,
    next: Vec<BTreeSet<usize>>,
}

/// The vertex that waits for all others.
const ROOT: &str = "root";

impl Drawing {
    /// The vertex of this name, made when it is not there yet.
    pub fn vertex(&mut self, name: &str, label: &str, shape: Shape) -> usize {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let index = self.vertices.len();
        self.vertices.push(Vertex { name: name.to_owned(), label: label.to_owned(), shape });
        self.by_name.insert(name.to_owned(), index);
        self.next.push(BTreeSet::new());
        index
    }

    /// Whether there is a vertex of this name.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// `from` waits for `to`. No vertex waits for itself.
    pub fn edge(&mut self, from: usize, to: usize) {
        if from != to
            && to < self.next.len()
            && let Some(next) = self.next.get_mut(from)
        {
            next.insert(to);
        }
    }

    /// All vertices; an edge names them by their indices.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// All edges: who waits, and for what.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        self.next.iter().enumerate().flat_map(|(from, next)| next.iter().map(move |to| (from, *to)))
    }

    /// Lets one vertex wait for all that nobody waits for, so that the graph has one beginning.
    pub fn add_root(&mut self) {
        let waited: BTreeSet<usize> = self.edges().map(|(_, to)| to).collect();
        let first: Vec<usize> = (0..self.vertices.len()).filter(|index| !waited.contains(index)).collect();
        let root = self.vertex(ROOT, ROOT, Shape::Plain);
        first.into_iter().for_each(|index| self.edge(root, index));
    }

    /// The vertices that wait for each other, one list a circle.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let next: Vec<Vec<usize>> = self.next.iter().map(|next| next.iter().copied().collect()).collect();
        components(&next).into_iter().filter(|members| members.len() > 1).collect()
    }

    /// Takes away every edge that follows from others. A graph with circles stays as it is.
    ///
    /// The time is that of vertices times edges, of blocks of a configuration and not of instances; in practice what
    /// is near hides most of what is far.
    pub fn reduce(&mut self) {
        let next: Vec<Vec<usize>> = self.next.iter().map(|next| next.iter().copied().collect()).collect();
        // Whoever leads to nothing comes first.
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
                        // What lies below all targets hides none of them.
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
            let from = drawing.vertex(from, "", Shape::Plain);
            let to = drawing.vertex(to, "", Shape::Plain);
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
    fn nothing_is_said_twice() {
        let mut drawing = drawn(&[("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d"), ("x", "d"), ("a", "a")]);
        drawing.add_root();
        drawing.reduce();
        assert_eq!(edges(&drawing), ["a>b", "b>c", "c>d", "root>a", "root>x", "x>d"]);
        assert!(drawing.circles().is_empty());
    }

    #[test]
    fn circles_stay() {
        let mut drawing = drawn(&[("a", "b"), ("b", "a"), ("c", "a"), ("c", "b")]);
        drawing.reduce();
        assert_eq!(edges(&drawing).len(), 4);
        assert_eq!(drawing.circles().len(), 1);
    }
}
