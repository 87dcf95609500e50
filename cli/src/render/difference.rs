//! The difference between two values, as a tree that is printed in the form of a plan.
//!
//! Reading order: [`DifferenceNode`] is a node of the tree. [`compare`] makes the tree for two values and a type, and
//! `schema` for two objects and their block. `sequence` pairs the elements of two lists or sets. [`print`] and `text`
//! print the tree. States are shown with trees of unchanged objects.
//!
//! The layout is OpenTofu's (recorded case `workflow/show-text`), because users know it and scripts match it: two
//! columns for the sign, four for each level, aligned names, and the number of unchanged parts instead of the parts.

mod compare;
mod document;
pub mod print;
mod schema;
mod sequence;
mod text;

use std::collections::BTreeMap;

use smol_str::SmolStr;

pub use compare::{Pair, Reasons, dynamic, typed};
pub use print::Printing;
pub use schema::{object, of_gone, untyped_object};

/// What happens to a part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The part does not change.
    Same,
    /// The part is created.
    Added,
    /// The part is removed.
    Removed,
    /// The part is changed.
    Changed,
}

impl Effect {
    /// Combines the effect on a container so far with the effect on one more part.
    fn with_part(self, part: Effect) -> Effect {
        match part {
            Effect::Same => self,
            part if part == self => self,
            _ => Effect::Changed,
        }
    }
}

/// A change of the sensitivity of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensitivityChange {
    /// The value becomes sensitive.
    BecomesSensitive,
    /// The value is no longer sensitive.
    BecomesPlain,
}

/// A node of the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferenceNode {
    /// What happens to this part.
    pub effect: Effect,
    /// Whether this part forces the replacement of the whole object.
    pub forces: bool,
    /// The contents.
    pub shape: NodeShape,
    /// A notice that is printed above the part.
    pub notice: Option<SensitivityChange>,
}

/// The contents of a node, before and after.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeShape {
    /// A number, boolean or null, formatted.
    Plain {
        /// The old value. `None` if it did not exist.
        before: Option<String>,
        /// The new value. `None` if it is removed.
        after: Option<String>,
    },
    /// Text. An inner `None` is null.
    Text {
        /// The old text. `None` if it did not exist.
        before: Option<Option<SmolStr>>,
        /// The new text. `None` if it is removed.
        after: Option<Option<SmolStr>>,
    },
    /// A value that is known only after apply.
    Unknown {
        /// The old value, as a node that removes it.
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
        /// The style of the names, and of removed parts.
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
    /// Whether the old blocks are sensitive as a whole.
    pub was_sensitive: bool,
    /// Whether the new blocks are sensitive as a whole.
    pub is_sensitive: bool,
}

impl Blocks {
    /// Whether the contents of a block of this type are hidden.
    pub fn hides(&self, block: &DifferenceNode) -> bool {
        let whole = match block.effect {
            Effect::Added => self.is_sensitive,
            Effect::Removed => self.was_sensitive,
            Effect::Same | Effect::Changed => self.was_sensitive || self.is_sensitive,
        };
        whole || matches!(block.shape, NodeShape::Hidden(_))
    }

    /// The change of the sensitivity of a block of this type.
    pub fn notice(&self, block: &DifferenceNode) -> Option<SensitivityChange> {
        match (self.was_sensitive, self.is_sensitive) {
            _ if matches!(block.effect, Effect::Added | Effect::Removed) => None,
            (false, true) => Some(SensitivityChange::BecomesSensitive),
            (true, false) => Some(SensitivityChange::BecomesPlain),
            _ => block.notice,
        }
    }

    /// The effect on a block of this type. A change of the sensitivity alone is a change.
    pub fn effect(&self, block: &DifferenceNode) -> Effect {
        match block.effect {
            Effect::Same if self.was_sensitive != self.is_sensitive => Effect::Changed,
            effect => effect,
        }
    }
}
