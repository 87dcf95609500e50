//! Attributes that may be written as nested blocks.
//!
//! Providers of the older SDK declare some collections of objects as attributes, to distinguish an empty collection
//! from a missing one. Configurations still write these attributes as blocks (`ingress { ... }` of a security group).
//! OpenTofu accepts both forms for every attribute whose type is a list or set of objects, but only one form per body,
//! and only if the older SDK can have made the schema.

use smol_str::SmolStr;
use weft_graph_format::schema::{Attribute, Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;
use weft_syntax::Body;

/// The schema of a body, with nested blocks in place of the attributes that the body writes as blocks. `None` if the
/// body writes no attribute as blocks, which is the usual case.
pub(crate) fn written_as_blocks(body: &Body, schema: &Block) -> Option<Block> {
    let mut changed: Option<Block> = None;
    for block in &body.blocks {
        let name = match block.block_type.text.as_str() {
            "dynamic" if !schema.blocks.contains_key("dynamic") => match block.labels.first() {
                Some(label) => &label.text,
                None => continue,
            },
            _ => &block.block_type.text,
        };
        let Some(nested) = schema.attributes.get(name).and_then(as_block) else { continue };
        let written_as_attribute = body.attributes.iter().any(|attribute| attribute.name.text == *name);
        if written_as_attribute || changed.as_ref().is_some_and(|c| c.blocks.contains_key(name)) {
            continue;
        }
        let schema = changed.get_or_insert_with(|| schema.clone());
        schema.attributes.remove(name);
        schema.blocks.insert(name.clone(), nested);
    }
    changed
}

/// Whether the older SDK can have made a schema. Its schemas have no nested attributes, and no attribute with one of
/// these types: an object, a tuple, a map of objects, or a collection of collections of other values than strings,
/// numbers and booleans.
pub(crate) fn is_legacy(schema: &Block) -> bool {
    let is_primitive = |ty: &Type| matches!(ty, Type::Bool | Type::Number | Type::String);
    let element = |ty: &Type| match ty {
        Type::List(element) | Type::Set(element) | Type::Map(element) => Some(element.clone()),
        _ => None,
    };
    let is_possible = |attribute: &Attribute| {
        let inner = element(&attribute.ty);
        let is_structure = match (&attribute.ty, inner.as_deref()) {
            (Type::Object(_) | Type::Tuple(_), _) | (Type::Map(_), Some(Type::Object(_))) => true,
            _ => inner.and_then(|inner| element(&inner)).is_some_and(|innermost| !is_primitive(&innermost)),
        };
        attribute.nested.is_none() && !is_structure
    };
    schema.attributes.values().all(is_possible) && schema.blocks.values().all(|nested| is_legacy(&nested.block))
}

/// The block type that stands for an attribute. All arguments and blocks in it are optional.
fn as_block(attribute: &Attribute) -> Option<NestedBlock> {
    if attribute.nested.is_some() {
        return None;
    }
    let (nesting, element) = match &attribute.ty {
        Type::List(element) => (Nesting::List, element),
        Type::Set(element) => (Nesting::Set, element),
        _ => return None,
    };
    let Type::Object(object) = &**element else { return None };
    let optional = |(name, ty): (&SmolStr, &Type)| {
        let attribute = Attribute { optional: true, ..Attribute::new(ty.clone()) };
        (name.clone(), attribute)
    };
    let attributes = object.attributes.iter().map(optional).collect();
    let block = Block { attributes, ..Block::default() };
    Some(NestedBlock { block, nesting, min_items: 0, max_items: 0 })
}

#[cfg(test)]
mod tests;
