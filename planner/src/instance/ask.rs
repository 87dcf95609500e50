//! What planning asks of providers, one instance at a time.

use std::sync::Arc;

use weft_evaluator::glue::DesiredInstance;
use weft_expressions::resource_rules::{attribute_at, plan_problems, proposed_new, replace_paths, without_write_only};
use weft_graph_format::address::{InstanceKey, ProviderInstance, ProviderSource, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::marks::Marks;
use weft_graph_format::path::Path;
use weft_graph_format::schema::Schema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::{PlanRequest, PlannedChange};
use weft_state::InstanceObject;

use super::Problems;
use super::prior::{Prior, Reading, read_prior, without_provenance};
use crate::diagnostics::{call_failed, placed};
use crate::provider_meta::ProviderMetas;
use crate::providers::{InUse, ProviderSet};
use crate::report::Report;
use crate::watch::Watch;

/// What planning needs to ask providers.
pub(crate) struct Ask {
    pub(crate) providers: Arc<ProviderSet>,
    /// What modules tell their providers of themselves.
    pub(crate) metas: ProviderMetas,
    pub(crate) watch: Watch,
    /// Real objects are read.
    pub(crate) refresh: bool,
    pub(crate) report: Arc<Report>,
}

/// What a provider plans from: the object before, the configuration, and its own data.
#[derive(Clone, Debug)]
pub(crate) struct ProposalInput {
    pub(crate) before: Value,
    pub(crate) config: Value,
    pub(crate) private: Vec<u8>,
}

/// What a provider planned, held against the rules.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) planned: Value,
    pub(crate) private: Vec<u8>,
    pub(crate) replace: Vec<Path>,
    pub(crate) legacy: bool,
}

/// A configuration that a provider has no objections to.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// Without its marks.
    pub(crate) config: Value,
    /// The marks.
    pub(crate) marks: Vec<(Path, Marks)>,
    /// As the provider takes it: without formulas and origins too.
    pub(crate) plain: Value,
}

impl Ask {
    /// The configured provider, started when it does not run. Its warnings are reported.
    pub(crate) async fn open(&self, instance: &ProviderInstance) -> Result<InUse<'_>, Problems> {
        let in_use = self.providers.open(instance).await?;
        self.report.add(in_use.warnings.clone());
        Ok(in_use)
    }

    /// Takes note of the empty configuration that stands for a provider of the root module without a block, when
    /// nothing but state needs it. `declared` says whether the configuration has the provider.
    ///
    /// # Errors
    /// A provider that does not say what it has.
    pub(crate) async fn stand_in(&self, instance: &ProviderInstance, declared: bool) -> Result<(), Problems> {
        let plain = instance.module.is_root() && instance.alias.is_none() && instance.key == InstanceKey::None;
        if !plain || !declared || self.providers.registered(instance).is_some() {
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

    /// What the module of an instance tells the instance's provider of itself.
    pub(crate) fn meta(&self, address: &ResourceInstance, provider: &ProviderSource) -> Option<Value> {
        self.metas.value(&address.module, provider)
    }

    /// A stored object, and with `refresh` the real one.
    pub(crate) async fn read(
        &self,
        address: &ResourceInstance,
        object: &InstanceObject,
        schema: &Schema,
        through: (&ProviderInstance, &Provider),
        refresh: bool,
    ) -> Result<Prior, Problems> {
        let (instance, provider) = through;
        let meta = self.meta(address, &instance.source);
        let reading = Reading { provider, refresh, meta, watch: &self.watch };
        let (prior, said) = read_prior(address, object, schema, reading).await?;
        self.report.add(said);
        Ok(prior)
    }

    /// The configuration of an instance as its provider takes it, which has no objections.
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
        self.report.accept(placed(&said, places, &text))?;
        Ok(Accepted { config, marks, plain })
    }

    /// Asks the provider what would come of the configuration and holds its answer against the rules.
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
        self.report.accept(placed(&reply.diagnostics, places, &text))?;
        checked(desired, &before, &config, reply.value)
    }

    /// The provider's own data for a delete, which it is asked about where it wants to be.
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
        // Empty data stands for that of the object.
        Ok(if private.is_empty() { prior.private.clone() } else { private })
    }
}

/// What a provider planned, where it follows the rules.
fn checked(
    desired: &DesiredInstance,
    before: &Value,
    config: &Value,
    answer: PlannedChange,
) -> Result<Proposal, Problems> {
    let text = desired.address.to_string();
    let schema = &desired.schema.block;
    let PlannedChange { planned_state, requires_replace, planned_private, legacy_type_system, .. } = answer;
    let invalid = |what: &str| {
        let detail =
            format!("The provider planned an invalid value for {text}: {what}. This is a defect of the provider.");
        Diagnostic::error("Provider produced invalid plan", detail).about(text.as_str())
    };
    let violations = plan_problems(schema, before, config, &planned_state);
    if !violations.is_empty() && !legacy_type_system {
        let found = violations.iter().map(|violation| invalid(&violation.to_string()).at(desired.block.range.clone()));
        return Err(found.collect());
    }
    for violation in violations {
        tracing::warn!(%text, "the provider planned a value that does not follow the rules: {violation}");
    }
    let paths = replace_paths(before, &planned_state, &requires_replace);
    if let Some(problem) = paths.problems.first() {
        return Err(vec![invalid(&problem.to_string())]);
    }
    let mut replace = paths.paths;
    // A write-only attribute is null on both sides, so the provider's word is all there is.
    let write_only = |path: &&Path| attribute_at(schema, path).is_some_and(|a| a.write_only);
    if !before.is_null() {
        replace.extend(requires_replace.iter().filter(write_only).cloned());
        replace.sort();
        replace.dedup();
    }
    Ok(Proposal { planned: planned_state, private: planned_private, replace, legacy: legacy_type_system })
}
