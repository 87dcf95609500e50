//! `dynamic` blocks: blocks that are generated from a collection.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::iteration::entry_types;
use weft_expressions::scope::Scope;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp, Parameter};
use weft_graph_format::number::Number;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{Block, Body, BodyId, Expression, Label, NameRole, Tree};

use crate::problems;

/// A `dynamic` block, as written.
pub(crate) struct DynamicBlock {
    /// The type of the generated blocks.
    pub(crate) block_type: SmolStr,
    /// The range of the type.
    pub(crate) label_range: SourceRange,
    /// The collection.
    pub(crate) for_each: Expression,
    /// The name of the iterator in `content`.
    pub(crate) iterator: SmolStr,
    /// The body of `content`.
    pub(crate) content: BodyId,
    /// The header of `content`.
    pub(crate) content_range: SourceRange,
}

/// The role of a name in a `dynamic` block.
fn role(name: &str) -> NameRole<'static> {
    match name {
        "for_each" | "iterator" | "labels" => NameRole::Argument,
        "content" => NameRole::Block(&[]),
        _ => NameRole::Unknown,
    }
}

/// Parses a `dynamic` block. Reports the problem if the block is invalid.
pub(crate) fn read_dynamic(tree: &Arc<Tree>, block: &Block, diagnostics: &mut Vec<Diagnostic>) -> Option<DynamicBlock> {
    let content = tree.content(block.body, &role);
    diagnostics.extend(content.problems);
    let (unsupported, read) = DynamicReader { tree, block, body: &content.body }.read();
    diagnostics.extend(unsupported);
    read.map_err(|problem| diagnostics.extend(problem)).ok()
}

/// A `dynamic` block during parsing.
struct DynamicReader<'a> {
    tree: &'a Arc<Tree>,
    block: &'a Block,
    body: &'a Body,
}

impl DynamicReader<'_> {
    /// Reads the block. Returns the problems of its unsupported arguments, and the block or another error:
    ///
    /// - If the label is invalid, only the error of the label is returned.
    /// - If there are unsupported arguments, only `for_each` is checked besides. If it is valid, the error is `None`.
    fn read(&self) -> (Vec<Diagnostic>, Result<DynamicBlock, Option<Diagnostic>>) {
        let label = match self.label() {
            Ok(label) => label,
            Err(problem) => return (Vec::new(), Err(Some(problem))),
        };
        let unsupported = self.unsupported_arguments();
        let read = match self.for_each() {
            Ok(_) if !unsupported.is_empty() => Err(None),
            Ok(for_each) => self.rest(label, for_each).map_err(Some),
            Err(problem) => Err(Some(problem)),
        };
        (unsupported, read)
    }

    fn rest(&self, label: &Label, for_each: Expression) -> Result<DynamicBlock, Diagnostic> {
        if let Some(attribute) = self.body.attribute("labels") {
            return Err(problems::dynamic_labels(self.tree.range(attribute.name.span)));
        }
        let iterator = self.iterator(label)?;
        let content = self.content()?;
        Ok(DynamicBlock {
            block_type: label.text.clone(),
            label_range: self.tree.range(label.span),
            for_each,
            iterator,
            content: content.body,
            content_range: self.tree.range(content.header_span),
        })
    }

    fn header(&self) -> SourceRange {
        self.tree.range(self.block.header_span)
    }

    /// The type of the generated blocks.
    fn label(&self) -> Result<&Label, Diagnostic> {
        match self.block.labels.as_slice() {
            [label] => Ok(label),
            others => Err(problems::dynamic_label(others.len(), self.header())),
        }
    }

    fn unsupported_arguments(&self) -> Vec<Diagnostic> {
        let unsupported = |name: &str| !problems::DYNAMIC_ARGUMENTS.contains(&name);
        let names = self.body.attributes.iter().map(|attribute| &attribute.name);
        names
            .filter(|name| unsupported(&name.text))
            .map(|name| problems::dynamic_argument(&name.text, self.tree.syntax(), self.tree.range(name.span)))
            .collect()
    }

    fn for_each(&self) -> Result<Expression, Diagnostic> {
        let Some(for_each) = self.body.attribute("for_each") else {
            let at = self.tree.missing_span(self.block.body).map_or(self.header(), |span| self.tree.range(span));
            return Err(problems::dynamic_without_for_each(at));
        };
        Ok(self.tree.expression(for_each.expression))
    }

    /// The name of the iterator in `content`.
    fn iterator(&self, label: &Label) -> Result<SmolStr, Diagnostic> {
        let Some(attribute) = self.body.attribute("iterator") else { return Ok(label.text.clone()) };
        let expression = self.tree.expression(attribute.expression);
        let at = || self.tree.range(attribute.span);
        expression
            .as_keyword()
            .map(SmolStr::new)
            .ok_or_else(|| problems::dynamic_iterator(expression.as_traversal().is_some(), at()))
    }

    /// The `content` block.
    fn content(&self) -> Result<&Block, Diagnostic> {
        let mut contents = self.body.blocks_of("content");
        let Some(content) = contents.next() else {
            return Err(problems::dynamic_without_content(self.header()));
        };
        if let Some(second) = contents.next() {
            return Err(problems::second_dynamic_content(self.tree.range(second.header_span)));
        }
        match self.body.blocks.iter().find(|b| b.block_type.text != "content") {
            None => Ok(content),
            Some(other) => {
                let name = &other.block_type;
                Err(problems::block_in_dynamic(&name.text, self.tree.range(name.span)))
            }
        }
    }
}

/// One iteration of a `dynamic` block: an element of the collection.
pub(crate) struct Iteration {
    key: Value,
    value: Value,
}

impl Iteration {
    /// All elements in order; `None` if the collection is unknown.
    pub(crate) fn all(collection: &Value, range: &SourceRange) -> Result<Option<Vec<Iteration>>, Diagnostic> {
        let no_collection = || Err(problems::no_dynamic_collection(&collection.ty().friendly_name(), range));
        let carried = |key: Value, value: &Value| Iteration {
            key: key.mark(collection.marks()),
            value: value.mark(collection.marks()).add_origin(collection.origin()),
        };
        match collection.open().1 {
            Kind::Null(_) => Err(problems::null_dynamic_collection(range)),
            Kind::Unknown(u) => match u.ty {
                Type::Bool | Type::Number | Type::String => no_collection(),
                // Tuples and objects are included: their elements could be counted, but their values are not known.
                _ => Ok(None),
            },
            Kind::List(s) | Kind::Tuple(s) => Ok(Some(
                s.items()
                    .iter()
                    .enumerate()
                    .map(|(i, item)| carried(Value::number(Number::from_u64(i as u64)), item))
                    .collect(),
            )),
            // As in OpenTofu, unknown elements count as different ones.
            Kind::Set(s) => Ok(Some(s.items().iter().map(|item| carried(item.clone(), item)).collect())),
            Kind::Map(f) | Kind::Object(f) => {
                Ok(Some(f.iter().map(|(key, item)| carried(Value::string(key), item)).collect()))
            }
            _ => no_collection(),
        }
    }

    /// The placeholder for the elements of an unknown collection.
    pub(crate) fn symbolic(collection: &Value, scope: &dyn Scope) -> (Parameter, Parameter, Iteration) {
        let (key, value) = (scope.new_parameter(), scope.new_parameter());
        let (key_type, element) = entry_types(&collection.ty());
        let parameter = |p: Parameter, ty: Type| {
            let formula = Formula::new(FormulaOp::Parameter(p), ty.clone(), None);
            Value::unknown(ty)
                .with_formula(Some(formula))
                .mark(collection.marks())
                .add_origin(collection.deep_origin().as_ref())
        };
        let iteration = Iteration { key: parameter(key, key_type), value: parameter(value, element) };
        (key, value, iteration)
    }

    /// The value of the iterator for this element.
    pub(crate) fn variable(&self, iterator: &SmolStr) -> (SmolStr, Value) {
        (iterator.clone(), Value::object([("key", self.key.clone()), ("value", self.value.clone())]))
    }
}
