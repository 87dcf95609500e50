//! The references of bodies whose schema is not known yet.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_syntax::{Block, BodyId, ExprId, ExprKind, Expression, KeyForm, NameRole, Tree};

use super::BodySource;
use crate::reference::{Reference, note_references};

/// A body or a `dynamic` block to visit, with the names that the blocks around it bind.
enum Pending {
    Body(Arc<Tree>, BodyId, Vec<SmolStr>),
    Block(Arc<Tree>, Block, Vec<SmolStr>),
}

/// The role of a name in a body without a schema: only `dynamic` blocks are recognized.
fn with_dynamic(name: &str) -> NameRole<'static> {
    if name == "dynamic" { NameRole::Block(&["type"]) } else { NameRole::Unknown }
}

/// The role of a name in a `dynamic` block.
fn in_dynamic(name: &str) -> NameRole<'static> {
    match name {
        "for_each" | "iterator" | "labels" => NameRole::Argument,
        "content" => NameRole::Block(&[]),
        _ => NameRole::Hidden,
    }
}

/// All references of a body and its blocks, without the names that `dynamic` blocks bind.
pub(crate) fn references_of_body(source: &BodySource, diagnostics: &mut Vec<Diagnostic>) -> Vec<Reference> {
    let mut search = ReferenceSearch { found: Vec::new(), diagnostics, pending: Vec::new() };
    let content = source.content(&with_dynamic);
    for (tree, attribute) in content.attributes {
        search.argument(&tree.expression(attribute.expression), &[]);
    }
    search.pending.extend(content.blocks.into_iter().map(|(tree, block)| Pending::Block(tree, block, Vec::new())));
    search.finish();
    search.found
}

/// All references of blocks. Invalid references are skipped.
pub(crate) fn references_of_blocks(blocks: impl IntoIterator<Item = (Arc<Tree>, Block)>) -> Vec<Reference> {
    let pending = blocks.into_iter().map(|(tree, block)| Pending::Block(tree, block, Vec::new())).collect();
    let mut search = ReferenceSearch { found: Vec::new(), diagnostics: &mut Vec::new(), pending };
    search.finish();
    search.found
}

/// A search for references in bodies and blocks.
struct ReferenceSearch<'a> {
    found: Vec<Reference>,
    diagnostics: &'a mut Vec<Diagnostic>,
    pending: Vec<Pending>,
}

impl ReferenceSearch<'_> {
    fn finish(&mut self) {
        while let Some(next) = self.pending.pop() {
            match next {
                Pending::Block(tree, block, bound) if block.block_type.text == "dynamic" => {
                    self.dynamic(&tree, &block, bound);
                }
                Pending::Block(tree, block, bound) => self.body(&tree, block.body, &bound),
                Pending::Body(tree, body, bound) => self.body(&tree, body, &bound),
            }
        }
    }

    fn body(&mut self, tree: &Arc<Tree>, body: BodyId, bound: &[SmolStr]) {
        let inside = tree.content(body, &with_dynamic).body;
        for attribute in &inside.attributes {
            self.argument(&tree.expression(attribute.expression), bound);
        }
        let blocks = inside.blocks.iter();
        self.pending.extend(blocks.map(|inner| Pending::Block(tree.clone(), inner.clone(), bound.to_vec())));
    }

    fn dynamic(&mut self, tree: &Arc<Tree>, block: &Block, bound: Vec<SmolStr>) {
        let inside = tree.content(block.body, &in_dynamic).body;
        let named = inside.attribute("iterator").map(|a| tree.expression(a.expression));
        let iterator = named.as_ref().and_then(|named| named.as_keyword().map(SmolStr::new));
        let label = block.labels.first().map(|label| label.text.clone());
        let mut inner_bound = bound.clone();
        inner_bound.extend(iterator.clone().or(label));
        for attribute in &inside.attributes {
            match attribute.name.text.as_str() {
                // The block does not bind names in its own `for_each`.
                "for_each" => self.note(&tree.expression(attribute.expression), &bound),
                "labels" => self.note(&tree.expression(attribute.expression), &inner_bound),
                _ => {}
            }
        }
        // If `iterator` is not a name, the references of the content cannot be determined.
        if named.is_some() && iterator.is_none() {
            return;
        }
        let contents = inside.blocks_of("content");
        self.pending.extend(contents.map(|inner| Pending::Body(tree.clone(), inner.body, inner_bound.clone())));
    }

    /// Collects the references of an argument. In the JSON syntax, the argument may consist of blocks that contain
    /// `dynamic` blocks.
    fn argument(&mut self, expression: &Expression, bound: &[SmolStr]) {
        let mut values = vec![expression.id];
        while let Some(id) = values.pop() {
            let value = expression.child(id);
            match value.kind() {
                ExprKind::Object { items } if is_json(items) => {
                    let dynamic = |form: &KeyForm| matches!(form, KeyForm::Property(name) if name == "dynamic");
                    if items.iter().any(|item| dynamic(&item.form)) {
                        self.pending.push(Pending::Body(value.tree.clone(), BodyId(id.0), bound.to_vec()));
                        continue;
                    }
                    for item in items {
                        self.note(&value.child(item.key), bound);
                        values.push(item.value);
                    }
                }
                // A list in the native syntax cannot contain blocks, so it is visited as one expression.
                ExprKind::Tuple { items } if holds_json(&value, items) => values.extend(items),
                _ => self.note(&value, bound),
            }
        }
    }

    fn note(&mut self, expression: &Expression, bound: &[SmolStr]) {
        let is_bound = |name: &str| bound.iter().any(|bound| bound == name);
        note_references(expression, &is_bound, &mut self.found, self.diagnostics);
    }
}

/// Whether the items belong to an object of the JSON syntax.
fn is_json(items: &[weft_syntax::ObjectItem]) -> bool {
    items.iter().any(|item| matches!(item.form, KeyForm::Property(_)))
}

/// Whether an element of a list is an object of the JSON syntax.
fn holds_json(list: &Expression, items: &[ExprId]) -> bool {
    let node = |id: &ExprId| &list.tree.node(*id).kind;
    items.iter().any(|id| matches!(node(id), ExprKind::Object { items } if is_json(items)))
}
