//! The references of an expression.

use std::collections::BTreeMap;

use crate::expression::{ExprId, ExprKind, Name, TemplatePart, Traversal};
use crate::tree::Expression;

/// A step of the walk that remains to be done.
enum Visit<'tree> {
    /// Visit this node.
    Node(ExprId),
    /// The expression binds this name from here on.
    Bind(&'tree Name),
    /// The expression no longer binds this name from here on.
    Unbind(&'tree Name),
}

/// All traversals in an expression, in source order, except for those whose root is bound by a surrounding `for`.
///
/// Branches that evaluation would not take are included. Object keys that must be evaluated are included, but bare
/// object keys are not. The names of a `for` are not bound in the collection that it iterates over. The cost is linear
/// in the size of the expression, and nothing recurses.
pub fn references(expression: &Expression) -> Vec<&Traversal> {
    let mut found = Vec::new();
    let mut bound: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pending = vec![Visit::Node(expression.id)];
    let mut children = Vec::new();
    while let Some(visit) = pending.pop() {
        let id = match visit {
            Visit::Node(id) => id,
            Visit::Bind(name) => {
                *bound.entry(&name.text).or_default() += 1;
                continue;
            }
            Visit::Unbind(name) => {
                if let Some(count) = bound.get_mut(name.text.as_str()) {
                    *count -= 1;
                }
                continue;
            }
        };
        children.clear();
        match &expression.tree.node(id).kind {
            ExprKind::Traversal(traversal) => {
                if bound.get(traversal.root.text.as_str()).is_none_or(|count| *count == 0) {
                    found.push(traversal);
                }
            }
            ExprKind::Object { items } => {
                for item in items {
                    if item.form.as_bare().is_none() {
                        children.push(Visit::Node(item.key));
                    }
                    children.push(Visit::Node(item.value));
                }
            }
            ExprKind::For(node) => {
                let names = || node.key_variable.iter().chain([&node.value_variable]);
                let inside = node.key.iter().chain([&node.value]).chain(&node.condition);
                children.push(Visit::Node(node.collection));
                children.extend(names().map(Visit::Bind));
                children.extend(inside.map(|id| Visit::Node(*id)));
                children.extend(names().map(Visit::Unbind));
            }
            ExprKind::Template(template) => {
                for part in &template.parts {
                    if let TemplatePart::For { key_variable, value_variable, collection, body, .. } = part {
                        let names = || key_variable.iter().chain([value_variable]);
                        children.push(Visit::Node(*collection));
                        children.extend(names().map(Visit::Bind));
                        children.push(Visit::Node(*body));
                        children.extend(names().map(Visit::Unbind));
                    } else {
                        part.for_each_child(&mut |id| children.push(Visit::Node(id)));
                    }
                }
            }
            kind => kind.for_each_child(|id| children.push(Visit::Node(id))),
        }
        pending.extend(children.drain(..).rev());
    }
    found
}
