//! Data sources: read now, or planned to be read at apply.

use weft_evaluator::glue::{DesiredInstance, Expansion, Failed, Glue};
use weft_expressions::resource_rules::all_unknown;
use weft_graph_format::address::{AbsResource, ResourceMode};
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK, Severity, in_one_text};
use weft_graph_format::graph::{Action, OperationId, PriorObject, Shard, StateRecord};
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};
use weft_graph_format::value::Value;

use super::changing::planned_result;
use super::proposal::Accepted;
use super::records::PendingRecord;
use super::{Planning, without_provenance};
use crate::diagnostics::{call_failed, placed};
use crate::prior::{sensitive_in, with_schema_marks};
use crate::watch::Looking;

impl Planning {
    /// Reads the data source of a check block. What goes wrong is a failure of the check, and stops nothing.
    pub(crate) async fn plan_check_data(&self, desired: DesiredInstance) -> Result<Value, Failed> {
        let check = desired.block.check.clone().unwrap_or_default();
        let module = &desired.address.module;
        let problems = match self.plan_data(&desired).await {
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
            // Whoever applies the plan looks again, and says then what is wrong.
            self.report(Diagnostic { severity: Severity::Warning, ..problem }.code(READ_FOR_CHECK));
        }
        let result =
            CheckResult { address, kind: CheckedKind::Check, status: CheckStatus::Fail, messages, again: true };
        self.checked(result);
        self.plan_unread(&desired)
    }

    /// Reads a data source, or plans to.
    pub(crate) async fn plan_data(&self, desired: &DesiredInstance) -> Result<Value, Vec<Diagnostic>> {
        self.check_meta(&desired.address, &desired.provider.source)?;
        let text = desired.address.to_string();
        let body = &desired.block.body;
        let schema = &desired.schema;
        let _type_name = &desired.address.resource.type_name;
        let in_use = self.providers.open(&desired.provider).await?;
        self.report_all(in_use.warnings.clone());
        let Accepted { config, marks: config_marks, plain } = self.accepted(desired, &in_use.provider).await?;
        // Nothing depends on when a data source goes, so state names no dependencies of it.
        let record = StateRecord { schema_version: schema.version, ..StateRecord::default() };
        let pending = self.has_pending(desired);
        // What is known counts, also where a provider of the older SDK may still change it at apply: as in OpenTofu.
        let known = config.is_wholly_known();
        if !known || pending {
            let reason = if known { Reason::ReadBecauseDependencyPending } else { Reason::ReadBecauseConfigUnknown };
            if self.options.destroy || self.options.refresh_only {
                // Nothing is read at the apply of a plan to destroy or to look; only providers could have wanted it.
                if self.options.destroy {
                    self.forget_data(desired);
                }
                return Ok(Value::unknown(schema.block.implied_type()));
            }
            let planned = all_unknown(&schema.block, &plain);
            let marks = sensitive_in(&planned, &config_marks, &schema.block);
            let after = planned.mark_paths(&marks);
            let operation = self.draft_read(desired, &after, reason, record);
            // It has a part in the plan, and triggers nothing.
            self.altered.lock().entry(desired.address.all()).or_default();
            self.note_unread(desired);
            return Ok(planned_result(&after, operation, desired.block.check.is_some()));
        }
        let began = self.watch.begin(&desired.address, Looking::ReadStarted, &Value::null(plain.ty()));
        let reply = in_use
            .provider
            .read_data_source(&desired.address, &plain, self.meta(&desired.address, &desired.provider.source).as_ref())
            .await
            .map_err(|e| vec![call_failed(&e, Some(body), &text)])?;
        self.accept(placed(&reply.diagnostics, Some(body), &text))?;
        let found = reply.value;
        let invalid = |detail: &str| {
            Err(vec![
                Diagnostic::error(
                    "Provider produced invalid object",
                    format!(
                        "The provider answered the reading of {text} with {detail}. This is a defect of the provider."
                    ),
                )
                .about(text.as_str())
                .at(desired.block.range.clone()),
            ])
        };
        if found.is_null() {
            return invalid("null");
        }
        if !found.is_wholly_known() {
            return invalid("values that are not known");
        }
        let value = found.mark_paths(&sensitive_in(&found, &config_marks, &schema.block));
        self.watch.end(&desired.address, Looking::ReadDone, &value, began);
        let noted = self.note_data(desired, &value, record.clone());
        let marked = with_schema_marks(&value, schema);
        if desired.block.check.is_some() && !self.options.destroy && !self.options.refresh_only {
            // What a check block looks at is looked at again when the plan is carried out, and may be something else then.
            let operation = self.draft_read(desired, &value, Reason::ReadBecauseCheckNested, record);
            self.builder.wait(operation, noted);
            return Ok(planned_result(&marked, operation, true));
        }
        let value = marked;
        let origin = Origin::union([desired.waits.clone(), desired.config.deep_origin()].into_iter().flatten());
        Ok(value.add_origin(origin.as_ref()))
    }

    /// What a check block could not look at is looked at when the plan is carried out, and is nothing before.
    fn plan_unread(&self, desired: &DesiredInstance) -> Result<Value, Failed> {
        if self.options.destroy {
            self.forget_data(desired);
        }
        if self.options.destroy || self.options.refresh_only {
            return Err(Failed);
        }
        let (config, marks) = desired.config.unmark_with_paths();
        let planned = all_unknown(&desired.schema.block, &without_provenance(&config));
        let marked = |value: &Value| value.mark_paths(&sensitive_in(value, &marks, &desired.schema.block));
        let record = StateRecord { schema_version: desired.schema.version, ..StateRecord::default() };
        let noted = self.note_data(desired, &marked(&planned.unknown_as_null()), record.clone());
        let operation = self.draft_read(desired, &marked(&planned), Reason::ReadBecauseCheckNested, record);
        self.builder.wait(operation, noted);
        Ok(planned_result(&with_schema_marks(&marked(&planned), &desired.schema), operation, true))
    }

    /// Drafts the reading of a data source and tells of it; `after` is what it is expected to give, with marks.
    fn draft_read(&self, desired: &DesiredInstance, after: &Value, reason: Reason, record: StateRecord) -> OperationId {
        let (planned, marks) = after.unmark_with_paths();
        let waits = [desired.waits.clone(), desired.config.deep_origin(), self.provider_origin(&desired.provider)];
        // The state of other configurations is looked for from where the plan is applied.
        let at_home = desired.provider.source.is_builtin();
        let (provider, shard) = match at_home {
            true => {
                let (instance, nothing) = (desired.provider.clone(), Value::empty_object().to_formula());
                (self.builder.open_provider_in(instance, nothing, None, Shard::Home), Shard::Home)
            }
            false => (self.opened(&desired.provider).provider, Self::shard(&desired.provider)),
        };
        let operation = self.builder.read_data(
            desired.address.clone(),
            provider,
            desired.config.unmark_deep().0.to_formula(),
            without_provenance(&planned),
            record,
            marks.into_iter().filter(|(_, m)| m.is_sensitive()).map(|(p, _)| p).collect(),
            desired.block.check.is_some(),
            shard.clone(),
            Origin::union(waits.into_iter().flatten()),
        );
        let operation = match at_home {
            true => {
                let close = self.builder.close_provider(provider, shard);
                self.builder.wait(close, Some(Origin::after(operation.id())));
                operation.id()
            }
            false => self.applied(&desired.provider, operation),
        };
        match desired.block.check.is_some() {
            true => self.ordering.lock().reads_last(operation),
            false => self.ordering.lock().reads(operation, &desired.direct),
        }
        self.changes.lock().push(ResourceChange {
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
        });
        self.claim(desired.address.to_string(), true);
        operation
    }

    /// Notes that a resource changes, when state has instances of it that nobody wants any more: what reads of it waits
    /// until they are gone.
    pub(super) fn note_surplus(&self, resource: &AbsResource, expansion: &Expansion) {
        let managed = resource.resource.mode == ResourceMode::Managed;
        if !managed || self.options.destroy || self.options.refresh_only {
            return;
        }
        let surplus = self.stored_instances(resource).find(|address| {
            expansion.keys.binary_search(&address.key).is_err() && self.options.selection.covers(address)
        });
        if let Some(address) = surplus {
            self.note_pending(&address);
        }
    }

    /// Whether something that the block names directly is going to change; where it has conditions, anything that it
    /// depends on.
    ///
    /// In a plan to destroy everything is read before anything goes: only what would have to be made is waited for.
    pub(super) fn has_pending(&self, desired: &DesiredInstance) -> bool {
        if self.options.destroy {
            let altered = self.altered.lock();
            return desired.direct.iter().any(|resource| altered.contains_key(resource));
        }
        let pending = self.pending.lock();
        if desired.direct.iter().any(|resource| pending.contains_key(resource)) {
            return true;
        }
        drop(pending);
        // Conditions are about how things are in the end, so whatever the block depends on must have come to it.
        let lifecycle = &desired.block.lifecycle;
        let conditions = !(lifecycle.preconditions.is_empty() && lifecycle.postconditions.is_empty());
        let changing = self.changing.lock();
        conditions && desired.dependencies.iter().any(|name| changing.contains(name.as_str()))
    }

    /// What is only read at apply is nothing before: whatever state has of it was read from something else.
    fn note_unread(&self, desired: &DesiredInstance) {
        if self.stored(&desired.address).is_none() {
            return;
        }
        self.refreshed.lock().insert(desired.address.clone(), crate::prior::Prior::gone());
    }

    /// A plan to destroy takes what was read out of state.
    fn forget_data(&self, desired: &DesiredInstance) {
        if self.stored(&desired.address).is_some() {
            let gone = PendingRecord::new(desired.address.clone(), None, desired.provider.clone());
            self.records.lock().push(gone);
        }
    }

    /// State keeps what was read. Gives what has to happen before it is read again.
    fn note_data(&self, desired: &DesiredInstance, value: &Value, record: StateRecord) -> Option<Origin> {
        let object = PriorObject {
            value: without_provenance(value),
            private: Vec::new(),
            tainted: false,
            revision: self.stored(&desired.address).map_or(0, |s| s.revision.0),
            record: record.clone(),
        };
        let prior = crate::prior::Prior {
            stored: object.value.clone(),
            value: object.value.clone(),
            private: Vec::new(),
            tainted: false,
            lacks_marks: false,
            record,
        };
        let address = desired.address.clone();
        self.refreshed.lock().insert(address.clone(), prior);
        self.read.lock().insert(address.clone(), desired.provider.clone());
        let stored = self.stored(&address);
        if self.options.destroy {
            self.forget_data(desired);
        } else if !stored.is_some_and(|stored| is_stored(stored, &object, desired)) {
            let record = PendingRecord::new(address, Some(object), desired.provider.clone());
            if desired.block.check.is_none() || self.options.refresh_only {
                self.records.lock().push(record);
            } else {
                // Apply reads it again, if it comes to that.
                return Some(Origin::after(self.draft_record(record)));
            }
        }
        None
    }
}

/// Whether state has what was read already.
fn is_stored(stored: &weft_state::StoredInstance, read: &PriorObject, desired: &DesiredInstance) -> bool {
    let Some(object) = &stored.record.current else { return false };
    let known = json::decode(object.attributes.as_str().as_bytes(), &desired.schema.block.implied_type());
    let sensitive = read.value.unmark_with_paths().1.iter().filter(|(_, marks)| marks.is_sensitive()).count();
    stored.record.provider == desired.provider.to_string()
        && object.schema_version == read.record.schema_version
        && object.sensitive_paths.len() == sensitive
        && object.dependencies.is_empty()
        && known.is_ok_and(|known| known.same_unmarked(&read.value))
}
