//! What is different between two values: a tree that can be printed as a plan shows it.
//!
//! Reading order: [`Part`] is one node; [`compare`] makes the tree of two values and a type, `schema` of two objects
//! and the block that describes them, `sequence` says which elements of two lists or sets belong together; [`print`]
//! and `text` write it. An object that did not change is a tree too: that is how states are shown.
//!
//! The look is OpenTofu's (recorded case `workflow/show-text`), since people read it daily and scripts match it: two
//! columns for the sign, four for a level, names aligned, what did not change left out and counted.

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

/// What happens to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Same,
    /// It comes to be.
    Added,
    /// It ceases to be.
    Removed,
    /// It becomes another.
    Changed,
}

impl Effect {
    /// The effect on a whole whose parts so far have `self`, with one more part.
    fn with_part(self, part: Effect) -> Effect {
        match part {
            Effect::Same => self,
            part if part == self => self,
            _ => Effect::Changed,
        }
    }
}

/// A change of what may be shown of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It will be hidden from now on.
    BecomesSensitive,
    /// It was hidden and will not be any more.
    BecomesPlain,
}

/// One node of the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What happens to it.
    pub effect: Effect,
    /// It is why the whole object must be replaced.
    pub forces: bool,
    /// What it is.
    pub shape: Shape,
    /// To be said above it.
    pub notice: Option<Notice>,
}

/// What a node is, before and after.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A number, truth value or null, ready to be shown.
    Plain {
        /// None where there was nothing.
        before: Option<String>,
        /// None where there will be nothing.
        after: Option<String>,
    },
    /// Text; `None` inside is null.
    Text {
        /// None where there was nothing.
        before: Option<Option<SmolStr>>,
        /// None where there will be nothing.
        after: Option<Option<SmolStr>>,
    },
    /// Something that only apply will know.
    Unknown {
        /// What is there now, as if it were removed.
        before: Option<Box<Part>>,
    },
    /// Something that must not be shown, unless the user insists.
    Hidden(Box<Part>),
    /// Something that is not kept.
    WriteOnly,
    /// Something of another type than before.
    Retyped {
        /// As it was.
        before: Box<Part>,
        /// As it will be.
        after: Box<Part>,
    },
    /// Named parts.
    Fields {
        /// How names and what is removed are written.
        form: FieldForm,
        /// The parts.
        parts: BTreeMap<SmolStr, Part>,
    },
    /// Elements.
    Items {
        /// How elements belong together.
        form: ItemForm,
        /// The elements in the order of showing.
        parts: Vec<Part>,
    },
    /// Arguments and nested blocks.
    Block {
        /// Arguments.
        attributes: BTreeMap<SmolStr, Part>,
        /// Nested blocks by type.
        blocks: BTreeMap<SmolStr, Blocks>,
    },
}

/// How named parts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// An object: names without quotes, `-> null` left out inside.
    Object,
    /// A nested attribute: as an object, with `-> null`.
    NestedObject,
    /// A map: quoted keys, aligned.
    Map,
    /// A map of nested attributes: quoted keys, not aligned.
    NestedMap,
}

/// How elements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemForm {
    /// In order: what stands around a change is shown.
    List,
    /// In order, each an object.
    NestedList,
    /// Without order.
    Set,
}

/// The blocks of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// The blocks, with their keys where they have keys.
    pub parts: Vec<(Option<SmolStr>, Part)>,
    /// They must not be shown.
    pub hidden: bool,
}
