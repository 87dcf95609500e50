//! A change of one object: the operations of an `apply`, and all preparations before its call.

use std::sync::Arc;

use weft_expressions::resource_rules::{RuleProblem, result_problems};
use weft_graph_format::address::{DeposedKey, ResourceInstance};
use weft_graph_format::codec::EncodeError;
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{FormulaIndex, Operation, OperationId, PlannedObject, PriorObject, StateRecord};
use weft_graph_format::path::Path;
use weft_graph_format::stored::InstanceObject;
use weft_graph_format::value::Value;
use weft_protocol::{ObjectChange, ObjectWrite, TaskWrites};
use weft_providers::Provider;
use weft_providers::call::{ImportTarget, ObjectState, ReadRequest};

use crate::arguments::of_arguments;
use crate::host::Host;
use crate::problems::reasons::{MissingPart, Unclear};
use crate::problems::{damaged, no_schema};
use crate::resource::{ResourceType, marked, settle_unknowns};
use crate::shard::Shard;
use crate::shard::provider::ProviderSlot;
use crate::subject::{DiagnosticSubject, Problems, has_errors};

/// The summary of the error when an imported object does not exist.
const NO_SUCH_OBJECT: &str = "Cannot import non-existent remote object";

/// An `apply` with the operations that belong to it.
pub(crate) struct Change<'s> {
    pub(crate) address: &'s ResourceInstance,
    /// The address as text.
    pub(crate) text: String,
    pub(crate) deposed: Option<&'s DeposedKey>,
    pub(crate) slot: &'s ProviderSlot,
    pub(crate) kind: Arc<ResourceType>,
    pub(crate) planned: &'s PlannedObject,
    prior: Option<&'s PriorObject>,
    config: Option<FormulaIndex>,
    formula: Option<&'s Formula>,
    /// The key of the deposed object that the new object replaces.
    pub(crate) replaces: Option<&'s DeposedKey>,
    /// The `provider_meta` of the module.
    pub(crate) meta: Option<&'s Value>,
}

/// The configuration of a change; null for a delete. Without marks.
pub(crate) struct Configuration {
    value: Value,
    /// The sensitive paths of the configuration.
    sensitive: Vec<Path>,
}

/// The input of a change.
pub(crate) struct Begun {
    pub(crate) provider: Arc<Provider>,
    /// The current object; null for a create. Without marks.
    pub(crate) prior: Value,
    pub(crate) prior_private: Vec<u8>,
    pub(crate) prior_identity: Option<Value>,
    /// The configuration; null for a delete. Without marks.
    pub(crate) config: Value,
    /// Sensitive paths of the configuration.
    config_sensitive: Vec<Path>,
    pub(crate) warnings: Problems,
}

/// The result of reading a real object.
pub(crate) enum Seen {
    /// The object exists.
    Object(Box<ObjectState>),
    /// The object does not exist.
    Nothing,
    /// It is unknown whether the object exists.
    Unclear(Unclear),
}

impl<'s> Change<'s> {
    /// The change that an operation of a shard makes.
    ///
    /// # Errors
    /// Returns an error if the plan is damaged.
    pub(crate) fn of(shard: &'s Shard, id: OperationId) -> Result<Change<'s>, Problems> {
        let missing = |what| vec![damaged(id, what)];
        let Some(Operation::Apply { address, deposed, plan }) = shard.operation(id) else {
            return Err(missing("address"));
        };
        let Some(Operation::FinalPlan { provider, prior, desired, planned, .. }) = shard.operation(*plan) else {
            return Err(missing("final plan"));
        };
        let slot = shard.provider(*provider).ok_or_else(|| missing("provider"))?;
        let prior = prior.map(|prior| shard.prior(prior).ok_or_else(|| missing("prior state"))).transpose()?;
        let desired = desired.map(|desired| shard.desired(desired).ok_or_else(|| missing("configuration")));
        let config = desired.transpose()?;
        let text = address.to_string();
        let Some(kind) = shard.resource_type(&slot.instance.source, address) else {
            let subject = DiagnosticSubject { address: &text, config: None };
            return Err(vec![no_schema(&subject, &address.resource.type_name)]);
        };
        let creates = prior.is_none() && deposed.is_none();
        Ok(Change {
            address,
            text,
            deposed: deposed.as_ref(),
            slot,
            kind,
            planned,
            prior,
            config,
            formula: config.and_then(|index| shard.formula(index)),
            replaces: if creates { shard.deposed_before(address, id) } else { None },
            meta: shard.provider_meta(address, &slot.instance.source),
        })
    }

    /// The subject for diagnostics.
    pub(crate) fn subject(&self) -> DiagnosticSubject<'_> {
        DiagnosticSubject { address: &self.text, config: self.formula }
    }

    /// Whether the prior object is tainted.
    pub(crate) fn was_tainted(&self) -> bool {
        self.prior.is_some_and(|prior| prior.tainted)
    }

    /// The record in the state before the change.
    pub(crate) fn prior_record(&self) -> &StateRecord {
        self.prior.map_or(&self.planned.record, |prior| &prior.record)
    }

    /// The record of an object that the final plan does not change. It keeps the dependencies of the prior record,
    /// unless the sensitive marks change: only a change replaces the dependencies.
    pub(crate) fn kept_record(&self) -> StateRecord {
        let marks = |value: &Value| value.unmark_with_paths().1;
        if self.prior.is_some_and(|prior| marks(&prior.value) != marks(&self.planned.value)) {
            return self.planned.record.clone();
        }
        StateRecord { dependencies: self.prior_record().dependencies.clone(), ..self.planned.record.clone() }
    }

    /// Evaluates the configuration, then opens the provider.
    pub(crate) async fn begin(&self, shard: &Arc<Shard>, host: &Arc<Host>) -> Result<Begun, Problems> {
        let config = self.configuration(shard, host).await?;
        self.begun(shard, host, config).await
    }

    /// Evaluates the configuration.
    pub(crate) async fn configuration(&self, shard: &Arc<Shard>, host: &Arc<Host>) -> Result<Configuration, Problems> {
        let Some(index) = self.config else {
            return Ok(Configuration { value: self.kind.null(), sensitive: Vec::new() });
        };
        let found = shard.evaluate(host, index, &self.text).await;
        let (value, marks) =
            found.map_err(|problems| of_arguments(self.formula, Some(&self.kind.block), problems))?.unmark_with_paths();
        let sensitive = marks.into_iter().filter(|(_, m)| m.is_sensitive()).map(|(path, _)| path).collect();
        Ok(Configuration { value, sensitive })
    }

    /// Opens the provider. The caller must not hold another provider: two callers that each hold one could wait for
    /// each other forever.
    pub(crate) async fn begun(
        &self,
        shard: &Arc<Shard>,
        host: &Arc<Host>,
        config: Configuration,
    ) -> Result<Begun, Problems> {
        let opened = self.slot.acquire(shard, host).await?;
        Ok(Begun {
            provider: opened.provider,
            prior: self.prior.map_or_else(|| self.kind.null(), |prior| prior.value.unmark_deep().0),
            prior_private: self.prior.map(|prior| prior.private.clone()).unwrap_or_default(),
            prior_identity: self.prior.and_then(|prior| self.kind.identity_of(&prior.record)),
            config: config.value,
            config_sensitive: config.sensitive,
            warnings: opened.warnings,
        })
    }

    /// The sensitive paths of an object of this change.
    pub(crate) fn sensitive(&self, object: &Value, begun: &Begun) -> Vec<Path> {
        self.kind.sensitive_paths(object, self.planned.sensitive.iter().chain(&begun.config_sensitive))
    }

    /// Reports how an object contradicts a plan. The messages contain no sensitive values.
    pub(crate) fn contradictions(&self, planned: &Value, object: &Value, begun: &Begun) -> Vec<RuleProblem> {
        let found = result_problems(&self.kind.block, planned, object);
        if found.is_empty() {
            return found;
        }
        let hidden =
            self.sensitive(planned, begun).into_iter().chain(self.sensitive(object, begun)).collect::<Vec<_>>();
        let (planned, object) = (marked(planned, &hidden), marked(object, &hidden));
        let told = result_problems(&self.kind.block, &planned, &object);
        if told.is_empty() {
            return found
                .into_iter()
                .map(|problem| RuleProblem {
                    message: String::from("the value differs from the planned value"),
                    ..problem
                })
                .collect();
        }
        told
    }

    /// The object in the form of the state, after this change.
    ///
    /// # Errors
    /// Returns the reason why the object cannot be encoded.
    pub(crate) fn stored(
        &self,
        object: &ObjectState,
        begun: &Begun,
        record: &StateRecord,
        tainted: bool,
    ) -> Result<Box<InstanceObject>, EncodeError> {
        let (value, _) = settle_unknowns(&object.state.unmark_deep().0);
        let sensitive = self.sensitive(&value, begun);
        self.kind
            .stored(&value, sensitive, object.private.clone(), record, tainted, object.identity.as_ref())
            .map(Box::new)
    }

    /// A write that makes this change to the object in the state.
    pub(crate) fn write(&self, change: ObjectChange) -> ObjectWrite {
        ObjectWrite {
            address: self.address.clone(),
            provider: self.slot.text.clone(),
            deposed: self.deposed.cloned(),
            change,
        }
    }

    /// The writes that store a new object in the state. If `again` is set, an earlier attempt may have restored the
    /// replaced object as the current object, so the replaced object is first deposed.
    pub(crate) fn put(&self, object: Box<InstanceObject>, again: bool) -> TaskWrites {
        let aside = self.replaces.filter(|_| again).map(|key| self.write(ObjectChange::DeposeAs(key.clone())));
        let objects = aside.into_iter().chain([self.write(ObjectChange::Put(object))]).collect();
        TaskWrites { objects, outputs: Vec::new() }
    }

    /// The writes after a create that created nothing: the deposed object becomes the current object again.
    pub(crate) fn restored(&self) -> TaskWrites {
        let restore = self
            .replaces
            .map(|key| ObjectWrite { provider: String::new(), ..self.write(ObjectChange::RestoreFrom(key.clone())) });
        TaskWrites { objects: restore.into_iter().collect(), outputs: Vec::new() }
    }

    /// Reads the current object.
    pub(crate) async fn look(&self, begun: &mut Begun) -> Seen {
        let known = ObjectState {
            state: begun.prior.clone(),
            private: begun.prior_private.clone(),
            identity: begun.prior_identity.clone(),
        };
        self.read(begun, known).await
    }

    async fn read(&self, begun: &mut Begun, known: ObjectState) -> Seen {
        let request = ReadRequest {
            address: self.address.clone(),
            type_name: self.kind.name.clone(),
            current_state: known.state,
            private: known.private,
            provider_meta: self.meta.cloned(),
            identity: known.identity,
        };
        match begun.provider.read_resource(request).await {
            Err(error) => Seen::Unclear(Unclear::Call(error)),
            Ok(reply) => {
                let said = self.subject().said(&reply.diagnostics);
                if has_errors(&said) {
                    return Seen::Unclear(Unclear::Reported(summaries(&said)));
                }
                begun.warnings.extend(said);
                let object = reply.value;
                match object.state.is_null() {
                    true => Seen::Nothing,
                    false if !object.state.is_wholly_known() => Seen::Unclear(Unclear::UnknownValues),
                    false => Seen::Object(Box::new(object)),
                }
            }
        }
    }

    /// Looks up an object by an import id or an identity, and reads it. If `planned` is set, the object is expected to
    /// be the planned object. In this case, parts that an import cannot read, such as a password, come from the plan.
    pub(crate) async fn find(&self, begun: &mut Begun, target: ImportTarget, planned: Option<&Value>) -> Seen {
        let imported = begun.provider.import_resource_state(&self.kind.name, target).await;
        let reply = match imported {
            Ok(reply) => reply,
            Err(error) => return Seen::Unclear(Unclear::Call(error)),
        };
        if reply.diagnostics.iter().any(|d| d.is_error() && d.summary == NO_SUCH_OBJECT) {
            return Seen::Nothing;
        }
        let said = self.subject().said(&reply.diagnostics);
        if has_errors(&said) {
            return Seen::Unclear(Unclear::Reported(summaries(&said)));
        }
        let mut found = reply.value.into_iter().filter(|found| found.type_name == self.kind.name);
        match (found.next(), found.next()) {
            (Some(one), None) if one.object.state.is_null() => Seen::Nothing,
            (Some(one), None) => {
                let state = planned.map_or_else(|| one.object.state.clone(), |p| self.completed(&one.object.state, p));
                self.read(begun, ObjectState { state, ..one.object }).await
            }
            (None, _) => Seen::Unclear(Unclear::NoObject),
            (Some(_), Some(_)) => Seen::Unclear(Unclear::SeveralObjects),
        }
    }

    /// Fills null parts of an imported object with known planned values.
    fn completed(&self, imported: &Value, planned: &Value) -> Value {
        let (Some(fields), Some(wanted)) = (imported.as_fields(), planned.as_fields()) else { return imported.clone() };
        Value::object(fields.iter().map(|(name, value)| {
            let attribute = self.kind.block.attributes.get(name);
            let wanted = wanted.get(name).filter(|wanted| wanted.is_wholly_known());
            let value = match (attribute, wanted) {
                (Some(attribute), Some(wanted)) if value.is_null() && !attribute.write_only => wanted.clone(),
                _ => value.clone(),
            };
            (name.clone(), value)
        }))
    }

    /// The import id by which the object of a create in doubt is found. `None` unless the description of the type
    /// promises that look-ups by this id are strongly consistent.
    ///
    /// # Errors
    /// Returns an error if a part of the id is unknown.
    pub(crate) fn promised(&self, planned: &Value) -> Option<Result<ImportTarget, MissingPart>> {
        self.planned.lookup.as_deref().map(|template| filled(template, planned).map(ImportTarget::Id))
    }
}

/// The diagnostics in one line.
fn summaries(problems: &Problems) -> String {
    let errors = problems.iter().filter(|p| p.is_error()).map(|p| match p.detail.is_empty() {
        true => p.summary.clone(),
        false => format!("{}: {}", p.summary, p.detail),
    });
    errors.collect::<Vec<_>>().join("; ")
}

/// Fills in a template: names in braces are replaced by the values of attributes.
///
/// # Errors
/// Returns an error if a value is empty or unknown, or is not a string, number or bool.
pub(crate) fn filled(template: &str, object: &Value) -> Result<String, MissingPart> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(before);
        let part = object.as_fields().and_then(|fields| fields.get(name));
        let text = part
            .and_then(|part| weft_expressions::convert::convert(part, &weft_graph_format::types::Type::String).ok());
        match text.as_ref().and_then(Value::as_str) {
            Some(text) if !text.is_empty() => out.push_str(text),
            _ => return Err(MissingPart { name: name.to_owned() }),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use weft_graph_format::types::Type;

    use super::*;

    #[test]
    fn lookups_are_built_from_attributes() {
        let object = Value::object([
            ("region", Value::string("eu")),
            ("n", Value::int(3)),
            ("id", Value::unknown(Type::String)),
        ]);
        assert_eq!(filled("token:{region}:{n}", &object), Ok("token:eu:3".into()));
        assert_eq!(filled("plain", &object), Ok("plain".into()));
        assert_eq!(filled("a{", &object), Ok("a{".into()));
        assert!(filled("{id}", &object).is_err());
        assert!(filled("{absent}", &object).is_err());
    }
}
