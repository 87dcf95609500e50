//! Ephemeral resources: opened now where that can be, and in any case again by whoever applies the plan and needs them.
//!
//! Nothing of them is in the plan but how they are configured: a part of one that something reads is the result of its
//! `open_ephemeral`, whether it is known now or not.

use std::sync::Arc;

use weft_evaluator::glue::DesiredInstance;
use weft_expressions::resource_rules::{all_unknown, opened_problem};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::OperationId;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::value::Value;

use super::proposal::Accepted;
use super::{Planning, Problems};
use crate::diagnostics::{call_failed, placed};
use crate::prior::sensitive_in;
use crate::providers::OpenedHere;
use crate::watch::Looking;

impl Planning {
    /// Opens an ephemeral resource, or leaves that to apply: where its configuration is not known yet, or something
    /// that it names is still to be changed.
    pub(crate) async fn plan_ephemeral(&self, desired: &DesiredInstance) -> Result<Value, Problems> {
        let text = desired.address.to_string();
        let body = &desired.block.body;
        let schema = &desired.schema;
        let type_name = &desired.address.resource.type_name;
        let in_use = self.providers.open(&desired.provider).await?;
        self.report_all(in_use.warnings.clone());
        let Accepted { config, marks: config_marks, plain } = self.accepted(desired, &in_use.provider).await?;
        let operation = self.draft_open(desired);
        let finish = |value: &Value| {
            let value = value.mark_paths(&sensitive_in(value, &config_marks, &schema.block));
            let result = Formula::result(operation, Path::ROOT, value.ty());
            let value = weft_expressions::symbolic::replace_formulas(&value, &result);
            value.add_origin(Some(&Origin::after(operation)))
        };
        let pending = self.has_pending(desired);
        if !config.is_wholly_known() || pending {
            return Ok(finish(&all_unknown(&schema.block, &plain)));
        }
        let nothing = Value::null(plain.ty());
        let began = self.watch.begin(&desired.address, Looking::OpenStarted, &nothing);
        let reply = in_use
            .provider
            .open_ephemeral(type_name, &plain)
            .await
            .map_err(|e| vec![call_failed(&e, Some(body), &text)])?;
        let opened = reply.value;
        let said = placed(&reply.diagnostics, Some(body), &text);
        if !weft_graph_format::diagnostic::has_errors(&said) {
            let here = OpenedHere {
                address: desired.address.clone(),
                provider: desired.provider.clone(),
                range: desired.block.range.clone(),
                watch: self.watch.clone(),
            };
            Arc::clone(&self.providers).keep_open(here, &opened);
        }
        self.accept(said)?;
        self.watch.end(&desired.address, Looking::OpenDone, &nothing, began);
        let found = opened.result.unmark_deep().0;
        if let Some(what) = opened_problem(&schema.block, &plain, &found) {
            let detail =
                format!("The provider answered the opening of {text} with {what}. This is a defect of the provider.");
            let problem = Diagnostic::error("Provider produced invalid object", detail);
            return Err(vec![problem.about(text.as_str()).at(desired.block.range.clone())]);
        }
        Ok(finish(&found))
    }

    fn draft_open(&self, desired: &DesiredInstance) -> OperationId {
        let waits = [desired.waits.clone(), desired.config.deep_origin(), self.provider_origin(&desired.provider)];
        let operation = self.builder.open_ephemeral(
            desired.address.clone(),
            self.opened(&desired.provider).provider,
            desired.config.unmark_deep().0.to_formula(),
            Origin::union(waits.into_iter().flatten()),
        );
        operation.id()
    }
}
