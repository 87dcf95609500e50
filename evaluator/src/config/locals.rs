//! `locals` blocks.

use std::sync::Arc;

use weft_syntax::{Attribute, Tree};

use super::Local;
use super::compiling::Compiling;
use super::content::FoundBlock;

/// Reads a `locals` block.
pub(super) fn locals(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let tree = &block.tree;
    let body = compiling.only_arguments(tree, block.body, "locals");
    for attribute in &body.attributes {
        local(compiling, tree, attribute);
    }
}

/// Reads one local value.
pub(super) fn local(compiling: &mut Compiling<'_>, tree: &Arc<Tree>, attribute: &Attribute) {
    let name = attribute.name.text.clone();
    let range = tree.range(attribute.span);
    if !weft_syntax::is_identifier(&name) {
        let place = (name, tree.range(attribute.name.span));
        compiling.identifier(&place, "local value");
        return;
    }
    if let Some(first) = compiling.module.locals.get(&name) {
        let first = first.range.clone();
        compiling.duplicate_value("local value definition", &name, &first, &range);
        return;
    }
    let value = tree.expression(attribute.expression);
    let references = compiling.references(&value);
    compiling.module.locals.insert(name.clone(), Arc::new(Local { name, value, references, range }));
}
