//! The structure of files: bodies, attributes, blocks.

use smol_str::SmolStr;

use crate::expression::{ExprId, Name};
use crate::source::{Span, offset};

/// The number of a body in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub u32);

impl BodyId {
    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The role of a name in a body. The native syntax shows the role. For JSON, the reader must state the role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRole<'role> {
    /// An argument.
    Argument,
    /// Blocks. The list has the names of their labels.
    Block(&'role [&'role str]),
    /// A name that the reader does not know.
    Unknown,
    /// A name that the reader ignores.
    Hidden,
}

/// The content of a file or of a block. In the table of a tree, nested blocks come before the block around them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The attributes in order, with unique names. The first of several attributes with equal names is kept, and the
    /// others are reported.
    pub attributes: Vec<Attribute>,
    /// The blocks in order.
    pub blocks: Vec<Block>,
    /// The range of the whole file, or of a block from its opening to its closing brace, both included.
    pub span: Span,
    /// Indices of the attributes in the order of their names.
    pub(crate) by_name: Vec<u32>,
}

impl Body {
    /// Builds the index by name. Called once, when the body is complete.
    pub(crate) fn index(&mut self) {
        let attributes = &self.attributes;
        let name = |at: &u32| attributes.get(*at as usize).map(|attribute| attribute.name.text.as_str());
        self.by_name = (0..offset(attributes.len())).collect();
        self.by_name.sort_by(|one, other| name(one).cmp(&name(other)));
    }

    /// The attribute with this name, found in logarithmic time.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        let named = |at: &u32| self.attributes.get(*at as usize);
        let found = self
            .by_name
            .binary_search_by(|at| named(at).map(|attribute| attribute.name.text.as_str()).cmp(&Some(name)));
        self.by_name.get(found.ok()?).and_then(named)
    }

    /// The blocks of a type, in order. Iterates over all blocks.
    pub fn blocks_of<'body>(&'body self, block_type: &'body str) -> impl Iterator<Item = &'body Block> {
        self.blocks.iter().filter(move |block| block.block_type.text == block_type)
    }
}

/// `name = expression`
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: Name,
    /// The range of the equals sign.
    pub equals_span: Span,
    /// The value.
    pub expression: ExprId,
    /// The range from the name to the end of the value.
    pub span: Span,
}

/// `type "label" { ... }`
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The type.
    pub block_type: Name,
    /// The labels in order.
    pub labels: Vec<Label>,
    /// The content between the braces.
    pub body: BodyId,
    /// The range from the type to the last label. Diagnostics about the whole block show this range.
    pub header_span: Span,
    /// The range of the opening brace.
    pub open_span: Span,
    /// The range of the closing brace; empty if it is missing.
    pub close_span: Span,
}

impl Block {
    /// The range from the type to the closing brace.
    pub fn span(&self) -> Span {
        self.header_span.through(self.close_span)
    }
}

/// A label of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The text, with escapes resolved.
    pub text: SmolStr,
    /// The range of the label, including quotes.
    pub span: Span,
    /// Whether the label was written with quotes.
    pub quoted: bool,
}
