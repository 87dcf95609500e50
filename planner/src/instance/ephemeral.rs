//! Ephemeral resources: opened now if possible, and opened again at apply where they are needed.
//!
//! The plan stores only the configurations of ephemeral objects. If something reads a part of an object, the reader
//! uses the result of `open_ephemeral` at apply, even if the part is known now.

use std::sync::Arc;

use weft_evaluator::glue::DesiredInstance;
use weft_expressions::resource_rules::{all_unknown, opened_problem};
use weft_graph_format::diagnostic::has_errors;
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::OperationId;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::value::Value;
use weft_providers::Provider;

use super::problems;
use crate::agenda::planned::Opening;
use crate::ask::{Accepted, Ask};
use crate::diagnostics::{call_failed, placed};
use crate::planner::Planner;
use crate::prior::sensitive_in;
use crate::problems::Problems;
use crate::progress::ProgressStep;
use crate::providers::OpenedHere;

impl Planner {
    /// Plans to open an ephemeral resource at apply. Also opens it now, unless a part of its configuration is unknown
    /// or a dependency is about to change.
    pub(crate) async fn plan_ephemeral(&self, desired: &DesiredInstance) -> Result<Value, Problems> {
        let schema = &desired.schema;
        let in_use = self.ask.open(&desired.provider).await?;
        let Accepted { config, marks, plain } = self.ask.accepted(desired, &in_use.provider).await?;
        let operation = self.take_opening(desired);
        let finish = |value: &Value| {
            let value = value.mark_paths(&sensitive_in(value, &marks, &schema.block));
            let result = Formula::result(operation, Path::ROOT, value.ty());
            let value = weft_expressions::symbolic::replace_formulas(&value, &result);
            value.add_origin(Some(&Origin::after(operation)))
        };
        let pending = self.waits_for_others(desired);
        if !config.is_wholly_known() || pending {
            return Ok(finish(&all_unknown(&schema.block, &plain)));
        }
        Ok(finish(&self.ask.open_ephemeral(desired, &plain, &in_use.provider).await?))
    }

    /// Plans to open an ephemeral resource at apply.
    fn take_opening(&self, desired: &DesiredInstance) -> OperationId {
        let waits = [desired.waits.clone(), desired.checked.clone(), desired.config.deep_origin()];
        let mut agenda = self.agenda();
        agenda.reserve_provider(&desired.provider);
        let result = agenda.reserve();
        agenda.openings.push(Opening {
            result,
            address: desired.address.clone(),
            provider: desired.provider.clone(),
            config: desired.config.unmark_deep().0.to_formula(),
            waits: Origin::union(waits.into_iter().flatten()),
        });
        result
    }
}

impl Ask {
    /// Opens an ephemeral object and keeps it open until planning ends.
    async fn open_ephemeral(
        &self,
        desired: &DesiredInstance,
        plain: &Value,
        provider: &Provider,
    ) -> Result<Value, Problems> {
        let text = desired.address.to_string();
        let places = Some(&desired.block.places);
        let nothing = Value::null(plain.ty());
        let began = self.progress.begin(&desired.address, ProgressStep::OpenStarted, &nothing);
        let reply = provider
            .open_ephemeral(&desired.address.resource.type_name, plain)
            .await
            .map_err(|e| vec![call_failed(&e, places, &text)])?;
        let opened = reply.value;
        let said = placed(&reply.diagnostics, places, &text);
        if !has_errors(&said) {
            let here = OpenedHere {
                address: desired.address.clone(),
                provider: desired.provider.clone(),
                range: desired.block.range.clone(),
                progress: self.progress.clone(),
            };
            Arc::clone(&self.providers).keep_open(here, &opened);
        }
        self.report.accept(said)?;
        self.progress.end(&desired.address, ProgressStep::OpenDone, &nothing, began);
        let found = opened.result.unmark_deep().0;
        if let Some(what) = opened_problem(&desired.schema.block, plain, &found) {
            return Err(vec![problems::read_invalid(desired, &what.to_string())]);
        }
        Ok(found)
    }
}
