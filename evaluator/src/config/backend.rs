//! `backend` blocks configure the location of the state. `provider_meta` blocks contain values that a module sends to
//! its providers. The settings of both kinds of blocks are static values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::{ObjectType, Type};
use weft_graph_format::value::Value;
use weft_syntax::{Body, BodyId, Expression, NameRole, Syntax, Tree};

use super::compiling::Compiling;
use super::content::FoundBlock;
use super::source_files::parse_arguments;
use super::static_values::{Needing, StaticValues};
use super::{BodySource, ModuleSettings, problems};
use crate::problems::{
    insufficient_blocks, missing_argument, second_block, too_many_blocks, unsupported_argument, unsupported_block,
    wrong_type,
};

/// The name of `backend` blocks in messages.
pub(super) const BACKEND: &str = "backend";

/// A `backend` or `provider_meta` block.
#[derive(Clone, Debug)]
pub struct BackendBlock {
    /// The type of the backend, such as `local` or `s3`. For `provider_meta`, the local name of the provider.
    pub kind: SmolStr,
    /// The settings, as written.
    pub body: BodySource,
    /// The header of the block.
    pub range: SourceRange,
    /// The values of the settings that could be evaluated.
    evaluated: Evaluated,
    /// The problems of the settings that could not be evaluated, by the name of the outermost argument or block.
    problems: Vec<(SmolStr, Diagnostic)>,
}

impl BackendBlock {
    /// The settings as an object with all attributes and blocks of a schema.
    ///
    /// # Errors
    /// Returns errors for arguments of the schema whose values cannot be evaluated before planning. Without such
    /// errors, returns an error for secret values, or errors for missing, unsupported and invalid arguments and blocks.
    pub fn settings(&self, schema: &Block) -> Result<Value, Vec<Diagnostic>> {
        let known = |name: &SmolStr| schema.has_name(name);
        let unknown = self.problems.iter().filter(|(name, _)| known(name)).map(|(_, problem)| problem.clone());
        let mut problems: Vec<Diagnostic> = unknown.collect();
        if problems.is_empty() {
            problems.extend(self.secret(known));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let missing = self.body.missing();
        let mut reader = SettingsReader { tree: &self.body.tree, header: &self.range, problems: &mut problems };
        let value = reader.body(self.body.body, schema, &self.evaluated, &missing);
        if problems.is_empty() { Ok(value) } else { Err(problems) }
    }

    /// Reports sensitive or ephemeral values. The settings are stored in plain text.
    fn secret(&self, known: impl Fn(&SmolStr) -> bool) -> Option<Diagnostic> {
        let holds = |test: fn(&Value) -> bool| self.evaluated.holds(&|name| known(name), test);
        match (holds(Value::contains_sensitive), holds(|value| value.deep().ephemeral)) {
            (true, _) => Some(problems::backend::sensitive(self.range.clone())),
            (false, true) => Some(problems::backend::ephemeral(self.range.clone())),
            (false, false) => None,
        }
    }

    /// Whether every setting has a value that may be stored. The schema is not checked.
    pub fn is_evaluated(&self) -> bool {
        self.problems.is_empty() && self.secret(|_| true).is_none()
    }

    /// Evaluates the settings; `what` names the block in messages.
    pub(super) fn computed(&self, what: &str, module: &Module, statics: &mut StaticValues) -> BackendBlock {
        let mut found = self.clone();
        let mut evaluate = |path: &str, expression: &Expression| {
            let at = if what == BACKEND { self.range.clone() } else { expression.range() };
            let needing = Needing::new(format!("{what}.{}.{path}", self.kind), at);
            let mut problems = Vec::new();
            let value = statics.evaluate(module, expression, &needing, &mut problems);
            let name = path.split('.').next().unwrap_or(path);
            found.problems.extend(problems.into_iter().map(|problem| (SmolStr::new(name), problem)));
            value
        };
        found.evaluated = Evaluated::of(&self.body.tree, self.body.body, "", &mut evaluate);
        found
    }
}

/// The values of a body, before its schema is known.
#[derive(Clone, Debug, Default)]
struct Evaluated {
    /// The values of the arguments that could be evaluated. In the JSON syntax, nested blocks are among these values.
    values: BTreeMap<SmolStr, Value>,
    /// The nested blocks in order, with their types.
    blocks: Vec<(SmolStr, Evaluated)>,
}

impl Evaluated {
    /// Whether a value of an argument or block with a known name passes a test.
    fn holds(&self, known: &dyn Fn(&SmolStr) -> bool, test: fn(&Value) -> bool) -> bool {
        let in_blocks = || self.blocks.iter().any(|(name, block)| known(name) && block.holds(&|_| true, test));
        self.values.iter().any(|(name, value)| known(name) && test(value)) || in_blocks()
    }

    fn of(
        tree: &Arc<Tree>,
        body: BodyId,
        path: &str,
        evaluate: &mut dyn FnMut(&str, &Expression) -> Option<Value>,
    ) -> Evaluated {
        let content = tree.arguments(body, &|_| false).body;
        let mut found = Evaluated::default();
        for attribute in &content.attributes {
            let name = &attribute.name.text;
            if let Some(value) = evaluate(&format!("{path}{name}"), &tree.expression(attribute.expression)) {
                found.values.insert(name.clone(), value);
            }
        }
        for block in &content.blocks {
            let path = format!("{path}{}.", block.block_type.text);
            let content = Evaluated::of(tree, block.body, &path, evaluate);
            found.blocks.push((block.block_type.text.clone(), content));
        }
        found
    }
}

/// Combines evaluated values with a schema.
struct SettingsReader<'a> {
    tree: &'a Arc<Tree>,
    /// The header of the outermost block.
    header: &'a SourceRange,
    problems: &'a mut Vec<Diagnostic>,
}

impl SettingsReader<'_> {
    fn body(&mut self, body: BodyId, schema: &Block, evaluated: &Evaluated, missing: &SourceRange) -> Value {
        let known = |name: &str| schema.has_name(name);
        let content = self.tree.content(body, &|name| if known(name) { NameRole::Argument } else { NameRole::Unknown });
        self.problems.extend(content.problems);
        let content = content.body;
        let arguments = || schema.attributes.keys().map(SmolStr::as_str);
        let blocks = || schema.blocks.keys().map(SmolStr::as_str);
        let json = self.tree.syntax() == Syntax::Json;
        for attribute in &content.attributes {
            let name = attribute.name.text.as_str();
            if !(schema.attributes.contains_key(name) || json && schema.blocks.contains_key(name)) {
                self.problems.push(unsupported_argument(self.tree, attribute, arguments(), blocks()));
            }
        }
        for block in &content.blocks {
            if !schema.blocks.contains_key(&block.block_type.text) {
                let at = self.tree.range(block.block_type.span);
                self.problems.push(unsupported_block(&block.block_type.text, arguments(), blocks(), at));
            }
        }
        let mut fields: BTreeMap<SmolStr, Value> = BTreeMap::new();
        for (name, rule) in &schema.attributes {
            if rule.required && content.attribute(name).is_none() {
                self.problems.push(missing_argument(name, missing));
            }
            let value = evaluated.values.get(name).cloned().unwrap_or_else(|| Value::null(rule.ty.clone()));
            if let Some(value) = self.converted(&content, name, &value, &rule.ty) {
                fields.insert(name.clone(), value);
            }
        }
        for (name, rule) in &schema.blocks {
            let value = match evaluated.values.get(name).filter(|_| json) {
                Some(value) => self.converted(&content, name, &as_blocks(value, rule.nesting), &constraint_of(rule)),
                None => Some(self.blocks(&content, name, rule, evaluated, missing)),
            };
            fields.extend(value.map(|value| (name.clone(), value)));
        }
        Value::object(fields)
    }

    /// The blocks of one type.
    fn blocks(
        &mut self,
        content: &Body,
        name: &SmolStr,
        rule: &NestedBlock,
        evaluated: &Evaluated,
        missing: &SourceRange,
    ) -> Value {
        let found = content.blocks.iter().zip(&evaluated.blocks).filter(|(block, _)| block.block_type.text == *name);
        let mut values = Vec::new();
        for (number, (block, (_, evaluated))) in (1..).zip(found) {
            let at = self.tree.range(block.block_type.span);
            if rule.nesting == Nesting::Single && number > 1 {
                self.problems.push(second_block(name, at));
                break;
            }
            if rule.max_items > 0 && number > rule.max_items {
                self.problems.push(too_many_blocks(name, rule.max_items, at));
                break;
            }
            values.push(self.body(block.body, &rule.block, evaluated, &self.tree.range(block.header_span)));
        }
        if (values.len() as u64) < rule.min_items {
            self.problems.push(insufficient_blocks(name, rule.min_items, missing));
        }
        let content = rule.block.implied_type();
        match rule.nesting {
            Nesting::List => Value::list(content, values),
            Nesting::Set | Nesting::Map => Value::set(content, values),
            Nesting::Single | Nesting::Group => values.pop().unwrap_or_else(|| Value::null(content)),
        }
    }

    fn converted(&mut self, content: &Body, name: &str, value: &Value, ty: &Type) -> Option<Value> {
        match convert(value, ty) {
            Ok(value) => Some(value.unmark_deep().0),
            Err(problem) => {
                let at = content.attribute(name).map(|a| self.tree.expression(a.expression).range());
                let at = at.unwrap_or_else(|| self.header.clone());
                self.problems.push(wrong_type(name, &problem.with_path(), at));
                None
            }
        }
    }
}

/// Brings a value into the form that `nesting` requires. The value was written in the JSON syntax, in place of blocks.
/// For single nesting, this syntax also allows a list around the block. For other nestings, it also allows one block
/// without a list.
fn as_blocks(value: &Value, nesting: Nesting) -> Value {
    let single = matches!(nesting, Nesting::Single | Nesting::Group);
    match (value.as_items(), single) {
        (Some([only]), true) => only.clone(),
        (None, false) if !value.is_null() => Value::tuple(vec![value.clone()]),
        _ => value.clone(),
    }
}

/// The type of the values that can be written in place of nested blocks of the type `rule`. Missing optional attributes
/// become null.
pub fn constraint_of(rule: &NestedBlock) -> Type {
    let Block { attributes, blocks, .. } = &rule.block;
    let nested = blocks.iter().map(|(name, rule)| (name.clone(), constraint_of(rule)));
    let required = attributes.iter().filter(|(_, rule)| rule.required).map(|(name, _)| name);
    let required: BTreeSet<&SmolStr> = required.collect();
    let types: BTreeMap<SmolStr, Type> =
        attributes.iter().map(|(name, rule)| (name.clone(), rule.ty.clone())).chain(nested).collect();
    let optional = types.keys().filter(|name| !required.contains(name)).cloned().collect();
    let object = Type::Object(Arc::new(ObjectType { attributes: types, optional }));
    match rule.nesting {
        Nesting::List => Type::list(object),
        Nesting::Set | Nesting::Map => Type::set(object),
        Nesting::Single | Nesting::Group => object,
    }
}

/// A block before its values are known.
fn written(kind: SmolStr, compiling: &Compiling<'_>, block: &FoundBlock) -> BackendBlock {
    BackendBlock {
        kind,
        body: compiling.body_source(block, &[], &[]),
        range: block.range.clone(),
        evaluated: Evaluated::default(),
        problems: Vec::new(),
    }
}

/// Reads a file of settings with this name and content. Returns its arguments and blocks in the order of their names.
/// Values must be constants.
///
/// # Errors
/// Returns the errors of the file, and errors for arguments and blocks that the schema does not have.
pub fn settings_in_file(name: &str, content: &[u8], schema: &Block) -> Result<Vec<(SmolStr, Value)>, Vec<Diagnostic>> {
    let (tree, mut problems) = parse_arguments(name, content);
    if has_errors(&problems) {
        return Err(problems);
    }
    problems.clear();
    let mut evaluate = |_: &str, expression: &Expression| {
        let (value, found) = evaluate_constant(expression);
        let sound = !has_errors(&found);
        problems.extend(found);
        sound.then_some(value)
    };
    let evaluated = Evaluated::of(&tree, tree.root_id(), "", &mut evaluate);
    let content = tree.arguments(tree.root_id(), &|_| false).body;
    let header = tree.range(tree.root_body().span);
    let mut reader = SettingsReader { tree: &tree, header: &header, problems: &mut problems };
    let value = reader.body(tree.root_id(), schema, &evaluated, &header);
    if has_errors(&problems) {
        return Err(problems);
    }
    let is_written = |name: &str| {
        evaluated.values.contains_key(name) || content.blocks.iter().any(|block| block.block_type.text == name)
    };
    let fields = value.as_fields().map(|fields| fields.iter().collect::<Vec<_>>()).unwrap_or_default();
    let found = fields.into_iter().filter(|(name, _)| is_written(name));
    Ok(found.map(|(name, value)| (SmolStr::new(name), value.clone())).collect())
}

/// Reads a `backend` block.
pub(super) fn backend(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    if let Some(first) = &compiling.module.settings.backend {
        let problem = problems::backend::duplicate(&first.range, &block.range);
        compiling.report(problem);
        return;
    }
    let found = written(block.labels[0].0.clone(), compiling, block);
    compiling.module.settings.backend = Some(Arc::new(found));
    refuse_both(compiling);
}

/// Reads a `cloud` block.
pub(super) fn cloud(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    if let Some(first) = &compiling.module.settings.cloud {
        let problem = problems::backend::duplicate_cloud(&first.range, &block.range);
        compiling.report(problem);
        return;
    }
    let found = written("cloud".into(), compiling, block);
    compiling.module.settings.cloud = Some(Arc::new(found));
    refuse_both(compiling);
}

/// Reports a module with both a `backend` and a `cloud` block.
fn refuse_both(compiling: &mut Compiling<'_>) {
    // As in OpenTofu, an override file may have both.
    if compiling.overriding {
        return;
    }
    let ModuleSettings { backend, cloud, .. } = &compiling.module.settings;
    if let (Some(backend), Some(cloud)) = (backend, cloud) {
        let problem = problems::backend::beside_cloud(&backend.range, &cloud.range);
        compiling.report(problem);
    }
}

/// Reads a `provider_meta` block.
pub(super) fn provider_meta(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let (name, at) = block.labels[0].clone();
    let tree = &block.tree;
    let body = compiling.only_arguments(tree, block.body, "provider_meta");
    if !body.blocks.is_empty() {
        return;
    }
    // As in OpenTofu, the values are constants.
    for attribute in &body.attributes {
        let (_, problems) = evaluate_constant(&tree.expression(attribute.expression));
        problems.into_iter().for_each(|problem| compiling.report(problem));
    }
    if !compiling.normalised_provider(&name, &at) {
        return;
    }
    if let Some(first) = compiling.module.settings.provider_metas.get(&name) {
        let problem = problems::backend::duplicate_provider_meta(&name, &first.range, &block.range);
        compiling.report_together(problem);
        return;
    }
    let found = written(name.clone(), compiling, block);
    compiling.module.settings.provider_metas.insert(name, Arc::new(found));
}
