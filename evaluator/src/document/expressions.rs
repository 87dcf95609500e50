//! Expressions and bodies as JSON: constant values, and names of references.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_graph_format::address::InstanceKey;
use weft_graph_format::diagnostic::has_errors;
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::source::Position;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{Expression, Key, NameRole, StepKind, Syntax, Traversal, TraversalStep, Tree, references};

use crate::attribute_blocks::written_as_blocks;
use crate::config::{BodySource, SourceFiles};
use crate::reference::{Reference, Referent, provider_calls, resolve};

/// The maximum nesting of blocks. Real schemas are far below this limit.
const DEEPEST_BLOCKS: usize = 64;

/// Describes a body by its schema: the expression of each argument, and the blocks of each type. `dynamic` blocks are
/// left out.
pub(super) fn of_body(source: &BodySource, schema: &Block) -> Map<String, Json> {
    body(source, schema, DEEPEST_BLOCKS)
}

fn body(source: &BodySource, schema: &Block, depth: usize) -> Map<String, Json> {
    let mut found = Map::new();
    if depth == 0 {
        return found;
    }
    let changed = match source.tree.syntax() {
        Syntax::Native => written_as_blocks(source.tree.body(source.body), schema),
        Syntax::Json => None,
    };
    let blocks = &changed.as_ref().unwrap_or(schema).blocks;
    let content = source.content(&|name| match blocks.get(name) {
        Some(nested) if nested.nesting == Nesting::Map => NameRole::Block(&["key"]),
        Some(_) => NameRole::Block(&[]),
        None if schema.attributes.contains_key(name) => NameRole::Argument,
        None => NameRole::Hidden,
    });
    for (tree, attribute) in &content.attributes {
        let name = &attribute.name.text;
        if schema.attributes.contains_key(name) {
            found.insert(name.to_string(), Json::Object(described(&tree.expression(attribute.expression))));
        }
    }
    let mut as_attributes: BTreeMap<&SmolStr, WrittenAsBlocks> = BTreeMap::new();
    for (tree, block) in &content.blocks {
        let Some((name, nested)) = blocks.get_key_value(&block.block_type.text) else { continue };
        let inner = BodySource::inner(tree, block.body, tree.range(block.header_span));
        if schema.attributes.contains_key(name) {
            as_attributes.entry(name).or_default().add(&inner, &nested.block);
            continue;
        }
        let inside = Json::Object(body(&inner, &nested.block, depth - 1));
        place(&mut found, name, nested, block.labels.first().map(|label| label.text.as_str()), inside);
    }
    for (name, blocks) in as_attributes {
        found.insert(name.to_string(), blocks.into_json());
    }
    found
}

/// Adds the description of a block to those of the other blocks of its type.
fn place(found: &mut Map<String, Json>, name: &str, nested: &NestedBlock, label: Option<&str>, inside: Json) {
    match nested.nesting {
        Nesting::Single | Nesting::Group => {
            found.insert(name.to_owned(), inside);
        }
        Nesting::List | Nesting::Set => {
            if let Json::Array(blocks) = found.entry(name).or_insert_with(|| Json::Array(Vec::new())) {
                blocks.push(inside);
            }
        }
        Nesting::Map => {
            if let Json::Object(blocks) = found.entry(name).or_insert_with(|| Json::Object(Map::new())) {
                blocks.insert(label.unwrap_or_default().to_owned(), inside);
            }
        }
    }
}

/// An attribute whose elements are written as blocks. One expression describes all elements.
#[derive(Default)]
struct WrittenAsBlocks {
    /// The elements, if all of them are constant.
    constants: Vec<Json>,
    varies: bool,
    names: Vec<String>,
}

impl WrittenAsBlocks {
    fn add(&mut self, inner: &BodySource, schema: &Block) {
        let content = inner.content(&|_| NameRole::Argument);
        let mut element: Map<String, Json> = schema.attributes.keys().map(|n| (n.to_string(), Json::Null)).collect();
        for (tree, attribute) in &content.attributes {
            let expression = tree.expression(attribute.expression);
            match constant(&expression) {
                Some(value) => {
                    element.insert(attribute.name.text.to_string(), value);
                }
                None => self.varies = true,
            }
            self.names.extend(names(&expression));
        }
        self.constants.push(Json::Object(element));
    }

    fn into_json(self) -> Json {
        let constant = (!self.varies).then_some(Json::Array(self.constants));
        Json::Object(expression(constant, self.names))
    }
}

/// The description of an expression: its value if the expression is constant, and the names of its references.
pub(super) fn described(found: &Expression) -> Map<String, Json> {
    expression(constant(found), names(found))
}

/// A constant.
pub(super) fn constant_expression(value: Json) -> Map<String, Json> {
    expression(Some(value), Vec::new())
}

fn expression(constant: Option<Json>, names: Vec<String>) -> Map<String, Json> {
    let mut object = Map::new();
    if let Some(value) = constant {
        object.insert("constant_value".into(), value);
    }
    if !names.is_empty() {
        object.insert("references".into(), names.into());
    }
    object
}

fn constant(expression: &Expression) -> Option<Json> {
    let (value, problems) = evaluate_constant(expression);
    if has_errors(&problems) { None } else { json(&value) }
}

/// A value as JSON. `None` if the value is unknown or has no JSON form.
pub(super) fn json(value: &Value) -> Option<Json> {
    Some(match value.open().1 {
        Kind::Unknown(_) | Kind::Provider(_) => return None,
        Kind::Null(_) => Json::Null,
        Kind::Bool(truth) => (*truth).into(),
        Kind::Number(number) => serde_json::from_str(&number.to_json().ok()?).ok()?,
        Kind::String(text) => text.as_str().into(),
        Kind::List(items) | Kind::Set(items) | Kind::Tuple(items) => {
            Json::Array(items.items().iter().map(json).collect::<Option<_>>()?)
        }
        Kind::Map(fields) | Kind::Object(fields) => {
            let fields = fields.iter().map(|(name, part)| Some((name.to_string(), json(part)?)));
            Json::Object(fields.collect::<Option<_>>()?)
        }
    })
}

/// The names of all references of an expression, each followed by the names of its parents.
fn names(expression: &Expression) -> Vec<String> {
    let mut found = Vec::new();
    for traversal in references(expression) {
        if let Ok(reference) = resolve(&expression.tree, traversal) {
            add_names(&reference, traversal, &mut found);
        }
    }
    let mut calls = Vec::new();
    provider_calls(expression, &mut calls);
    calls.sort_by_key(|call| call.range.start.byte);
    found.extend(calls.iter().map(|call| call_name(&expression.tree, call)));
    found
}

fn call_name(tree: &Arc<Tree>, call: &Reference) -> String {
    let text = tree.source().text();
    let at = usize::try_from(call.range.start.byte).unwrap_or(usize::MAX);
    let end = usize::try_from(call.range.end.byte).unwrap_or(usize::MAX);
    text.get(at..end).unwrap_or_default().to_owned()
}

/// The name of the target of a reference, the number of steps in that name, and the name of the parent if there is one.
fn subject(reference: &Reference, steps: &[TraversalStep]) -> (String, usize, Option<String>) {
    let mut taken = reference.steps;
    let mut name = base_name(&reference.subject);
    let mut whole = None;
    let takes_key = matches!(reference.subject, Referent::Resource(_) | Referent::Module(..));
    if takes_key && reference.key.is_some() {
        whole = Some(name.clone());
        name.push_str(&step_text(steps.get(taken)));
        taken += 1;
    }
    if let Referent::Module(_, Some(output)) = &reference.subject {
        whole = Some(name.clone());
        name.push('.');
        name.push_str(output);
        taken += 1;
    }
    (name, taken, whole)
}

fn add_names(reference: &Reference, traversal: &Traversal, found: &mut Vec<String>) {
    let (name, taken, whole) = subject(reference, &traversal.steps);
    let rest = traversal.steps.get(taken..).unwrap_or_default();
    let texts: Vec<String> = rest.iter().map(|step| step_text(Some(step))).collect();
    for length in (0..=texts.len()).rev() {
        found.push(format!("{name}{}", texts[..length].concat()));
    }
    found.extend(whole);
}

fn base_name(subject: &Referent) -> String {
    match subject {
        Referent::Variable(name) => format!("var.{name}"),
        Referent::Local(name) => format!("local.{name}"),
        Referent::Resource(resource) => resource.to_string(),
        Referent::Module(name, _) => format!("module.{name}"),
        Referent::EachKey => "each.key".to_owned(),
        Referent::EachValue => "each.value".to_owned(),
        Referent::CountIndex => "count.index".to_owned(),
        Referent::SelfObject => "self".to_owned(),
        Referent::Path(name) => format!("path.{name}"),
        Referent::Terraform(root, name) => format!("{root}.{name}"),
        Referent::ProviderFunction(name, alias) => {
            alias.as_ref().map_or_else(|| format!("provider::{name}"), |alias| format!("provider::{name}::{alias}"))
        }
    }
}

fn step_text(step: Option<&TraversalStep>) -> String {
    match step.map(|step| &step.kind) {
        None => String::new(),
        Some(StepKind::Attribute(name)) => format!(".{name}"),
        Some(StepKind::Index(Key::String(key))) => InstanceKey::String(key.clone()).to_string(),
        Some(StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits)) => format!("[{digits}]"),
        Some(StepKind::Index(Key::Bool(key))) => format!("[{key}]"),
        Some(StepKind::Index(Key::Null)) => "[null]".to_owned(),
    }
}

/// The name of an entry of `depends_on`. An entry with a key is parsed again from the source.
pub(super) fn subject_of(reference: &Reference, sources: &SourceFiles) -> String {
    let plain = || subject(reference, &[]).0;
    if reference.key.is_none() {
        return plain();
    }
    let Some(tree) = sources.tree(&reference.range.file) else { return plain() };
    let written = sources.part(&reference.range).unwrap_or_default();
    let written = written.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(written);
    let written = if tree.syntax() == Syntax::Json { written.replace("\\\"", "\"") } else { written.to_owned() };
    let (parsed, problems) =
        weft_syntax::parse_traversal(&reference.range.file, written.as_str().into(), Position::default());
    let traversal = parsed.as_traversal().filter(|_| !has_errors(&problems));
    let Some(traversal) = traversal else { return plain() };
    resolve(&parsed.tree, &traversal).map_or_else(|_| plain(), |found| subject(&found, &traversal.steps).0)
}
