//! Compares two objects by their schema.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting};
use weft_graph_format::value::Value;

use super::compare::{Pair, Reasons, container, dynamic, guarded, matched, set_parts, shaped};
use super::{Blocks, DifferenceNode, Effect, FieldForm, ItemForm, NodeShape, sequence};

/// Compares two objects of a resource by their block.
pub fn object(pair: Pair<'_>, block: &Block, reasons: &Reasons<'_>) -> DifferenceNode {
    let pair = pair.present();
    let outer = pair.outer_effect();
    let mut attributes = BTreeMap::new();
    let mut write_only = Vec::new();
    for (name, attribute) in &block.attributes {
        if attribute.write_only {
            write_only.push(name);
            continue;
        }
        let field = pair.field(name).present().without_empty_texts();
        if !field.is_nothing() {
            attributes.insert(name.clone(), argument(field, attribute, &reasons.named(name)));
        }
    }
    let mut blocks = BTreeMap::new();
    for (name, nested) in &block.blocks {
        if let Some(found) = nested_blocks(pair.field(name), nested, &reasons.named(name)) {
            blocks.insert(name.clone(), found);
        }
    }
    let all = blocks.values().flat_map(|blocks: &Blocks| blocks.parts.iter().map(|(_, part)| part));
    let (effect, forces) = container(pair, reasons, attributes.values().chain(all));
    // The value is never stored, so changes cannot be detected. The attribute shares the effect of its block.
    for name in write_only {
        let part = DifferenceNode {
            effect: if outer == Effect::Same { effect } else { outer },
            forces: reasons.named(name).here(),
            shape: NodeShape::WriteOnly,
            notice: None,
        };
        attributes.insert(name.clone(), part);
    }
    DifferenceNode { effect, forces, shape: NodeShape::Block { attributes, blocks }, notice: None }
}

/// The difference of an object that is gone, of which only a part is shown. Its write-only attributes are gone, too.
pub fn of_gone(mut node: DifferenceNode) -> DifferenceNode {
    if let NodeShape::Block { attributes, .. } = &mut node.shape {
        let write_only = attributes.values_mut().filter(|part| matches!(part.shape, NodeShape::WriteOnly));
        write_only.for_each(|part| part.effect = Effect::Removed);
    }
    node
}

/// Compares two objects without a schema. All parts count as arguments of any type.
pub fn untyped_object(pair: Pair<'_>, reasons: &Reasons<'_>) -> DifferenceNode {
    let pair = pair.present();
    let attributes: BTreeMap<SmolStr, DifferenceNode> = pair
        .names()
        .into_iter()
        .filter(|name| !pair.field(name).is_nothing())
        .map(|name| (name.clone(), dynamic(pair.field(name).present(), &reasons.named(name))))
        .collect();
    let (effect, forces) = container(pair, reasons, attributes.values());
    DifferenceNode { effect, forces, shape: NodeShape::Block { attributes, blocks: BTreeMap::new() }, notice: None }
}

fn argument(pair: Pair<'_>, attribute: &Attribute, reasons: &Reasons<'_>) -> DifferenceNode {
    guarded(pair, attribute.sensitive, reasons, &|pair, reasons| match &attribute.nested {
        Some(nested) => nested_attribute(pair, nested, reasons),
        None => shaped(pair, &attribute.ty, reasons),
    })
}

fn nested_attribute(pair: Pair<'_>, nested: &NestedAttributes, reasons: &Reasons<'_>) -> DifferenceNode {
    let element = |pair: Pair<'_>, reasons: &Reasons<'_>| {
        guarded(pair, false, reasons, &|pair, reasons| nested_object(pair, nested, reasons))
    };
    let (shape, (effect, forces)) = match nested.nesting {
        Nesting::Single | Nesting::Group => return nested_object(pair, nested, reasons),
        Nesting::Map => {
            let parts: BTreeMap<SmolStr, DifferenceNode> = pair
                .names()
                .into_iter()
                .map(|name| (name.clone(), element(pair.field(name), &reasons.named(name))))
                .collect();
            let outcome = container(pair, reasons, parts.values());
            (NodeShape::Fields { form: FieldForm::NestedMap, parts }, outcome)
        }
        Nesting::List => {
            let (before, after) = pair.items();
            let found = sequence::by_place(before.len(), after.len());
            let parts: Vec<DifferenceNode> =
                found.into_iter().map(|found| element(matched(before, after, found).0, &Reasons::default())).collect();
            let outcome = container(pair, reasons, &parts);
            (NodeShape::Items { form: ItemForm::NestedList, parts }, outcome)
        }
        Nesting::Set => {
            let (before, after) = pair.items();
            let parts = set_parts(before, after, &|pair| element(pair, &Reasons::default()));
            let outcome = container(pair, reasons, &parts);
            (NodeShape::Items { form: ItemForm::Set, parts }, outcome)
        }
    };
    DifferenceNode { effect, forces, shape, notice: None }
}

fn nested_object(pair: Pair<'_>, nested: &NestedAttributes, reasons: &Reasons<'_>) -> DifferenceNode {
    let pair = pair.present();
    let parts: BTreeMap<SmolStr, DifferenceNode> = nested
        .attributes
        .iter()
        .filter(|(name, _)| !pair.field(name).is_nothing())
        .map(|(name, a)| (name.clone(), argument(pair.field(name).present(), a, &reasons.named(name))))
        .collect();
    let (effect, forces) = container(pair, reasons, parts.values());
    DifferenceNode { effect, forces, shape: NodeShape::Fields { form: FieldForm::NestedObject, parts }, notice: None }
}

/// The blocks of one type. `None` if both sides are null.
fn nested_blocks(pair: Pair<'_>, nested: &NestedBlock, reasons: &Reasons<'_>) -> Option<Blocks> {
    let pair = pair.present();
    let secret = |value: Option<&Value>| value.is_some_and(|v| v.marks().is_sensitive() || v.marks().is_ephemeral());
    let (was_sensitive, is_sensitive) = (secret(pair.before), secret(pair.after));
    let block = |pair: Pair<'_>, reasons: &Reasons<'_>| {
        guarded(pair, false, reasons, &|pair, reasons| object(pair, &nested.block, reasons))
    };
    if pair.after.is_some_and(|after| !after.is_known()) {
        // The number of blocks is known only after apply. One block represents all of them.
        let part = guarded(pair, false, reasons, &|pair, reasons| dynamic(pair, reasons));
        return Some(Blocks { parts: vec![(None, part)], was_sensitive, is_sensitive });
    }
    let parts: Vec<(Option<SmolStr>, DifferenceNode)> = match nested.nesting {
        Nesting::Single | Nesting::Group if pair.is_nothing() => Vec::new(),
        Nesting::Single | Nesting::Group => vec![(None, block(pair, reasons))],
        Nesting::List => {
            let (before, after) = pair.items();
            let found = sequence::by_place(before.len(), after.len()).into_iter();
            found
                .enumerate()
                .map(|(place, found)| {
                    let deeper = reasons
                        .at(|step| matches!(step, weft_graph_format::path::ValueStep::Index(i) if *i == place as u64));
                    (None, block(matched(before, after, found).0, &deeper))
                })
                .collect()
        }
        Nesting::Set => {
            let (before, after) = pair.items();
            let parts = set_parts(before, after, &|pair| block(pair, &Reasons::default()));
            parts
                .into_iter()
                .map(|part| (None, DifferenceNode { forces: part.forces || reasons.here(), ..part }))
                .collect()
        }
        Nesting::Map => pair
            .names()
            .into_iter()
            .map(|name| (Some(name.clone()), block(pair.field(name), &reasons.named(name))))
            .collect(),
    };
    (!pair.is_nothing()).then_some(Blocks { parts, was_sensitive, is_sensitive })
}
