//! Finds the schema attribute at a path in an object.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, Nesting};

/// The attribute at the path. `None` for blocks, elements, and parts of an attribute's value.
pub fn attribute_at<'s>(block: &'s Block, path: &Path) -> Option<&'s Attribute> {
    in_block(block, &path.0)
}

/// The innermost attribute whose value is, or contains, the part at `path`. The second result is the path of this
/// attribute. `None` for blocks and their elements.
pub fn attribute_above<'s>(block: &'s Block, path: &Path) -> Option<(&'s Attribute, Path)> {
    let lengths = (1..=path.0.len()).rev();
    let mut prefixes = lengths.map(|length| Path(path.0.iter().take(length).cloned().collect()));
    prefixes.find_map(|prefix| Some((attribute_at(block, &prefix)?, prefix)))
}

fn in_block<'s>(block: &'s Block, steps: &[ValueStep]) -> Option<&'s Attribute> {
    let (name, rest) = named(steps)?;
    if block.attributes.contains_key(name) {
        return in_attributes(&block.attributes, steps);
    }
    let nested = block.blocks.get(name)?;
    in_block(&nested.block, after_element(nested.nesting, rest)?)
}

/// The attribute at the path within a nested attribute.
pub(super) fn in_nested<'s>(nested: &'s NestedAttributes, steps: &[ValueStep]) -> Option<&'s Attribute> {
    in_attributes(&nested.attributes, after_element(nested.nesting, steps)?)
}

fn in_attributes<'s>(attributes: &'s BTreeMap<SmolStr, Attribute>, steps: &[ValueStep]) -> Option<&'s Attribute> {
    let (name, rest) = named(steps)?;
    let attribute = attributes.get(name)?;
    if rest.is_empty() {
        return Some(attribute);
    }
    in_nested(attribute.nested.as_deref()?, rest)
}

fn named(steps: &[ValueStep]) -> Option<(&SmolStr, &[ValueStep])> {
    match steps.split_first()? {
        (ValueStep::Attribute(name) | ValueStep::Key(name), rest) => Some((name, rest)),
        _ => None,
    }
}

/// The remaining steps, without the step that selects an element of a list or map. Other nestings have no such step.
fn after_element(nesting: Nesting, steps: &[ValueStep]) -> Option<&[ValueStep]> {
    match nesting {
        Nesting::Single | Nesting::Group | Nesting::Set => Some(steps),
        Nesting::List | Nesting::Map => steps.get(1..),
    }
}
