//! Provider blocks: finds the provider of a resource, and configures provider instances.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_graph_format::address::{AbsResource, InstanceKey, ProviderInstance, ProviderParts, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::number::Number;
use weft_graph_format::origin::Origin;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::Key;

use super::instances::{expand, expand_provider};
use super::module_node::ModuleNode;
use super::problems::providers as problems;
use super::provider_instances::{Chosen, FoundProvider, ProviderInstances};
use super::provider_values::provider_problem;
use super::repetition_data::RepetitionData;
use crate::config::{
    PassedProvider, ProviderBlock, ProviderKey, ProviderLink, ProviderReference, Repetition, ResourceBlock,
};
use crate::decode::{decode, decode_empty};
use crate::glue::Failed;

type PendingProviders = Shared<BoxFuture<'static, Result<Arc<ProviderInstances>, Failed>>>;

impl ModuleNode {
    /// The provider instance of `reference`, or of the default configuration of `local_name` if there is no reference.
    /// `user` is the referring object, with its range.
    pub(crate) async fn choose_provider(
        self: &Arc<Self>,
        local_name: &SmolStr,
        reference: Option<&ProviderReference>,
        repeated: &RepetitionData,
        user: (&str, &SourceRange),
    ) -> Result<Chosen, Failed> {
        let (_, at) = user;
        let alias = reference.and_then(|r| r.alias.clone());
        let found = self.find_provider(local_name, alias.as_ref(), at).await?;
        let mut origin = found.origin.clone();
        let own_key = match reference.and_then(|r| r.key.as_ref()) {
            Some(expression) => {
                let (key, key_origin) = self.provider_key(expression, repeated).await?;
                origin = Origin::union([origin, key_origin].into_iter().flatten());
                Some((key, expression.range()))
            }
            None => None,
        };
        self.pick(&found, own_key, origin, user)
    }

    /// Reports a resource without instances, unless its provider configuration cannot be determined.
    pub(super) async fn list_bare(self: &Arc<Self>, block: &ResourceBlock, resource: &AbsResource) {
        if block.provider_value.is_some() {
            return;
        }
        let (alias, at) = self.provider_named_by(block);
        if let Ok(found) = self.find_provider(&block.provider_local_name(), alias, &at).await {
            self.evaluation.glue.bare(resource, found.config());
        }
    }

    fn pick(
        &self,
        found: &FoundProvider,
        own_key: Option<(InstanceKey, SourceRange)>,
        origin: Option<Origin>,
        (user, at): (&str, &SourceRange),
    ) -> Result<Chosen, Failed> {
        let key = match (&found.key, own_key) {
            // The module call has already chosen an instance.
            (Some(key), None) => key.clone(),
            (Some(_), Some((_, range))) => {
                return self.fail(problems::key_of_passed(range));
            }
            (None, Some((key, range))) => {
                if !found.blocks.keyed {
                    return self.fail(problems::key_without_for_each(range));
                }
                if !found.blocks.instances.contains_key(&key) && self.evaluation.purpose().has_values() {
                    return self.fail(found.absent(&key, user, &range));
                }
                key
            }
            (None, None) if found.blocks.keyed && self.evaluation.purpose().has_values() => {
                return self.fail(problems::key_missing(at));
            }
            (None, None) => InstanceKey::None,
        };
        let instance = found
            .blocks
            .instances
            .get(&key)
            .or_else(|| {
                (!self.evaluation.purpose().has_values()).then(|| found.blocks.instances.values().next()).flatten()
            })
            .cloned();
        match instance {
            Some(instance) => Ok(Chosen { instance, origin }),
            None if !self.evaluation.purpose().has_values() => {
                let (module, source, alias) = found.named.clone();
                Ok(Chosen { instance: ProviderParts { module, source, alias, key }.into(), origin })
            }
            None => Err(Failed),
        }
    }

    /// The key in an expression such as `aws.by_region[each.key]`.
    async fn provider_key(
        self: &Arc<Self>,
        key: &ProviderKey,
        repeated: &RepetitionData,
    ) -> Result<(InstanceKey, Option<Origin>), Failed> {
        let expression = match key {
            ProviderKey::Literal(Key::String(text), _) => return Ok((InstanceKey::String(text.clone()), None)),
            ProviderKey::Literal(Key::Number(digits), _) => {
                let number = Number::parse(digits).ok();
                return Ok((InstanceKey::String(number.map(|n| n.to_string()).unwrap_or_default().into()), None));
            }
            ProviderKey::Literal(Key::Bool(key), _) => return Ok((InstanceKey::String(key.to_string().into()), None)),
            // As in OpenTofu, only a plan evaluates keys.
            ProviderKey::Literal(Key::Null, at) if self.evaluation.purpose().has_values() => {
                return self.fail(problems::null_key(at.clone()));
            }
            ProviderKey::Literal(Key::Null, _) => return Ok((InstanceKey::String(SmolStr::default()), None)),
            ProviderKey::Computed(_) if !self.evaluation.purpose().has_values() => {
                return Ok((InstanceKey::String(SmolStr::default()), None));
            }
            ProviderKey::Computed(expression) => expression,
        };
        let value = self.evaluate(expression, repeated).await?;
        let origin = value.deep_origin();
        let at = || expression.range();
        let names = self.unknown_names(&value, expression, repeated).await;
        let (marks, _) = value.open();
        if marks.is_sensitive() {
            return self.fail(problems::sensitive_key(at()));
        }
        match convert(&value, &Type::String) {
            Ok(text) => match text.open().1 {
                Kind::String(text) => Ok((InstanceKey::String(text.clone()), origin)),
                Kind::Null(_) => self.fail(problems::null_key(at())),
                _ => self.fail(problems::unknown_key(&names, at())),
            },
            Err(problem) => self.fail(problems::unsuitable_key(&problem.with_path(), at())),
        }
    }

    /// Follows a provider name through the callers to the block that configures the provider.
    pub(super) fn find_provider(
        self: &Arc<Self>,
        local_name: &SmolStr,
        alias: Option<&SmolStr>,
        at: &SourceRange,
    ) -> BoxFuture<'static, Result<FoundProvider, Failed>> {
        let (node, local_name, alias, at) = (self.clone(), local_name.clone(), alias.cloned(), at.clone());
        async move {
            let source = node.config.provider_source(&local_name);
            let caller = node.caller.as_ref().map(|caller| (caller.parent.config.as_ref(), caller.call.as_ref()));
            let link = node.config.provider_link(caller, &local_name, alias.as_ref());
            if matches!(link, ProviderLink::Own) {
                let blocks = node.provider(&local_name, alias.as_ref()).await?;
                let named = (node.address.clone(), source, alias.clone());
                return Ok(FoundProvider { origin: blocks.origin.clone(), blocks, key: None, named });
            }
            let Some(caller) = &node.caller else {
                if node.evaluation.purpose().accepts_modules_alone()
                    && node.config.promises(&local_name, alias.as_ref())
                {
                    // The module is validated without a caller, but only a caller can pass this provider configuration.
                    // So the reference is accepted, and the provider configuration has no instances here.
                    let instances = BTreeMap::new();
                    let keyed = node.config.promises_whole(&local_name, alias.as_ref());
                    let blocks = Arc::new(ProviderInstances::new(keyed, instances, None));
                    return Ok(FoundProvider {
                        blocks,
                        key: None,
                        origin: None,
                        named: (node.address.clone(), source, alias),
                    });
                }
                return node.fail(problems::missing_configuration(&local_name, alias.as_deref(), &at));
            };
            match link {
                ProviderLink::Passed(PassedProvider { value: Some(expression), .. }) => {
                    let blocks = node.passed_value(&local_name, alias.as_ref(), expression).await?;
                    let named = (node.address.clone(), source, alias);
                    Ok(FoundProvider { origin: blocks.origin.clone(), blocks, key: None, named })
                }
                ProviderLink::Passed(passed) => {
                    let parent = &caller.parent;
                    let mut found = parent
                        .find_provider(&passed.parent.local_name, passed.parent.alias.as_ref(), &passed.parent.range)
                        .await?;
                    if let Some(expression) = &passed.parent.key {
                        let (key, origin) = parent.provider_key(expression, &caller.repeated).await?;
                        let origin = Origin::union([found.origin.clone(), origin].into_iter().flatten());
                        let chosen = parent.pick(
                            &found,
                            Some((key, expression.range())),
                            origin,
                            (&node.address.to_string(), &at),
                        )?;
                        found.key = Some(chosen.instance.key.clone());
                        found.origin = chosen.origin;
                    }
                    Ok(found)
                }
                ProviderLink::Inherited(parent_name) => caller.parent.find_provider(&parent_name, None, &at).await,
                ProviderLink::Own | ProviderLink::Missing => {
                    node.fail(problems::missing_configuration(&local_name, alias.as_deref(), &at))
                }
            }
        }
        .boxed()
    }

    /// The instances of a provider block of this module. A missing block is treated as an empty block.
    pub(crate) fn provider(self: &Arc<Self>, local_name: &SmolStr, alias: Option<&SmolStr>) -> PendingProviders {
        let node = self.clone();
        let key = (local_name.clone(), alias.cloned());
        self.providers.get(key.clone(), move || async move {
            let source = node.config.provider_source(&key.0);
            let block = node.config.providers.get(&key).cloned();
            let repeated = block.as_ref().and_then(|b| b.for_each.clone());
            let keyed = repeated.is_some();
            let expanded = match &repeated {
                Some(expression) => expand_provider(&node, expression).await?,
                None => expand(&node, &Repetition::Single, false).await?,
            };
            let schema = match node.evaluation.glue.provider_schema(&source).await {
                Ok(schema) => schema,
                Err(mut problem) => {
                    if problem.subject.is_none() {
                        problem.subject = block.as_ref().map(|b| b.range.clone());
                    }
                    return node.fail(problem);
                }
            };
            let mut instances = BTreeMap::new();
            let mut failed = false;
            for (instance_key, repeated) in expanded.instances {
                let instance: ProviderInstance = ProviderParts {
                    module: node.address.clone(),
                    source: source.clone(),
                    alias: key.1.clone(),
                    key: instance_key.clone(),
                }
                .into();
                if let Some(block) = block.as_deref().filter(|block| !block.is_mock) {
                    node.note_basis(block, &instance, &repeated);
                }
                let done = node.configure(block.as_deref(), &schema.provider.block, &instance, &repeated).await;
                failed |= done.is_err();
                instances.insert(instance_key, instance);
            }
            if failed {
                return Err(Failed);
            }
            if let Some(block) = block.as_deref().filter(|block| keyed && !block.is_mock) {
                node.configure_former(block, &schema.provider.block, &source, &instances).await;
            }
            Ok(Arc::new(ProviderInstances::new(keyed, instances, expanded.origin)))
        })
    }

    /// Configures the former instances whose keys the block no longer has, for the objects that still need them.
    /// Nothing else can refer to these instances. Problems are reported, but do not stop the evaluation.
    async fn configure_former(
        self: &Arc<Self>,
        block: &ProviderBlock,
        schema: &weft_graph_format::schema::Block,
        source: &ProviderSource,
        instances: &BTreeMap<InstanceKey, ProviderInstance>,
    ) {
        let (module, alias) = (self.address.clone(), block.alias.clone());
        let parts = ProviderParts { module, source: source.clone(), alias, key: InstanceKey::None };
        for (key, value) in self.evaluation.glue.former_keys(&parts.clone().into()) {
            let key = InstanceKey::String(key);
            if instances.contains_key(&key) {
                continue;
            }
            let repeated = RepetitionData::of(&key, Some(value));
            let instance: ProviderInstance = ProviderParts { key, ..parts.clone() }.into();
            // The cause of a failure has been reported.
            let _ = self.configure(Some(block), schema, &instance, &repeated).await;
        }
    }

    async fn configure(
        self: &Arc<Self>,
        block: Option<&ProviderBlock>,
        schema: &weft_graph_format::schema::Block,
        instance: &ProviderInstance,
        repeated: &RepetitionData,
    ) -> Result<(), Failed> {
        let (config, problems, range) = match block {
            // A mocked provider is not configured.
            Some(block) if block.is_mock => (Value::null(schema.implied_type()), Vec::new(), block.range.clone()),
            Some(block) => {
                let scope = self.scope(&block.references, repeated).await?;
                let (config, problems) = decode(&block.body, schema, &scope);
                let config = self.tell_deprecated_in_body(config, &block.body, "");
                // The providers of a module wait for the same origins as the module.
                (config.add_origin(self.waits().as_ref()), problems, block.range.clone())
            }
            None => {
                let (config, mut found) = decode_empty(schema, &SourceRange::default());
                if !found.is_empty() {
                    found = vec![problems::must_be_configured(&instance.source)];
                }
                (config, found, SourceRange::default())
            }
        };
        if problems.iter().any(Diagnostic::is_error) {
            return self.report_all(problems);
        }
        problems.into_iter().for_each(|p| self.evaluation.glue.report(p));
        if let Some(problem) =
            provider_problem(&config, |path| block.map_or(SourceRange::default(), |b| b.body.locate(path)))
        {
            return self.fail(problem);
        }
        self.evaluation.glue.provider_instance(instance, &config, &range).await
    }
}
