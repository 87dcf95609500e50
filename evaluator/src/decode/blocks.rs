//! The blocks of one type in a body: written ones, and those that `dynamic` blocks generate.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

/// The value of a missing nested block.
pub(super) fn absent_block(nested: &NestedBlock) -> Value {
    let content = nested.block.implied_type();
    match nested.nesting {
        Nesting::Single => Value::null(content),
        Nesting::Group => empty_content(&nested.block),
        Nesting::List if content.has_dynamic() => Value::tuple(Vec::new()),
        Nesting::List => Value::list(content, Vec::new()),
        Nesting::Set => Value::set(content, Vec::new()),
        Nesting::Map if content.has_dynamic() => Value::empty_object(),
        Nesting::Map => Value::map(content, BTreeMap::new()),
    }
}

fn empty_content(block: &Block) -> Value {
    let attributes = block.attributes.iter().map(|(n, a)| (n.clone(), Value::null(a.ty.clone())));
    let blocks = block.blocks.iter().map(|(n, b)| (n.clone(), absent_block(b)));
    Value::object(attributes.chain(blocks))
}

/// A written block, or the blocks that a `dynamic` block generates.
pub(super) enum Item {
    Known(KnownBlock),
    /// Generated blocks that are known now, although apply generates them again. `formula` computes all of them, and
    /// `source` is their collection.
    Planned {
        blocks: Vec<KnownBlock>,
        formula: Formula,
        source: Value,
    },
    /// An unknown number of generated blocks. `formula` computes all of them, and `source` is their collection.
    Unknown {
        formula: Formula,
        source: Value,
    },
}

/// A block with known content.
pub(super) struct KnownBlock {
    pub(super) labels: Vec<SmolStr>,
    pub(super) value: Value,
    pub(super) range: SourceRange,
    /// The header that diagnostics about missing content show. In a `dynamic` block, this is the header of `content`.
    pub(super) body: SourceRange,
}

impl Item {
    /// The known blocks.
    pub(super) fn blocks(&self) -> &[KnownBlock] {
        match self {
            Item::Known(block) => std::slice::from_ref(block),
            Item::Planned { blocks, .. } => blocks,
            Item::Unknown { .. } => &[],
        }
    }

    /// The collection that apply computes again.
    pub(super) fn source(&self) -> Option<&Value> {
        match self {
            Item::Known(_) => None,
            Item::Planned { source, .. } | Item::Unknown { source, .. } => Some(source),
        }
    }

    pub(super) fn into_blocks(self) -> Vec<KnownBlock> {
        match self {
            Item::Known(block) => vec![block],
            Item::Planned { blocks, .. } => blocks,
            Item::Unknown { .. } => Vec::new(),
        }
    }
}

/// Combines blocks of which some come from an unknown collection. The result is unknown. Its formula concatenates all
/// blocks.
pub(super) fn unknown_blocks(nested: &NestedBlock, items: Vec<Item>) -> Value {
    let mut value = Value::unknown(nested.implied_type()).with_formula(Some(blocks_formula(nested, &items)));
    for item in &items {
        match item {
            Item::Known(block) => value = value.add_origin(block.value.deep_origin().as_ref()),
            Item::Planned { source, .. } | Item::Unknown { source, .. } => {
                value = value.add_origin(source.deep_origin().as_ref());
                if let Kind::Unknown(_) = source.open().1 {
                    value = value.mark(source.marks());
                }
            }
        }
    }
    value
}

/// The formula of all blocks of a type: their concatenation.
pub(super) fn blocks_formula(nested: &NestedBlock, items: &[Item]) -> Formula {
    let call = |function, arguments| {
        let function = SmolStr::new_static(function);
        let call = FormulaOp::Call { function, arguments, expand_final: false, occurrence: None };
        Formula::new(call, Type::Dynamic, None)
    };
    let part = |item: &Item| match item {
        Item::Known(block) => Formula::new(FormulaOp::Tuple(vec![block.value.to_formula()]), Type::Dynamic, None),
        Item::Planned { formula, .. } | Item::Unknown { formula, .. } => formula.clone(),
    };
    let parts: Vec<Formula> = items.iter().map(part).collect();
    let whole = match <[Formula; 1]>::try_from(parts) {
        Ok([only]) => only,
        Err(parts) => call("concat", parts),
    };
    let whole = match nested.nesting {
        Nesting::Single | Nesting::Group => call("one", vec![whole]),
        _ => whole,
    };
    let ty = nested.implied_type();
    Formula::new(FormulaOp::Convert(whole, ty.clone()), ty, None)
}
