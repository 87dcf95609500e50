//! Decodes bodies by the schema of a provider. The result has a value for every attribute and block of the schema.

mod blocks;

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_expressions::evaluate::evaluate_with;
use weft_expressions::involved;
use weft_expressions::scope::Scope;
use weft_graph_format::diagnostic::{Cause, Diagnostic, has_errors};
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::marks::Marks;
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::{ObjectType, Type};
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{Expression, NameRole, Syntax, Tree};

use blocks::{Item, KnownBlock, absent_block, blocks_formula, unknown_blocks};

use crate::attribute_blocks::{is_legacy, written_as_blocks};
use crate::config::{BodyContent, BodySource};
use crate::dynamic::{DynamicBlock, Iteration, read_dynamic};
use crate::problems;

/// The maximum nesting of blocks. Real schemas are far below this limit.
const DEEPEST_BLOCKS: usize = 64;

/// Decodes a body. The value is complete even after errors: invalid parts are unknown.
pub fn decode(source: &BodySource, schema: &Block, scope: &dyn Scope) -> (Value, Vec<Diagnostic>) {
    let mut decoder = Decoder { diagnostics: Vec::new(), variables: Vec::new(), schema, is_legacy: None };
    let value = decoder.block(source, schema, scope, &Marks::NONE, DEEPEST_BLOCKS);
    (value, decoder.diagnostics)
}

/// The value of an empty body, with errors for required content. Used for providers without a block.
pub fn decode_empty(schema: &Block, missing: &SourceRange) -> (Value, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut fields: BTreeMap<SmolStr, Value> = BTreeMap::new();
    for (name, attribute) in &schema.attributes {
        if attribute.required {
            diagnostics.push(problems::missing_argument(name, missing));
        }
        fields.insert(name.clone(), Value::null(attribute.ty.clone()));
    }
    for (name, nested) in &schema.blocks {
        if nested.min_items > 0 {
            diagnostics.push(problems::insufficient_blocks(name, nested.min_items, missing));
        }
        fields.insert(name.clone(), absent_block(nested));
    }
    (Value::object(fields), diagnostics)
}

/// The type that an attribute is converted to. Optional parts of a nested attribute may be missing.
pub fn constraint_of(attribute: &Attribute) -> Type {
    match &attribute.nested {
        None => attribute.ty.clone(),
        Some(nested) => nested_constraint(nested),
    }
}

fn nested_constraint(nested: &NestedAttributes) -> Type {
    let object = Type::Object(Arc::new(ObjectType {
        attributes: nested.attributes.iter().map(|(n, a)| (n.clone(), constraint_of(a))).collect(),
        optional: nested.attributes.iter().filter(|(_, a)| !a.required).map(|(n, _)| n.clone()).collect(),
    }));
    match nested.nesting {
        Nesting::Single | Nesting::Group => object,
        Nesting::List => Type::list(object),
        Nesting::Set => Type::set(object),
        Nesting::Map => Type::map(object),
    }
}

/// The role of a name in a body of this schema.
fn role(schema: &Block, name: &str) -> NameRole<'static> {
    if schema.attributes.contains_key(name) {
        return NameRole::Argument;
    }
    match schema.blocks.get(name) {
        Some(nested) if nested.nesting == Nesting::Map => NameRole::Block(&["key"]),
        Some(_) => NameRole::Block(&[]),
        None if name == "dynamic" => NameRole::Block(&["type"]),
        None => NameRole::Unknown,
    }
}

struct Decoder<'s> {
    diagnostics: Vec<Diagnostic>,
    /// The iterators of the enclosing `dynamic` blocks, innermost last.
    variables: Vec<(SmolStr, Value)>,
    /// The schema of the whole body.
    schema: &'s Block,
    /// The result of [`Decoder::is_legacy`].
    is_legacy: Option<bool>,
}

impl Decoder<'_> {
    fn evaluate(&mut self, expression: &Expression, scope: &dyn Scope) -> Option<Value> {
        let (value, problems) = evaluate_with(expression, scope, &self.variables);
        let failed = problems.iter().any(Diagnostic::is_error);
        self.diagnostics.extend(problems);
        (!failed).then_some(value)
    }

    /// Whether the older SDK can have made the schema of the whole body.
    fn is_legacy(&mut self) -> bool {
        *self.is_legacy.get_or_insert_with(|| is_legacy(self.schema))
    }

    /// Decodes a body. Its written arguments get `marks`.
    fn block(&mut self, view: &BodySource, schema: &Block, scope: &dyn Scope, marks: &Marks, depth: usize) -> Value {
        if depth == 0 {
            self.diagnostics.push(problems::nested_too_deeply(DEEPEST_BLOCKS, &view.range));
            return Value::unknown(schema.implied_type());
        }
        // If the syntax does not distinguish blocks from attributes, the schema decides.
        let changed = match view.tree.syntax() {
            Syntax::Native => written_as_blocks(view.tree.body(view.body), schema).filter(|_| self.is_legacy()),
            Syntax::Json => None,
        };
        let declared = schema;
        let schema = changed.as_ref().unwrap_or(declared);
        let content = view.content(&|name| role(schema, name));
        self.diagnostics.extend(content.problems.iter().cloned());
        let missing = view.missing();
        let mut fields = self.arguments(&content, schema, scope, marks, &missing);
        let mut items = self.items(&content, schema, scope, depth);
        for (name, nested) in &schema.blocks {
            let found = items.remove(name.as_str()).unwrap_or_default();
            if let (true, Some(rule)) = (found.is_empty(), declared.attributes.get(name)) {
                // If the `dynamic` blocks of an attribute generate no blocks, the attribute is null. The provider
                // checks whether the attribute is required.
                fields.insert(name.clone(), Value::null(rule.ty.clone()));
                continue;
            }
            let value = self.nested(name, nested, found, &missing);
            fields.insert(name.clone(), value);
        }
        Value::object(fields)
    }

    /// The values of all attributes of the schema. Those of written arguments get `marks`.
    fn arguments(
        &mut self,
        content: &BodyContent,
        schema: &Block,
        scope: &dyn Scope,
        marks: &Marks,
        missing: &SourceRange,
    ) -> BTreeMap<SmolStr, Value> {
        let mut fields: BTreeMap<SmolStr, Value> = BTreeMap::new();
        for (tree, attribute) in &content.attributes {
            let name = attribute.name.text.as_str();
            let expression = tree.expression(attribute.expression);
            match schema.attributes.get(name) {
                Some(rule) => {
                    let value = self.attribute(name, rule, &expression, scope).mark(marks);
                    fields.insert(attribute.name.text.clone(), value);
                }
                None => {
                    let arguments = schema.attributes.keys().map(|n| n.as_str());
                    let blocks = schema.blocks.keys().map(|n| n.as_str());
                    self.diagnostics.push(problems::unsupported_argument(tree, attribute, arguments, blocks));
                }
            }
        }
        for (name, rule) in &schema.attributes {
            if !fields.contains_key(name) {
                if rule.required {
                    self.diagnostics.push(problems::missing_argument(name, missing));
                }
                fields.insert(name.clone(), Value::null(rule.ty.clone()));
            }
        }
        fields
    }

    /// The nested blocks by type, both written and generated, in order.
    fn items<'s>(
        &mut self,
        content: &BodyContent,
        schema: &'s Block,
        scope: &dyn Scope,
        depth: usize,
    ) -> BTreeMap<&'s str, Vec<Item>> {
        let mut items: BTreeMap<&str, Vec<Item>> = BTreeMap::new();
        for (tree, block) in &content.blocks {
            let block_type = block.block_type.text.as_str();
            if block_type == "dynamic" && !schema.blocks.contains_key("dynamic") {
                if let [label] = block.labels.as_slice()
                    && !schema.blocks.contains_key(label.text.as_str())
                {
                    self.unsupported_block(&label.text, schema, &tree.range(label.span));
                    continue;
                }
                let read = read_dynamic(tree, block, &mut self.diagnostics);
                let Some(dynamic) = read else { continue };
                if let Some((name, nested)) = schema.blocks.get_key_value(dynamic.block_type.as_str()) {
                    let found = self.dynamic(tree, &dynamic, nested, scope, depth);
                    items.entry(name).or_default().extend(found);
                }
                continue;
            }
            match schema.blocks.get_key_value(block_type) {
                Some((name, nested)) => {
                    if let Some(item) = self.written(tree, block, nested, scope, depth) {
                        items.entry(name).or_default().push(item);
                    }
                }
                None => self.unsupported_block(block_type, schema, &tree.range(block.block_type.span)),
            }
        }
        items
    }

    /// Decodes one written block. Returns `None` if the block has the wrong number of labels.
    fn written(
        &mut self,
        tree: &Arc<Tree>,
        block: &weft_syntax::Block,
        nested: &NestedBlock,
        scope: &dyn Scope,
        depth: usize,
    ) -> Option<Item> {
        let block_type = block.block_type.text.as_str();
        let header = tree.range(block.header_span);
        let labels: Vec<SmolStr> = block.labels.iter().map(|l| l.text.clone()).collect();
        let wanted = usize::from(nested.nesting == Nesting::Map);
        if labels.len() != wanted {
            self.diagnostics.push(problems::wrong_labels(block_type, labels.len(), wanted, header));
            return None;
        }
        let inner = BodySource::inner(tree, block.body, header.clone());
        let value = self.block(&inner, &nested.block, scope, &Marks::NONE, depth - 1);
        Some(Item::Known(KnownBlock { labels, value, range: header.clone(), body: header }))
    }

    fn unsupported_block(&mut self, block_type: &str, schema: &Block, at: &SourceRange) {
        let arguments = schema.attributes.keys().map(|n| n.as_str());
        let blocks = schema.blocks.keys().map(|n| n.as_str());
        self.diagnostics.push(problems::unsupported_block(block_type, arguments, blocks, at.clone()));
    }

    fn attribute(&mut self, name: &str, rule: &Attribute, expression: &Expression, scope: &dyn Scope) -> Value {
        let Some(value) = self.evaluate(expression, scope) else { return Value::unknown(rule.ty.clone()) };
        match convert(&value, &constraint_of(rule)) {
            Ok(converted) => converted,
            Err(problem) => {
                let mut problem = problems::wrong_type(name, &problem.with_path(), expression.range());
                problem.values = involved::values(expression, &self.variables, scope);
                self.diagnostics.push(problem);
                Value::unknown(rule.ty.clone())
            }
        }
    }

    fn dynamic(
        &mut self,
        tree: &Arc<Tree>,
        dynamic: &DynamicBlock,
        nested: &NestedBlock,
        scope: &dyn Scope,
        depth: usize,
    ) -> Vec<Item> {
        let Some(collection) = self.evaluate(&dynamic.for_each, scope) else { return Vec::new() };
        let content = |decoder: &mut Self, iteration: &Iteration| {
            let view = BodySource::inner(tree, dynamic.content, dynamic.content_range.clone());
            decoder.variables.push(iteration.variable(&dynamic.iterator));
            let value = decoder.block(&view, &nested.block, scope, collection.marks(), depth - 1);
            decoder.variables.pop();
            value
        };
        let of_blocks = self.marks_of_blocks(&collection);
        let iterations = match Iteration::all(&collection, &dynamic.for_each.range()) {
            Ok(iterations) => iterations,
            Err(problem) => {
                self.diagnostics.push(problem);
                return Vec::new();
            }
        };
        let blocks = iterations.map(|iterations| {
            let generated = |iteration: &Iteration| {
                let value = content(self, iteration).mark(&of_blocks);
                let (range, body) = (dynamic.label_range.clone(), dynamic.content_range.clone());
                KnownBlock { labels: Vec::new(), value, range, body }
            };
            iterations.iter().map(generated).collect::<Vec<_>>()
        });
        let blocks = match blocks {
            Some(blocks) if collection.formula().is_none() => return blocks.into_iter().map(Item::Known).collect(),
            blocks => blocks,
        };
        let before = self.diagnostics.len();
        let (key_parameter, value_parameter, iteration) = Iteration::symbolic(&collection, scope);
        let body = content(self, &iteration);
        let problems: Vec<Diagnostic> = self.diagnostics.drain(before..).collect();
        let failure = match blocks {
            // The problems of these blocks are already reported. A block with problems has no formula.
            Some(blocks) if has_errors(&problems) => return blocks.into_iter().map(Item::Known).collect(),
            Some(_) => None,
            None => self.problems_of_unknown(&collection, problems),
        };
        let value = match failure {
            Some(problem) => Formula::new(FormulaOp::Failure(Box::new(problem)), nested.block.implied_type(), None),
            None => body.to_formula(),
        };
        let op = FormulaOp::For {
            collection: collection.to_formula(),
            key_parameter,
            value_parameter,
            key: None,
            value,
            condition: None,
            grouping: false,
        };
        let formula = Formula::new(op, Type::Dynamic, Some(dynamic.for_each.range()));
        vec![match blocks {
            Some(blocks) => Item::Planned { blocks, formula, source: collection },
            None => Item::Unknown { formula, source: collection },
        }]
    }

    /// The marks of the blocks that a `dynamic` block generates, besides those of their arguments. As in OpenTofu, a
    /// schema of the older SDK has only marks of arguments.
    fn marks_of_blocks(&mut self, collection: &Value) -> Marks {
        let marks = collection.marks();
        if !marks.is_empty() && self.is_legacy() { Marks::NONE } else { marks.clone() }
    }

    /// Handles the problems of a block that a `dynamic` block with an unknown `for_each` generates. Whether the block
    /// exists is not known yet. Returns the error that apply reports if the block exists.
    ///
    /// Two kinds of problems are reported now instead: problems that concern only the schema, and all problems if
    /// `for_each` is a set, because a set with an unknown element is never empty.
    fn problems_of_unknown(&mut self, collection: &Value, problems: Vec<Diagnostic>) -> Option<Diagnostic> {
        if let Kind::Set(_) = collection.open().1 {
            self.diagnostics.extend(problems);
            return None;
        }
        let is_of_schema = |problem: &Diagnostic| problem.cause == Cause::Schema;
        let (of_schema, problems): (Vec<_>, Vec<_>) = problems.into_iter().partition(is_of_schema);
        self.diagnostics.extend(of_schema);
        problems.into_iter().find(Diagnostic::is_error)
    }

    fn nested(&mut self, name: &str, nested: &NestedBlock, items: Vec<Item>, missing: &SourceRange) -> Value {
        if items.iter().any(|item| matches!(item, Item::Unknown { .. })) {
            return unknown_blocks(nested, items);
        }
        let planned = items.iter().any(|item| matches!(item, Item::Planned { .. }));
        let formula = planned.then(|| blocks_formula(nested, &items));
        let sources: Vec<Value> = items.iter().filter_map(|item| item.source().cloned()).collect();
        let value = self.known_blocks(name, nested, items, missing);
        let value = if formula.is_some() { value.with_formula(formula) } else { value };
        sources.iter().fold(value, |value, source| value.add_origin(source.deep_origin().as_ref()))
    }

    fn known_blocks(&mut self, name: &str, nested: &NestedBlock, items: Vec<Item>, missing: &SourceRange) -> Value {
        let surplus =
            items.iter().flat_map(Item::blocks).nth(nested.max_items as usize).map(|block| block.body.clone());
        let known: Vec<KnownBlock> = items.into_iter().flat_map(Item::into_blocks).collect();
        let count = known.len() as u64;
        match nested.nesting {
            Nesting::Single | Nesting::Group => {
                if let Some(second) = known.get(1) {
                    self.diagnostics.push(problems::second_block(name, second.range.clone()));
                }
                if count == 0 && nested.min_items > 0 {
                    self.diagnostics.push(problems::insufficient_blocks(name, nested.min_items, missing));
                }
            }
            _ => {
                if count < nested.min_items {
                    self.diagnostics.push(problems::insufficient_blocks(name, nested.min_items, missing));
                }
                if nested.max_items > 0 && count > nested.max_items {
                    let at = surplus.unwrap_or_else(|| missing.clone());
                    self.diagnostics.push(problems::too_many_blocks(name, nested.max_items, at));
                }
            }
        }
        if known.is_empty() {
            return absent_block(nested);
        }
        let content = nested.block.implied_type();
        let dynamic = content.has_dynamic();
        match nested.nesting {
            Nesting::Single | Nesting::Group => {
                known.into_iter().next().map_or_else(|| absent_block(nested), |block| block.value)
            }
            Nesting::List if dynamic => Value::tuple(known.into_iter().map(|block| block.value).collect()),
            Nesting::List => Value::list(content, known.into_iter().map(|block| block.value).collect()),
            Nesting::Set => Value::set(content, known.into_iter().map(|block| block.value).collect()),
            Nesting::Map => {
                let mut entries: BTreeMap<SmolStr, Value> = BTreeMap::new();
                for KnownBlock { labels, value, range, .. } in known {
                    let key = labels.into_iter().next().unwrap_or_default();
                    if entries.contains_key(&key) {
                        self.diagnostics.push(problems::repeated_label(name, &key, range));
                    }
                    entries.insert(key, value);
                }
                if dynamic { Value::object(entries) } else { Value::map(content, entries) }
            }
        }
    }
}
