//! Checks the steps of a reference to a resource against its schema. Values are not needed.
//!
//! Steps into blocks are checked by the nesting of the blocks. Steps into an attribute are tried on an unknown value of
//! its type.

use smol_str::SmolStr;
use weft_expressions::access;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;
use weft_syntax::NameRole;

use super::problems::references as problems;
use crate::config::BodySource;

/// A step with its range.
pub(crate) type Placed = (ValueStep, SourceRange);

/// The first problem of steps into an object with this schema.
pub(crate) fn wrong_step(schema: &Block, steps: &[Placed]) -> Option<Diagnostic> {
    let ((step, at), rest) = steps.split_first()?;
    let name = match step {
        ValueStep::Attribute(name) => name,
        ValueStep::Key(key) if weft_syntax::is_identifier(key) => {
            return Some(problems::index_into_object(Some(key), at));
        }
        ValueStep::Key(_) | ValueStep::Index(_) => {
            return Some(problems::index_into_object(None, at));
        }
    };
    if let Some(attribute) = schema.attributes.get(name) {
        return wrong_access(Value::unknown(attribute.ty.clone()), rest);
    }
    match schema.blocks.get(name) {
        Some(nested) => wrong_in_block(name, nested, rest),
        None => Some(missing_attribute(schema, name).at(at.clone())),
    }
}

/// The problem of a path at this source range, if the schema has no such part.
pub(super) fn wrong_path(schema: &Block, path: &Path, range: &SourceRange) -> Option<Diagnostic> {
    let steps: Vec<Placed> = path.0.iter().map(|step| (step.clone(), range.clone())).collect();
    wrong_step(schema, &steps)
}

/// The error for a missing attribute.
pub(crate) fn missing_attribute(schema: &Block, name: &str) -> Diagnostic {
    let names = schema.attributes.keys().chain(schema.blocks.keys()).map(|n| n.as_str());
    problems::missing_attribute(name, names)
}

fn wrong_in_block(name: &str, nested: &NestedBlock, steps: &[Placed]) -> Option<Diagnostic> {
    let ((step, at), rest) = steps.split_first()?;
    match nested.nesting {
        Nesting::Single | Nesting::Group => wrong_step(&nested.block, steps),
        Nesting::Map => wrong_step(&nested.block, rest),
        Nesting::Set => Some(problems::index_into_set(name, at)),
        Nesting::List => match step {
            ValueStep::Attribute(_) => Some(problems::attribute_of_list(name, at)),
            ValueStep::Key(_) | ValueStep::Index(_) => wrong_step(&nested.block, rest),
        },
    }
}

/// The problem that evaluation would report for these steps into a value.
fn wrong_access(start: Value, steps: &[Placed]) -> Option<Diagnostic> {
    let mut value = start;
    for (step, at) in steps {
        let next = match step {
            ValueStep::Attribute(name) => access::attribute(&value, name, None),
            ValueStep::Key(key) => access::index(&value, &Value::string(key), None),
            ValueStep::Index(index) => access::index(&value, &Value::number((*index).into()), None),
        };
        match next {
            Ok(next) => value = next,
            Err(problem) => return Some(problem.diagnostic().at(at.clone())),
        }
    }
    None
}

/// The source ranges of arguments and blocks that the schema does not have.
pub(crate) fn unknown_parts(body: &BodySource, schema: &Block) -> Vec<SourceRange> {
    let known = |name: &SmolStr| schema.has_name(name);
    let content = body.content(&with_dynamic);
    let arguments = content.attributes.iter().filter(|(_, attribute)| !known(&attribute.name.text));
    let mut found: Vec<SourceRange> = arguments.map(|(tree, attribute)| tree.range(attribute.span)).collect();
    let blocks = content.blocks.iter().filter(|(_, block)| match block.labels.first() {
        Some(label) if block.block_type.text == "dynamic" => !known(&label.text),
        _ => !known(&block.block_type.text),
    });
    found.extend(blocks.map(|(tree, block)| tree.range(block.header_span.through(block.close_span))));
    found
}

/// The source ranges of the parts of a body that are not evaluated, because the schema does not have them. For a
/// `dynamic` block of a type that the schema does not have, this is only its content.
pub(super) fn unread_parts(body: &BodySource, schema: &Block) -> Vec<SourceRange> {
    let unknown = unknown_parts(body, schema);
    if unknown.is_empty() {
        return unknown;
    }
    let within = |at: &SourceRange| unknown.iter().any(|range| range.holds(at));
    let dynamic: Vec<SourceRange> = body
        .content(&with_dynamic)
        .blocks
        .iter()
        .filter(|(_, block)| block.block_type.text == "dynamic")
        .map(|(tree, block)| tree.range(block.header_span.through(block.close_span)))
        .collect();
    let contents = dynamic_contents(body).into_iter().filter(within);
    let others = unknown.iter().filter(|range| !dynamic.contains(range)).cloned();
    others.chain(contents).collect()
}

fn with_dynamic(name: &str) -> NameRole<'static> {
    if name == "dynamic" { NameRole::Block(&["type"]) } else { NameRole::Unknown }
}

/// The source ranges of the content of `dynamic` blocks, including nested ones.
pub(super) fn dynamic_contents(body: &BodySource) -> Vec<SourceRange> {
    let in_dynamic = |name: &str| if name == "content" { NameRole::Block(&[]) } else { NameRole::Argument };
    let mut found = Vec::new();
    let mut pending = body.content(&with_dynamic).blocks;
    while let Some((tree, block)) = pending.pop() {
        if block.block_type.text == "dynamic" {
            let inside = tree.content(block.body, &in_dynamic).body;
            let contents = inside.blocks_of("content");
            found.extend(contents.map(|content| tree.range(content.header_span.through(content.close_span))));
            continue;
        }
        let inner = tree.content(block.body, &with_dynamic).body;
        pending.extend(inner.blocks.iter().map(|block| (tree.clone(), block.clone())));
    }
    found
}
