//! What a provider would make of a configuration, held against the rules.

use weft_evaluator::glue::DesiredInstance;
use weft_expressions::resource_rules::{attribute_at, plan_problems, proposed_new, replace_paths, without_write_only};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::marks::Marks;
use weft_graph_format::path::Path;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::{PlanRequest, PlannedChange};

use super::{Planning, Problems, without_provenance};
use crate::diagnostics::{call_failed, placed};

/// What a provider planned, held against the rules.
pub(crate) struct Proposal {
    pub(crate) planned: Value,
    pub(crate) private: Vec<u8>,
    pub(crate) replace: Vec<Path>,
    pub(crate) legacy: bool,
}

/// A configuration that a provider has no objections to.
pub(super) struct Accepted {
    /// Without its marks.
    pub(super) config: Value,
    /// The marks.
    pub(super) marks: Vec<(Path, Marks)>,
    /// As the provider takes it: without formulas and origins too.
    pub(super) plain: Value,
}

impl Planning {
    /// Asks the provider what would come of the configuration and holds its answer against the rules.
    pub(crate) async fn propose(
        &self,
        provider: &Provider,
        desired: &DesiredInstance,
        before: &Value,
        config: &Value,
        private: Vec<u8>,
    ) -> Result<Proposal, Problems> {
        let text = desired.address.to_string();
        let body = &desired.block.body;
        let schema = &desired.schema.block;
        let before = without_write_only(schema, before);
        let proposed = proposed_new(schema, &before, config);
        let request = PlanRequest {
            address: desired.address.clone(),
            type_name: desired.address.resource.type_name.clone(),
            prior_state: before.clone(),
            proposed_new_state: proposed,
            config: config.clone(),
            prior_private: private,
            provider_meta: self.meta(&desired.address, &desired.provider.source),
            prior_identity: None,
        };
        let reply =
            provider.plan_resource_change(request).await.map_err(|e| vec![call_failed(&e, Some(body), &text)])?;
        self.accept(placed(&reply.diagnostics, Some(body), &text))?;
        let PlannedChange { planned_state, requires_replace, planned_private, legacy_type_system, .. } = reply.value;
        let violations = plan_problems(schema, &before, config, &planned_state);
        if !violations.is_empty() && !legacy_type_system {
            return Err(violations
                .iter()
                .map(|v| {
                    Diagnostic::error(
                        "Provider produced invalid plan",
                        format!(
                            "The provider planned an invalid value for {text}: {v}. This is a defect of the provider."
                        ),
                    )
                    .about(text.as_str())
                    .at(desired.block.range.clone())
                })
                .collect());
        }
        for violation in violations {
            tracing::warn!(%text, "the provider planned a value that does not follow the rules: {violation}");
        }
        let paths = replace_paths(&before, &planned_state, &requires_replace);
        if let Some(problem) = paths.problems.first() {
            return Err(vec![
                Diagnostic::error(
                    "Provider produced invalid plan",
                    format!(
                        "The provider planned an invalid value for {text}: {problem}. This is a defect of the provider."
                    ),
                )
                .about(text.as_str()),
            ]);
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

    /// The configuration of an instance as its provider takes it, which has no objections.
    pub(super) async fn accepted(&self, desired: &DesiredInstance, provider: &Provider) -> Result<Accepted, Problems> {
        let text = desired.address.to_string();
        let body = Some(&desired.block.body);
        let resource = &desired.address.resource;
        let (config, marks) = desired.config.unmark_with_paths();
        let plain = without_provenance(&config);
        let said = provider
            .validate_config(resource.mode, &resource.type_name, &plain)
            .await
            .map_err(|e| vec![call_failed(&e, body, &text)])?;
        self.accept(placed(&said, body, &text))?;
        Ok(Accepted { config, marks, plain })
    }

    /// Reports what is not an error, and fails with all when something is.
    pub(crate) fn accept(&self, said: Problems) -> Result<(), Problems> {
        if has_errors(&said) {
            return Err(said);
        }
        self.report_all(said);
        Ok(())
    }
}
