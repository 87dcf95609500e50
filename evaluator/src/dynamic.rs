//! `dynamic` blocks: blocks made from a collection.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::evaluate::Scope;
use weft_expressions::iteration::entry_types;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp, Parameter};
use weft_graph_format::number::Number;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{Block, BodyId, Expression, Role, Syntax, Tree};

/// A `dynamic` block as written.
pub(crate) struct DynamicBlock {
    /// The block type that is made.
    pub(crate) block_type: SmolStr,
    /// Where that is written.
    pub(crate) label_range: SourceRange,
    /// The collection.
    pub(crate) for_each: Expression,
    /// What the present element is called in `content`.
    pub(crate) iterator: SmolStr,
    /// Labels of each block.
    pub(crate) labels: Vec<Expression>,
    /// Body of each block.
    pub(crate) content: BodyId,
    /// Header of `content`.
    pub(crate) content_range: SourceRange,
}

/// What names stand for in a `dynamic` block.
fn role(name: &str) -> Role<'static> {
    match name {
        "for_each" | "iterator" | "labels" => Role::Argument,
        "content" => Role::Block(&[]),
        _ => Role::Unknown,
    }
}

/// Reads the arguments of a `dynamic` block.
pub(crate) fn read_dynamic(tree: &Arc<Tree>, block: &Block, diagnostics: &mut Vec<Diagnostic>) -> Option<DynamicBlock> {
    let header = tree.range(block.header_span);
    let content = tree.content(block.body, &role);
    diagnostics.extend(content.problems);
    let body = content.body;
    let mut error = |summary: &str, detail: &str, at: SourceRange| {
        diagnostics.push(Diagnostic::error(summary, detail).at(at));
        None::<DynamicBlock>
    };
    let [label] = block.labels.as_slice() else {
        return error(
            if block.labels.is_empty() { "Missing type for dynamic" } else { "Extraneous label for dynamic" },
            "A dynamic block has one label: the type of the blocks that it makes.",
            header,
        );
    };
    let mut unsupported = false;
    for attribute in &body.attributes {
        if !matches!(attribute.name.text.as_str(), "for_each" | "iterator" | "labels") {
            error(
                match tree.syntax() {
                    Syntax::Native => "Unsupported argument",
                    Syntax::Json => "Extraneous JSON object property",
                },
                "A dynamic block has the arguments for_each, iterator and labels; arguments of the blocks it makes \
                 go into content.",
                tree.range(attribute.name.span),
            );
            unsupported = true;
        }
    }
    let Some(for_each) = body.attribute("for_each") else {
        return error(
            "Missing required argument",
            "A dynamic block needs for_each: the collection to make blocks from.",
            tree.missing_span(block.body).map_or(header, |span| tree.range(span)),
        );
    };
    if unsupported {
        return None;
    }
    if let Some(attribute) = body.attribute("labels") {
        let detail = "The blocks of providers have no labels, so a dynamic block cannot make any.";
        return error("Unsupported argument", detail, tree.range(attribute.name.span));
    }
    let iterator = match body.attribute("iterator") {
        None => label.text.clone(),
        Some(attribute) => match tree.expression(attribute.expression).as_keyword() {
            Some(name) => SmolStr::new(name),
            None => {
                return error("Invalid expression", "iterator is a plain name.", tree.range(attribute.span));
            }
        },
    };
    let labels = match body.attribute("labels") {
        None => Vec::new(),
        Some(attribute) => match tree.expression(attribute.expression).as_list() {
            Some(labels) => labels,
            None => return error("Invalid expression", "labels is a list.", tree.range(attribute.span)),
        },
    };
    let mut contents = body.blocks_of("content");
    let Some(content) = contents.next() else {
        return error(
            "Missing dynamic content block",
            "A dynamic block needs a content block: the body of each block it makes.",
            header,
        );
    };
    if let Some(second) = contents.next() {
        return error(
            "Extraneous dynamic content block",
            "A dynamic block has one content block.",
            tree.range(second.header_span),
        );
    }
    if let Some(other) = body.blocks.iter().find(|b| b.block_type.text != "content") {
        return error(
            "Unsupported block type",
            "A dynamic block holds one content block and nothing else.",
            tree.range(other.block_type.span),
        );
    }
    Some(DynamicBlock {
        block_type: label.text.clone(),
        label_range: tree.range(label.span),
        for_each: tree.expression(for_each.expression),
        iterator,
        labels,
        content: content.body,
        content_range: tree.range(content.header_span),
    })
}

/// One element of the collection.
pub(crate) struct Iteration {
    key: Value,
    value: Value,
}

impl Iteration {
    /// All elements in order; none when the collection is not known.
    pub(crate) fn all(collection: &Value, range: &SourceRange) -> Result<Option<Vec<Iteration>>, Diagnostic> {
        let error = |detail: &str| {
            Err(Diagnostic::error("Invalid dynamic for_each value", detail.to_string()).at(range.clone()))
        };
        let carried = |key: Value, value: &Value| Iteration {
            key: key.mark(collection.marks()),
            value: value.mark(collection.marks()).add_origin(collection.origin()),
        };
        if collection.formula().is_some() && collection.is_known() && !collection.is_null() {
            // Known now, computed again at apply: which blocks there are is only known then.
            return Ok(None);
        }
        match collection.open().1 {
            Kind::Null(_) => {
                error("for_each of a dynamic block cannot be null: use an empty collection for no blocks.")
            }
            Kind::Unknown(u) => match u.ty {
                Type::Bool | Type::Number | Type::String => {
                    error("for_each of a dynamic block must be a list, set, map, tuple or object.")
                }
                // Also a tuple or object, whose elements could be counted: none of them is known.
                _ => Ok(None),
            },
            Kind::List(s) | Kind::Tuple(s) => Ok(Some(
                s.items()
                    .iter()
                    .enumerate()
                    .map(|(i, item)| carried(Value::number(Number::from_u64(i as u64)), item))
                    .collect(),
            )),
            // Unknown elements may turn out to be equal. A single one is one in any case.
            Kind::Set(s) if s.items().len() == 1 || s.items().iter().all(Value::is_wholly_known) => {
                Ok(Some(s.items().iter().map(|item| carried(item.clone(), item)).collect()))
            }
            Kind::Set(_) => Ok(None),
            Kind::Map(f) | Kind::Object(f) => {
                Ok(Some(f.iter().map(|(key, item)| carried(Value::string(key), item)).collect()))
            }
            _ => error("for_each of a dynamic block must be a list, set, map, tuple or object."),
        }
    }

    /// An element that stands for all of a collection that is not known.
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

    /// What the iterator's name means for this element.
    pub(crate) fn variable(&self, iterator: &SmolStr) -> (SmolStr, Value) {
        (iterator.clone(), Value::object([("key", self.key.clone()), ("value", self.value.clone())]))
    }
}
