//! References to providers as values: the values of such expressions, and the provider of a `provider` argument.

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

use super::calls::ModuleNode;
use super::provider_blocks::{Chosen, FoundProvider, ProviderInstances};
use super::scope::RepetitionData;
use crate::config::references_of;
use crate::glue::Failed;

impl FoundProvider {
    /// A reference to the instance, or a map of references if instances have keys. Its origin is that of the keys.
    fn value(&self) -> Value {
        let ty = Type::provider(self.named.1.clone());
        let origin = self.origin.as_ref();
        let reference = |instance: &ProviderInstance| Value::provider(instance.clone()).add_origin(origin);
        let single = |key: &InstanceKey| {
            let instance = self.blocks.instances.get(key);
            instance.map_or_else(|| Value::unknown(ty.clone()), reference)
        };
        match (&self.key, self.blocks.keyed) {
            (Some(key), _) => single(key),
            (None, false) => single(&InstanceKey::None),
            (None, true) => self.blocks.whole.get_or_init(|| self.blocks.map(ty)).add_origin(origin),
        }
    }
}

impl ProviderInstances {
    /// References to all instances by key; unknown if validation does not know the keys.
    fn map(&self, ty: Type) -> Value {
        let origin = self.origin.as_ref();
        let mut entries = BTreeMap::new();
        for (key, instance) in &self.instances {
            let InstanceKey::String(key) = key else { return Value::unknown(Type::map(ty)) };
            entries.insert(key.clone(), Value::provider(instance.clone()).add_origin(origin));
        }
        Value::map(ty, entries).add_origin(origin)
    }
}

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
        if !declared && self.evaluation.is_validation() {
            // Invalid names are reported when references are checked.
            return Err(Failed);
        }
        let found = self.find_provider(local_name, alias, at).await?;
        // A module that is checked on its own has no caller.
        let promised = self.caller.is_none() && self.config.promises(local_name, alias);
        if promised && found.blocks.instances.is_empty() && self.evaluation.is_validation() {
            let ty = Type::provider(found.named.1.clone());
            return Ok(Value::unknown(if found.blocks.keyed { Type::map(ty) } else { ty }));
        }
        Ok(found.value())
    }

    /// The provider instance of a `provider` argument's value. It must belong to the provider of the resource type.
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

    /// The instance of a reference, which must have this source. During validation any instance may stand for an
    /// unknown one.
    fn instance_of(
        &self,
        value: &Value,
        source: &ProviderSource,
        unknown: &str,
    ) -> Result<ProviderInstance, Diagnostic> {
        let error = |detail: String| Err(Diagnostic::error("Invalid provider configuration reference", detail));
        let (marks, kind) = value.open();
        if marks.is_sensitive() {
            return error(String::from("Which provider it is will be stored and shown: it cannot be sensitive."));
        }
        let instance = match kind {
            Kind::Provider(instance) => (**instance).clone(),
            Kind::Null(_) => return error(String::from("This is null: a reference to a provider is needed.")),
            Kind::Unknown(found) => match &found.ty {
                Type::Dynamic if self.evaluation.is_validation() => self.any_provider(source),
                Type::Provider(found) if self.evaluation.is_validation() => self.any_provider(found),
                Type::Dynamic | Type::Provider(_) => {
                    return error(format!(
                        "Which provider this is depends on {unknown}, known only after apply: nothing can be planned \
                         through it. Apply what decides first (option -target)."
                    ));
                }
                other => return error(wrong_type(other)),
            },
            _ => return error(wrong_type(&value.ty())),
        };
        if instance.source != *source {
            let detail = format!(
                "This is a configuration of {}, and one of {} is needed here.",
                instance.source.for_display(),
                source.for_display()
            );
            return Err(Diagnostic::error("Provider type mismatch", detail));
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
        if value.is_wholly_known() || self.evaluation.is_validation() {
            return String::new();
        }
        let references = references_of(expression, &mut Vec::new());
        let names = match self.scope(&references, repeated).await {
            Ok(scope) => unknowns(expression, &scope),
            Err(Failed) => Vec::new(),
        };
        if names.is_empty() { String::from("values") } else { names.join(" and ") }
    }

    /// The configurations that the caller passes as a value: a reference, or a map of references for a name that stands
    /// for all instances.
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
                (_, Kind::Unknown(_)) if whole && node.evaluation.is_validation() => {
                    instances.insert(InstanceKey::None, node.any_provider(&source));
                }
                _ if whole => {
                    let detail =
                        format!("A map of references to providers is needed, not {}.", value.ty().friendly_name());
                    let problem = Diagnostic::error("Invalid provider configuration reference", detail);
                    return node.fail(problem.at(expression.range()));
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

    /// The placeholder for an unknown instance.
    fn any_provider(&self, source: &ProviderSource) -> ProviderInstance {
        let module = self.address.clone();
        ProviderParts { module, source: source.clone(), alias: None, key: InstanceKey::None }.into()
    }
}

fn wrong_type(ty: &Type) -> String {
    let hint = match ty.holds_providers() {
        true => ": name one of them by its key, such as var.regions[each.key]",
        false => ", such as provider.aws.west or var.regions[each.key]",
    };
    format!("A reference to a provider is needed, not {}{hint}.", ty.friendly_name())
}

/// Reports references to providers in arguments: they cannot be stored or sent to providers.
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
    let detail = format!(
        "{path} holds a reference to a provider, which is no data that a provider could be given. The provider that a \
         resource belongs to is its provider argument."
    );
    Some(Diagnostic::error("Invalid use of provider configuration", detail).at(locate(&path)))
}
