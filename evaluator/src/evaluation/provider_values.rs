//! References to providers as values: the values of these references, and the provider that a `provider` argument
//! selects.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::involved::unknowns;
use weft_graph_format::address::{InstanceKey, ProviderInstance, ProviderParts, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::Path;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::Expression;

use super::module_node::ModuleNode;
use super::problems::providers as problems;
use super::provider_instances::{Chosen, ProviderInstances};
use super::repetition_data::RepetitionData;
use crate::glue::Failed;
use crate::reference::references_of;

impl ModuleNode {
    /// The value of `provider.NAME.ALIAS` or `provider.NAME` in this module.
    pub(super) async fn provider_value(
        self: &Arc<Self>,
        local_name: &SmolStr,
        alias: Option<&SmolStr>,
        at: &SourceRange,
    ) -> Result<Value, Failed> {
        let key = (local_name.clone(), alias.cloned());
        let declared =
            alias.is_none() || self.config.providers.contains_key(&key) || self.config.promises(&key.0, alias);
        if !declared && self.evaluation.purpose().checks_references() {
            // Invalid names are reported when references are checked.
            return Err(Failed);
        }
        let found = self.find_provider(local_name, alias, at).await?;
        // A module that is checked without its caller has no value for this configuration.
        let promised = self.caller.is_none() && self.config.promises(local_name, alias);
        if promised && found.blocks.instances.is_empty() && self.evaluation.purpose().accepts_modules_alone() {
            let ty = Type::provider(found.named.1.clone());
            return Ok(Value::unknown(if found.blocks.keyed { Type::map(ty) } else { ty }));
        }
        Ok(found.value())
    }

    /// The provider instance that the value of a `provider` argument refers to. The instance must belong to the
    /// provider of the resource type.
    pub(super) async fn provider_of_value(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
        local_name: &SmolStr,
    ) -> Result<Chosen, Failed> {
        let value = self.evaluate(expression, repeated).await?;
        let source = self.config.provider_source(local_name);
        let names = self.unknown_names(&value, expression, repeated).await;
        match self.instance_of(&value, &source, &names) {
            Ok(instance) => Ok(Chosen { instance, origin: value.deep_origin() }),
            Err(problem) => self.fail(problem.at(expression.range())),
        }
    }

    /// The instance that a value refers to. The provider of the instance must have this source. During validation, a
    /// placeholder stands for an unknown instance.
    fn instance_of(
        &self,
        value: &Value,
        source: &ProviderSource,
        unknown: &str,
    ) -> Result<ProviderInstance, Diagnostic> {
        let (marks, kind) = value.open();
        if marks.is_sensitive() {
            return Err(problems::sensitive_reference());
        }
        let instance = match kind {
            Kind::Provider(instance) => (**instance).clone(),
            Kind::Null(_) => return Err(problems::null_reference()),
            Kind::Unknown(found) => match &found.ty {
                Type::Dynamic if !self.evaluation.purpose().has_values() => self.any_provider(source),
                Type::Provider(found) if !self.evaluation.purpose().has_values() => self.any_provider(found),
                Type::Dynamic | Type::Provider(_) => {
                    return Err(problems::unknown_reference(unknown));
                }
                other => return Err(problems::no_reference(other)),
            },
            _ => return Err(problems::no_reference(&value.ty())),
        };
        if instance.source != *source {
            return Err(problems::wrong_provider(&instance.source, source));
        }
        Ok(instance)
    }

    /// A description of the unknown part of an expression, for messages; empty if everything is known.
    pub(super) async fn unknown_names(
        self: &Arc<Self>,
        value: &Value,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> String {
        if value.is_wholly_known() || !self.evaluation.purpose().has_values() {
            return String::new();
        }
        let references = references_of(expression, &mut Vec::new());
        let names = match self.scope(&references, repeated).await {
            Ok(scope) => unknowns(expression, &scope),
            Err(Failed) => Vec::new(),
        };
        if names.is_empty() { String::from("values") } else { names.join(" and ") }
    }

    /// The provider configuration that the caller passes as a value: a reference, or a map of references if the name
    /// stands for all instances.
    pub(super) async fn passed_value(
        self: &Arc<Self>,
        local_name: &SmolStr,
        alias: Option<&SmolStr>,
        expression: &Expression,
    ) -> Result<Arc<ProviderInstances>, Failed> {
        let (node, expression) = (self.clone(), expression.clone());
        let key = (local_name.clone(), alias.cloned());
        let passed = self.providers.get(key.clone(), move || async move {
            let caller = node.caller.as_ref().ok_or(Failed)?;
            let value = caller.parent.evaluate(&expression, &caller.repeated).await?;
            let names = caller.parent.unknown_names(&value, &expression, &caller.repeated).await;
            let source = node.config.provider_source(&key.0);
            let origin = value.deep_origin();
            let whole = node.config.promises_whole(&key.0, key.1.as_ref());
            let mut instances = BTreeMap::new();
            match value.open() {
                (marks, Kind::Map(fields) | Kind::Object(fields)) if whole && !marks.is_sensitive() => {
                    for (key, one) in fields.iter() {
                        let instance = node.instance_of(one, &source, &names);
                        let instance = instance.or_else(|problem| node.fail(problem.at(expression.range())))?;
                        instances.insert(InstanceKey::String(key.clone()), instance);
                    }
                }
                (_, Kind::Unknown(_)) if whole && !node.evaluation.purpose().has_values() => {
                    instances.insert(InstanceKey::None, node.any_provider(&source));
                }
                _ if whole => {
                    let ty = value.ty().friendly_name();
                    return node.fail(problems::no_reference_map(&ty, expression.range()));
                }
                _ => {
                    let instance = node.instance_of(&value, &source, &names);
                    let instance = instance.or_else(|problem| node.fail(problem.at(expression.range())))?;
                    instances.insert(InstanceKey::None, instance);
                }
            }
            Ok(Arc::new(ProviderInstances::new(whole, instances, origin)))
        });
        passed.await
    }

    /// The placeholder for an unknown instance of a provider.
    fn any_provider(&self, source: &ProviderSource) -> ProviderInstance {
        let module = self.address.clone();
        ProviderParts { module, source: source.clone(), alias: None, key: InstanceKey::None }.into()
    }
}

/// Reports references to providers in arguments. Such references can be neither stored nor sent to providers.
pub(super) fn provider_problem(config: &Value, locate: impl Fn(&Path) -> SourceRange) -> Option<Diagnostic> {
    if !config.deep().provider {
        return None;
    }
    let mut place = None;
    config.visit(&mut |path, part| {
        let is_one = matches!(part.open().1, Kind::Provider(_)) || !part.is_known() && part.ty().holds_providers();
        if is_one && place.is_none() {
            place = Some(path.clone());
        }
    });
    let path = place.unwrap_or(Path::ROOT);
    // For parts that it cannot find, `locate` returns the header of the block. In this case, the range of an enclosing
    // part is used if `locate` finds one, because it is more precise than the header.
    let whole = locate(&Path::ROOT);
    let start = |length: usize| Path(path.0.iter().take(length).cloned().collect());
    let near = (1..=path.0.len()).rev().map(|length| locate(&start(length))).find(|at| *at != whole);
    Some(problems::reference_in_body(&path, near.unwrap_or(whole)))
}
