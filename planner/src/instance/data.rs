//! Data sources: read now, or planned to be read at apply.

use weft_evaluator::glue::{DesiredInstance, Failed};
use weft_evaluator::purpose::Planning;
use weft_expressions::resource_rules::all_unknown;
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::checked::CheckedAddress;
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK, Severity, in_one_text};
use weft_graph_format::graph::{Action, OperationId, PriorObject, StateRecord};
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_state::StoredInstance;

use super::decide::{placed as placed_formula, planned_result};
use super::problems;
use crate::agenda::planned::{PlannedStep, Read, Record};
use crate::ask::{Accepted, Ask};
use crate::diagnostics::{call_failed, placed};
use crate::planner::Planner;
use crate::prior::{Prior, sensitive_in, settled_sensitive, with_schema_marks, without_provenance};
use crate::problems::Problems;
use crate::progress::ProgressStep;

impl Planner {
    /// Reads the data source of a check block. A failure fails the check and does not stop the plan.
    pub(crate) async fn plan_check_data(&self, desired: &DesiredInstance, check: &str) -> Result<Value, Failed> {
        let module = &desired.address.module;
        if let Err(problems) = self.ask.providers.open(&desired.provider).await {
            // A provider that cannot be used is an error of the plan, not a failure of the check.
            self.report.add(problems);
            return Err(Failed);
        }
        let problems = match self.plan_data(desired).await {
            Ok(value) => return Ok(value),
            Err(problems) => problems,
        };
        let messages = vec![in_one_text(&problems)];
        let name = format!("check.{check}");
        let address = if module.is_root() { name } else { format!("{module}.{name}") };
        for mut problem in problems {
            if problem.is_error() {
                problem = problem.checking(&address);
            }
            // Apply reads the data source again, and reports the problem if it persists.
            let warning = Diagnostic { severity: Severity::Warning, ..problem }.code(READ_FOR_CHECK);
            self.report.evaluated(warning);
        }
        let address = CheckedAddress::read(&address);
        let result =
            CheckResult { address, kind: CheckedKind::Check, status: CheckStatus::Fail, messages, again: true };
        self.note_check(result);
        self.plan_unread(desired)
    }

    /// Reads a data source, or plans a read at apply.
    pub(crate) async fn plan_data(&self, desired: &DesiredInstance) -> Result<Value, Problems> {
        if self.facts.destroys_unread()
            && let Some(stored) = self.stored_data(desired)?
        {
            return Ok(stored);
        }
        self.ask.metas.check(&desired.address.module, &desired.provider.source)?;
        let (schema, rules) = (&desired.schema, self.facts.rules);
        let for_check = desired.block.check.is_some();
        let in_use = self.ask.open(&desired.provider).await?;
        let accepted = self.ask.accepted(desired, &in_use.provider).await?;
        let pending = self.waits_for_others(desired);
        // A value counts as known even if a provider of the older SDK may still change it at apply, as in OpenTofu.
        let known = accepted.config.is_wholly_known();
        if !known || pending {
            let planned = all_unknown(&schema.block, &accepted.plain);
            let after = planned.mark_paths(&sensitive_in(&planned, &accepted.marks, &schema.block));
            if !rules.makes_objects {
                return Ok(self.never_read(desired, after));
            }
            let reason = if known { Reason::ReadBecauseDependencyPending } else { Reason::ReadBecauseConfigUnknown };
            let operation = self.take_read(desired, &after, reason, self.left_before_read(desired));
            self.note_unread(desired);
            return Ok(planned_result(&after, operation, for_check));
        }
        let value = self.ask.read_data(desired, &accepted, &in_use.provider).await?;
        let first = self.note_data(desired, &value);
        let marked = with_schema_marks(&value, schema);
        if for_check && rules.makes_objects {
            // Apply reads the data source of a check block again, since its value may have changed.
            let operation = self.take_read(desired, &value, Reason::ReadBecauseCheckNested, first);
            return Ok(planned_result(&marked, operation, true));
        }
        let origin = Origin::union(
            [desired.waits.clone(), desired.checked.clone(), desired.config.deep_origin()].into_iter().flatten(),
        );
        Ok(marked.add_origin(origin.as_ref()))
    }

    /// The stored value of a data source, for a destroy that reads nothing.
    fn stored_data(&self, desired: &DesiredInstance) -> Result<Option<Value>, Problems> {
        let stored = self.facts.stored_value(&desired.address, &desired.schema).map_err(|problem| vec![problem])?;
        if stored.is_some() && self.facts.covers_to_go(&desired.address) {
            self.forget_data(desired);
        }
        Ok(stored)
    }

    /// Plans a read at apply for a data source of a check block, if this data source could not be read now. Until that
    /// read, the state has null for the unknown attributes. A refresh-only plan has no such read.
    fn plan_unread(&self, desired: &DesiredInstance) -> Result<Value, Failed> {
        self.forget_data(desired);
        if self.facts.rules.empties_state {
            return Err(Failed);
        }
        let (config, marks) = desired.config.unmark_with_paths();
        let planned = all_unknown(&desired.schema.block, &without_provenance(&config));
        let marked = |value: &Value| value.mark_paths(&sensitive_in(value, &marks, &desired.schema.block));
        let first = self.note_data(desired, &marked(&planned.unknown_as_null()));
        if !self.facts.rules.makes_objects {
            return Err(Failed);
        }
        let operation = self.take_read(desired, &marked(&planned), Reason::ReadBecauseCheckNested, first);
        Ok(planned_result(&with_schema_marks(&marked(&planned), &desired.schema), operation, true))
    }

    /// Plans a read at apply. `after` is the expected value, with marks. `first` is a record that is stored before the
    /// read.
    fn take_read(
        &self,
        desired: &DesiredInstance,
        after: &Value,
        reason: Reason,
        first: Option<Record>,
    ) -> OperationId {
        let (planned, marks) = after.unmark_with_paths();
        let waits = [desired.waits.clone(), desired.checked.clone(), desired.config.deep_origin()];
        let read = Read {
            config: placed_formula(desired.config.unmark_deep().0.to_formula(), &desired.block.places),
            waits: Origin::union(waits.into_iter().flatten()),
            planned: without_provenance(&planned),
            record: record(desired),
            sensitive: settled_sensitive(marks, &desired.config),
            for_check: desired.block.check.is_some(),
            names: desired.direct.clone(),
            first,
        };
        let change = ResourceChange {
            address: desired.address.clone(),
            previous_address: None,
            deposed: None,
            provider: desired.provider.clone(),
            action: ChangeAction::Only(Action::Read),
            reason,
            before: Value::null(after.ty()),
            after: without_provenance(after),
            replace_paths: Vec::new(),
            importing: None,
            before_record: None,
            schema_version: desired.schema.version,
        };
        let mut agenda = self.agenda();
        if reason != Reason::ReadBecauseCheckNested {
            // The resource is part of the plan, but does not trigger replacements.
            agenda.effects.takes_part(desired.address.all());
        }
        agenda.take_step(change, PlannedStep::Read(Box::new(read)))
    }

    /// Records that a data source is null until apply reads it: its stored value came from another configuration.
    fn note_unread(&self, desired: &DesiredInstance) {
        if self.facts.state.get(&desired.address).is_some() {
            self.found().refreshed.insert(desired.address.clone(), Prior::gone());
        }
    }

    /// The record that removes a stored value from the state before apply reads the data source. The value is removed
    /// because it came from another configuration. If the read fails or is never reached, the state has no value.
    fn left_before_read(&self, desired: &DesiredInstance) -> Option<Record> {
        self.facts.state.get(&desired.address)?;
        Some(Record { address: desired.address.clone(), object: None, provider: desired.provider.clone() })
    }

    /// Handles a data source that neither the plan nor its apply reads: removes it from the state. Returns an unknown
    /// value. A destroy that refreshes begins with the normal plan, so it returns `planned`, which contains the known
    /// arguments.
    fn never_read(&self, desired: &DesiredInstance, planned: Value) -> Value {
        self.forget_data(desired);
        if self.facts.begins_with_found() {
            self.note_unread(desired);
            return planned;
        }
        if self.kind().planning() == Planning::RefreshOnly {
            if self.facts.state.get(&desired.address).is_some() {
                self.note_record(&desired.address, None, &desired.provider);
            }
            self.found().refreshed.insert(desired.address.clone(), Prior::gone());
        }
        Value::unknown(desired.schema.block.implied_type())
    }

    /// Removes a read data source from the state, if the kind of plan requires that.
    fn forget_data(&self, desired: &DesiredInstance) {
        if self.facts.rules.empties_state && self.facts.state.get(&desired.address).is_some() {
            self.note_record(&desired.address, None, &desired.provider);
        }
    }

    /// Records a data source with this value, so that it is stored in the state. Usually adds the record to the agenda
    /// and returns `None`. If apply reads the data source for a check block, returns the record instead, because it
    /// must be stored before that read. Returns `None` if the state already has the record.
    fn note_data(&self, desired: &DesiredInstance, value: &Value) -> Option<Record> {
        let address = &desired.address;
        let bare = without_provenance(value);
        let prior = Prior { stored: bare.clone(), value: bare, record: record(desired), ..Prior::gone() };
        let object = self.facts.object(address, &prior);
        {
            let mut found = self.found();
            found.refreshed.insert(address.clone(), prior);
            found.read.insert(address.clone(), desired.provider.clone());
        }
        // A destroy plan with targets keeps the data sources outside the selection.
        if self.facts.rules.empties_state && self.facts.covers_to_go(address) {
            self.forget_data(desired);
            return None;
        }
        let stored = self.facts.state.get(address);
        let same_provider = stored.is_some_and(|stored| stored.provider().is_ok_and(|p| *p == desired.provider));
        if same_provider && stored.is_some_and(|stored| is_stored(stored.instance, &object, desired)) {
            return None;
        }
        let record = Record { address: address.clone(), object: Some(object), provider: desired.provider.clone() };
        if desired.block.check.is_some() && self.facts.rules.makes_objects {
            return Some(record);
        }
        self.agenda().records.push(record);
        None
    }
}

impl Ask {
    /// Reads a data source now.
    async fn read_data(
        &self,
        desired: &DesiredInstance,
        accepted: &Accepted,
        provider: &Provider,
    ) -> Result<Value, Problems> {
        let text = desired.address.to_string();
        let places = Some(&desired.block.places);
        let plain = &accepted.plain;
        self.providers.may_read(&desired.provider).await?;
        let began = self.progress.begin(&desired.address, ProgressStep::ReadStarted, &Value::null(plain.ty()));
        let meta = self.meta(&desired.address, &desired.provider.source);
        let reply = provider
            .read_data_source(&desired.address, plain, meta.as_ref())
            .await
            .map_err(|e| vec![call_failed(&e, places, &text)])?;
        self.report.accept_evaluated(placed(&reply.diagnostics, places, &text))?;
        let found = reply.value;
        let invalid = |what: &str| Err(vec![problems::read_invalid(desired, what)]);
        if found.is_null() {
            return invalid("null");
        }
        if !found.is_wholly_known() {
            return invalid("values that are not known");
        }
        let value = found.mark_paths(&sensitive_in(&found, &accepted.marks, &desired.schema.block));
        self.progress.end(&desired.address, ProgressStep::ReadDone, &value, began);
        Ok(value)
    }
}

/// The record of a data source. The record has no dependencies, because nothing waits for the removal of a data source.
fn record(desired: &DesiredInstance) -> StateRecord {
    StateRecord { schema_version: desired.schema.version, ..StateRecord::default() }
}

/// Whether the state already has the value.
fn is_stored(stored: &StoredInstance, read: &PriorObject, desired: &DesiredInstance) -> bool {
    let Some(object) = &stored.record.current else { return false };
    let known = json::decode(object.attributes.as_str().as_bytes(), &desired.schema.block.implied_type());
    let sensitive = read.value.unmark_with_paths().1.iter().filter(|(_, marks)| marks.is_sensitive()).count();
    object.schema_version == read.record.schema_version
        && object.sensitive_paths.len() == sensitive
        && object.dependencies.is_empty()
        && known.is_ok_and(|known| known.same_unmarked(&read.value))
}
