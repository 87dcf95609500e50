//! The difference between two values, as a tree that is printed in the form of a plan.
//!
//! Reading order: [`DifferenceNode`] is one node. [`compare`] makes the tree of two values and a type, and `schema` that of two
//! objects and their block. `sequence` pairs the elements of two lists or sets. [`print`] and `text` write the tree. An
//! unchanged object is a tree too: that is how states are shown.
//!
//! The layout is OpenTofu's (recorded case `workflow/show-text`), because people read it daily and scripts match it:
//! two columns for the sign, four for a level, names aligned, unchanged parts left out and counted.

mod compare;
pub mod print;
mod schema;
mod sequence;
mod text;

use std::collections::BTreeMap;

use smol_str::SmolStr;

pub use compare::{Pair, Reasons, dynamic, typed};
pub use print::Printing;
pub use schema::{object, untyped_object};

/// The effect on a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No effect.
    Same,
    /// It is created.
    Added,
    /// It is removed.
    Removed,
    /// It is changed.
    Changed,
}

impl Effect {
    /// The effect on a whole whose parts so far have the effect `self`, with one more part.
    fn with_part(self, part: Effect) -> Effect {
        match part {
            Effect::Same => self,
            part if part == self => self,
            _ => Effect::Changed,
        }
    }
}

/// A change of sensitivity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensitivityChange {
    /// It becomes sensitive.
    BecomesSensitive,
    /// It is no longer sensitive.
    BecomesPlain,
}

/// One node of the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferenceNode {
    /// The effect on it.
    pub effect: Effect,
    /// It forces the replacement of the whole object.
    pub forces: bool,
    /// Its contents.
    pub shape: NodeShape,
    /// A notice that is printed above it.
    pub notice: Option<SensitivityChange>,
}

/// The contents of a node, before and after.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeShape {
    /// A number, boolean or null, formatted.
    Plain {
        /// `None` if it did not exist.
        before: Option<String>,
        /// `None` if it is removed.
        after: Option<String>,
    },
    /// Text. The inner `None` is null.
    Text {
        /// `None` if it did not exist.
        before: Option<Option<SmolStr>>,
        /// `None` if it is removed.
        after: Option<Option<SmolStr>>,
    },
    /// A value that only apply knows.
    Unknown {
        /// The current value, as if it were removed.
        before: Option<Box<DifferenceNode>>,
    },
    /// A sensitive value.
    Hidden(Box<DifferenceNode>),
    /// A write-only value.
    WriteOnly,
    /// A value whose type changes.
    Retyped {
        /// The old value.
        before: Box<DifferenceNode>,
        /// The new value.
        after: Box<DifferenceNode>,
    },
    /// Named parts.
    Fields {
        /// The style of names and removed parts.
        form: FieldForm,
        /// The parts.
        parts: BTreeMap<SmolStr, DifferenceNode>,
    },
    /// Elements.
    Items {
        /// The style of the elements.
        form: ItemForm,
        /// The elements in the order of output.
        parts: Vec<DifferenceNode>,
    },
    /// An object with arguments and nested blocks.
    Block {
        /// Arguments.
        attributes: BTreeMap<SmolStr, DifferenceNode>,
        /// Nested blocks by type.
        blocks: BTreeMap<SmolStr, Blocks>,
    },
}

/// The style of named parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// An object: names without quotes, inner `-> null` omitted.
    Object,
    /// A nested attribute: like an object, with `-> null`.
    NestedObject,
    /// A map: quoted keys, aligned.
    Map,
    /// A map of nested attributes: quoted keys, not aligned.
    NestedMap,
}

/// The style of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemForm {
    /// Ordered: the elements around a change are shown.
    List,
    /// Ordered, and each is an object.
    NestedList,
    /// Unordered.
    Set,
}

/// The blocks of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// The blocks, with their keys if they have any.
    pub parts: Vec<(Option<SmolStr>, DifferenceNode)>,
    /// They are sensitive.
    pub hidden: bool,
}
