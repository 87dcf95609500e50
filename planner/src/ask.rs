//! Calls of providers while one instance is planned.

use std::sync::Arc;

use weft_evaluator::glue::DesiredInstance;
use weft_expressions::resource_rules::{attribute_at, plan_problems, proposed_new, replace_paths, without_write_only};
use weft_graph_format::address::{InstanceKey, ObjectName, ProviderInstance, ProviderSource, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::marks::Marks;
use weft_graph_format::path::Path;
use weft_graph_format::schema::Schema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::{PlanRequest, PlannedChange};
use weft_state::InstanceObject;

use crate::diagnostics::{call_failed, placed};
use crate::prior::{Prior, Reading, read_prior, without_provenance};
use crate::problems::{self, Problems};
use crate::progress::ProgressSender;
use crate::provider_meta::ProviderMetas;
use crate::providers::{InUse, ProviderSet};
use crate::report::Report;

/// Everything that is needed to call providers.
pub(crate) struct Ask {
    pub(crate) providers: Arc<ProviderSet>,
    /// Values of `provider_meta` blocks.
    pub(crate) metas: ProviderMetas,
    pub(crate) progress: ProgressSender,
    /// Whether real objects are read.
    pub(crate) refresh: bool,
    pub(crate) report: Arc<Report>,
}

/// The inputs of a provider's plan: the prior object, the configuration, and the provider's private data.
#[derive(Clone, Debug)]
pub(crate) struct ProposalInput {
    pub(crate) before: Value,
    pub(crate) config: Value,
    pub(crate) private: Vec<u8>,
}

/// A provider's plan that passed the checks.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) planned: Value,
    pub(crate) private: Vec<u8>,
    pub(crate) replace: Vec<Path>,
    pub(crate) legacy: bool,
}

/// A configuration that its provider has validated.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// The configuration without marks.
    pub(crate) config: Value,
    /// The marks.
    pub(crate) marks: Vec<(Path, Marks)>,
    /// The configuration as the provider receives it, without marks, formulas and origins.
    pub(crate) plain: Value,
}

impl Ask {
    /// The configured provider, started if necessary. Reports its warnings.
    pub(crate) async fn open(&self, instance: &ProviderInstance) -> Result<InUse<'_>, Problems> {
        let in_use = self.providers.open(instance).await?;
        self.report.add(in_use.warnings.clone());
        Ok(in_use)
    }

    /// Registers an empty configuration for a default provider of the root module, if the provider has no block and
    /// only objects in the state need it.
    ///
    /// # Errors
    /// Returns an error if the provider has no schema.
    pub(crate) async fn stand_in(&self, instance: &ProviderInstance) -> Result<(), Problems> {
        let plain = instance.module.is_root() && instance.alias.is_none() && instance.key == InstanceKey::None;
        if !plain || self.providers.registered(instance).is_some() {
            return Ok(());
        }
        let schema = self.providers.schema(&instance.source).await.map_err(|problem: Diagnostic| vec![problem])?;
        let range = SourceRange::default();
        let (config, problems) = weft_evaluator::decode::decode_empty(&schema.provider.block, &range);
        if problems.is_empty() {
            self.providers.register(instance, &config, &range);
        }
        Ok(())
    }

    /// The `provider_meta` value for an instance.
    pub(crate) fn meta(&self, address: &ResourceInstance, provider: &ProviderSource) -> Option<Value> {
        self.metas.value(&address.module, provider)
    }

    /// A stored object, refreshed from the real object if `refresh` is set.
    pub(crate) async fn read(
        &self,
        name: ObjectName<'_>,
        object: &InstanceObject,
        schema: &Schema,
        through: (&ProviderInstance, &Provider),
        refresh: bool,
    ) -> Result<Prior, Problems> {
        let (instance, provider) = through;
        if refresh {
            self.providers.may_read(instance).await?;
        }
        let meta = self.meta(name.address, &instance.source);
        let reading = Reading { provider, refresh, meta, progress: &self.progress };
        let (prior, said) = read_prior(name, object, schema, reading).await?;
        said.into_iter().for_each(|warning| self.report.evaluated(warning));
        Ok(prior)
    }

    /// Validates the configuration of an instance with its provider.
    pub(crate) async fn accepted(&self, desired: &DesiredInstance, provider: &Provider) -> Result<Accepted, Problems> {
        let text = desired.address.to_string();
        let places = Some(&desired.block.places);
        let resource = &desired.address.resource;
        let (config, marks) = desired.config.unmark_with_paths();
        let plain = without_provenance(&config);
        let said = provider
            .validate_config(resource.mode, &resource.type_name, &plain)
            .await
            .map_err(|e| vec![call_failed(&e, places, &text)])?;
        self.report.accept_evaluated(placed(&said, places, &text))?;
        Ok(Accepted { config, marks, plain })
    }

    /// Asks the provider for a plan and checks the response.
    pub(crate) async fn propose(
        &self,
        provider: &Provider,
        desired: &DesiredInstance,
        input: ProposalInput,
    ) -> Result<Proposal, Problems> {
        let ProposalInput { before, config, private } = input;
        let text = desired.address.to_string();
        let places = Some(&desired.block.places);
        let schema = &desired.schema.block;
        let before = without_write_only(schema, &before);
        let request = PlanRequest {
            address: desired.address.clone(),
            type_name: desired.address.resource.type_name.clone(),
            prior_state: before.clone(),
            proposed_new_state: proposed_new(schema, &before, &config),
            config: config.clone(),
            prior_private: private,
            provider_meta: self.meta(&desired.address, &desired.provider.source),
            prior_identity: None,
        };
        let reply = provider.plan_resource_change(request).await.map_err(|e| vec![call_failed(&e, places, &text)])?;
        self.report.accept_evaluated(placed(&reply.diagnostics, places, &text))?;
        checked(desired, &before, &config, reply.value)
    }

    /// The private data for a delete. If the provider plans deletes, it is asked to plan this delete.
    pub(crate) async fn private_for_delete(
        &self,
        address: &ResourceInstance,
        instance: &ProviderInstance,
        provider: &Provider,
        schema: &Schema,
        prior: &Prior,
    ) -> Result<Vec<u8>, Problems> {
        let text = address.to_string();
        let failed = |error| vec![call_failed(&error, None, &text)];
        if !provider.schema().await.map_err(failed)?.plan_destroy {
            return Ok(prior.private.clone());
        }
        let null = Value::null(schema.block.implied_type());
        let request = PlanRequest {
            address: address.clone(),
            type_name: address.resource.type_name.clone(),
            prior_state: prior.value.unmark_deep().0,
            proposed_new_state: null.clone(),
            config: null,
            prior_private: prior.private.clone(),
            provider_meta: self.meta(address, &instance.source),
            prior_identity: None,
        };
        let reply = provider.plan_resource_change(request).await.map_err(failed)?;
        self.report.accept(placed(&reply.diagnostics, None, &text))?;
        let private = reply.value.planned_private;
        // If the provider returns no private data, the stored data stays.
        Ok(if private.is_empty() { prior.private.clone() } else { private })
    }
}

/// Checks the plan of a provider.
fn checked(
    desired: &DesiredInstance,
    before: &Value,
    config: &Value,
    answer: PlannedChange,
) -> Result<Proposal, Problems> {
    let text = desired.address.to_string();
    let schema = &desired.schema.block;
    let PlannedChange { planned_state, requires_replace, planned_private, legacy_type_system, .. } = answer;
    let violations = plan_problems(schema, before, config, &planned_state);
    if !violations.is_empty() && !legacy_type_system {
        let found =
            violations.iter().map(|violation| problems::invalid_plan(&text, violation).at(desired.block.range.clone()));
        return Err(found.collect());
    }
    for violation in violations {
        tracing::warn!(%text, "the provider planned an invalid value: {violation}");
    }
    let paths = replace_paths(before, &planned_state, &requires_replace);
    if let Some(problem) = paths.problems.first() {
        return Err(vec![problems::invalid_plan(&text, problem)]);
    }
    let mut replace = paths.paths;
    // A write-only attribute is null on both sides, so only the provider can say whether its change requires a
    // replacement.
    let write_only = |path: &&Path| attribute_at(schema, path).is_some_and(|a| a.write_only);
    if !before.is_null() {
        replace.extend(requires_replace.iter().filter(write_only).cloned());
        replace.sort();
        replace.dedup();
    }
    Ok(Proposal { planned: planned_state, private: planned_private, replace, legacy: legacy_type_system })
}
