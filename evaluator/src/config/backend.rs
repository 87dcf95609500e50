//! `backend` and `provider_meta` blocks: the location of the state, and values that a module sends to its providers.
//! Their settings are static values.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;
use weft_syntax::Role;

use super::compiling::Compiling;
use super::content::FoundBlock;
use super::static_values::{Needing, StaticValues};
use super::{BodySource, Settings, problems};
use crate::problems::{missing_argument, unsupported_argument, unsupported_block, wrong_type};

/// A `backend` or `provider_meta` block.
#[derive(Clone, Debug)]
pub struct BackendBlock {
    /// The type of the backend, such as `local` or `s3`. For `provider_meta`, the local name of the provider.
    pub kind: SmolStr,
    /// The settings, as written.
    pub body: BodySource,
    /// The header of the block.
    pub range: SourceRange,
    /// The values of the arguments that could be evaluated.
    values: BTreeMap<SmolStr, Value>,
    /// The problems of the others.
    problems: Vec<Diagnostic>,
}

impl BackendBlock {
    /// The settings as an object with all attributes of a schema without nested blocks.
    ///
    /// # Errors
    /// Missing, unsupported and invalid arguments, and arguments that are not known before planning.
    pub fn settings(&self, schema: &Block) -> Result<Value, Vec<Diagnostic>> {
        let mut problems = self.problems.clone();
        let tree = &self.body.tree;
        let role = |name: &str| match schema.attributes.contains_key(name) {
            true => Role::Argument,
            false => Role::Unknown,
        };
        let content = tree.content(self.body.body, &role);
        problems.extend(content.problems);
        let body = content.body;
        for block in &body.blocks {
            let at = tree.range(block.block_type.span);
            problems.push(unsupported_block(&block.block_type.text, [], [], at));
        }
        for attribute in &body.attributes {
            let name = attribute.name.text.as_str();
            if !schema.attributes.contains_key(name) {
                let known = schema.attributes.keys().map(|n| n.as_str());
                problems.push(unsupported_argument(tree, attribute, known, []));
            }
        }
        let mut fields: BTreeMap<SmolStr, Value> = BTreeMap::new();
        for (name, rule) in &schema.attributes {
            if rule.required && body.attribute(name).is_none() {
                problems.push(missing_argument(name, &self.body.missing()));
            }
            let value = self.values.get(name).cloned().unwrap_or_else(|| Value::null(rule.ty.clone()));
            match convert(&value, &rule.ty) {
                Ok(value) => drop(fields.insert(name.clone(), value.unmark_deep().0)),
                Err(problem) => {
                    let at = body.attribute(name).map(|a| tree.expression(a.expression).range());
                    let at = at.unwrap_or_else(|| self.range.clone());
                    problems.push(wrong_type(name, &problem.with_path(), at));
                }
            }
        }
        if problems.is_empty() { Ok(Value::object(fields)) } else { Err(problems) }
    }

    /// Evaluates the settings; `what` names the block in messages.
    pub(super) fn computed(&self, what: &str, module: &Module, statics: &mut StaticValues) -> BackendBlock {
        let mut found = self.clone();
        let tree = &self.body.tree;
        let content = tree.arguments(self.body.body, &|_| false);
        for attribute in &content.body.attributes {
            let expression = tree.expression(attribute.expression);
            let name = &attribute.name.text;
            let needing = Needing { text: format!("{what}.{}.{name}", self.kind), range: expression.range() };
            if let Some(value) = statics.evaluate(module, &expression, &needing, &mut found.problems) {
                found.values.insert(name.clone(), value);
            }
        }
        found
    }
}

/// A `backend` block.
pub(super) fn backend(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    if !compiling.module.path.is_root() {
        compiling.report(problems::backend::ignored(block.range.clone()));
        return;
    }
    if let Some(first) = &compiling.module.settings.backend {
        let problem = problems::backend::duplicate(&first.range, &block.range);
        compiling.report(problem);
        return;
    }
    let found = BackendBlock {
        kind: block.labels[0].0.clone(),
        body: compiling.body_source(block, &[], &[]),
        range: block.range.clone(),
        values: BTreeMap::new(),
        problems: Vec::new(),
    };
    compiling.module.settings.backend = Some(Arc::new(found));
    refuse_both(compiling);
}

/// A `cloud` block of the root module.
pub(super) fn cloud(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    if let Some(first) = &compiling.module.settings.cloud {
        let problem = problems::backend::duplicate_cloud(first, &block.range);
        compiling.report(problem);
        return;
    }
    compiling.module.settings.cloud = Some(block.range.clone());
    refuse_both(compiling);
}

/// A module has one backend.
fn refuse_both(compiling: &mut Compiling<'_>) {
    let Settings { backend, cloud, .. } = &compiling.module.settings;
    if let (Some(backend), Some(cloud)) = (backend, cloud) {
        let problem = problems::backend::beside_cloud(&backend.range, cloud);
        compiling.report(problem);
    }
}

/// A `provider_meta` block.
pub(super) fn provider_meta(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let name = block.labels[0].0.clone();
    if let Some(first) = compiling.module.settings.provider_metas.get(&name) {
        let problem = problems::backend::duplicate_provider_meta(&name, &first.range, &block.range);
        compiling.report_together(problem);
        return;
    }
    let found = BackendBlock {
        kind: name.clone(),
        body: compiling.body_source(block, &[], &[]),
        range: block.range.clone(),
        values: BTreeMap::new(),
        problems: Vec::new(),
    };
    compiling.module.settings.provider_metas.insert(name, Arc::new(found));
}
