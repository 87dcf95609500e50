//! Stored objects: decoded, upgraded to the current schema, and refreshed.

pub(crate) mod problems;

use rustc_hash::FxHashSet;
use weft_expressions::resource_rules::{Located, located, sensitive_paths};
use weft_graph_format::address::{ObjectName, ResourceInstance};
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::graph::{PriorObject, StateRecord};
use weft_graph_format::marks::Marks;
use weft_graph_format::path::Path;
use weft_graph_format::schema::{Block, Schema};
use weft_graph_format::stored::value_path;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::{RawState, ReadRequest};
use weft_state::InstanceObject;

use crate::diagnostics::{call_failed, placed};
use crate::progress::{ProgressSender, ProgressStep};

/// A stored object, typed by the current schema.
#[derive(Clone, Debug)]
pub struct Prior {
    /// The stored value, marked sensitive by state and schema.
    pub stored: Value,
    /// The value as it was read; null if the object no longer exists. If the value no longer has a path that is
    /// sensitive in the state (a lost path), the nearest part that remains is sensitive as a whole.
    pub value: Value,
    /// The same as `value`, but without the marks for lost paths. `None` if no path is lost. Decisions compare this
    /// value with the plan, because the marks for lost paths must not count as a change.
    pub located: Option<Value>,
    /// The provider's private data.
    pub private: Vec<u8>,
    /// Whether the object must be replaced.
    pub tainted: bool,
    /// Whether the state lacks marks that the schema requires, and the object was not refreshed.
    pub lacks_marks: bool,
    /// Whether a refresh added marks that the schema requires. As in OpenTofu, they are drift.
    pub gained_marks: bool,
    /// Whether the state has the object as it would be stored: by the current schema, with all attributes and marks.
    pub is_canonical: bool,
    /// Whether the state has the identity that was read.
    pub has_identity: bool,
    /// The record in state.
    pub record: StateRecord,
}

impl Prior {
    /// An object that does not exist.
    pub(crate) fn gone() -> Prior {
        let nothing = Value::null(Type::Dynamic);
        Prior {
            stored: nothing.clone(),
            value: nothing,
            located: None,
            private: Vec::new(),
            tainted: false,
            lacks_marks: false,
            gained_marks: false,
            is_canonical: true,
            has_identity: true,
            record: StateRecord::default(),
        }
    }

    /// Whether the state has this object in the same form, with this record.
    pub(crate) fn is_stored_as(&self, record: &StateRecord) -> bool {
        let same = self.stored.same_content(&self.value) && self.record == *record;
        same && self.is_canonical && self.has_identity
    }

    /// The value for decisions, without the marks for lost paths.
    pub(crate) fn located(&self) -> &Value {
        self.located.as_ref().unwrap_or(&self.value)
    }

    /// The object in the form that operations use. `revision` is the revision of its instance.
    pub(crate) fn object(&self, revision: u64) -> PriorObject {
        PriorObject {
            value: without_provenance(&self.value),
            private: self.private.clone(),
            tainted: self.tainted,
            revision,
            record: self.record.clone(),
        }
    }
}

/// Everything that is needed to read objects through a provider.
pub struct Reading<'a> {
    /// The provider.
    pub provider: &'a Provider,
    /// Whether the real object is read.
    pub refresh: bool,
    /// The `provider_meta` value for the module of the object.
    pub meta: Option<Value>,
    /// The receiver of progress reports.
    pub progress: &'a ProgressSender,
}

/// Decodes a stored object, and refreshes it if `refresh` is set.
pub async fn read_prior(
    name: ObjectName<'_>,
    object: &InstanceObject,
    schema: &Schema,
    reading: Reading<'_>,
) -> Result<(Prior, Vec<Diagnostic>), Vec<Diagnostic>> {
    let provider = reading.provider;
    let address = name.address;
    let text = address.to_string();
    if object.schema_version > schema.version {
        return Err(vec![problems::stored_by_newer_provider(&text, object.schema_version, schema.version)]);
    }
    let raw = raw_state(object);
    let upgraded = provider
        .upgrade_resource_state(&address.resource.type_name, object.schema_version, raw)
        .await
        .map_err(|e| vec![call_failed(&e, None, &text)])?;
    let mut said = placed(&upgraded.diagnostics, None, &text);
    if has_errors(&said) {
        return Err(said);
    }
    let marks = marks_of(object, &text);
    let has_marks = missing_marks(&upgraded.value, &marks, &schema.block).is_empty();
    let mut prior = Prior {
        stored: upgraded.value.mark_paths(&sensitive_in(&upgraded.value, &marks, &schema.block)),
        value: Value::null(upgraded.value.ty()),
        located: None,
        private: object.private.0.clone(),
        tainted: object.tainted,
        lacks_marks: false,
        gained_marks: reading.refresh && !has_marks,
        is_canonical: has_marks && is_canonical(object, &upgraded.value, schema),
        has_identity: true,
        record: record_of(object, schema),
    };
    let mut value = upgraded.value;
    let refresh = reading.refresh;
    if refresh {
        let (found, more) = real_object(name, &mut prior, value, reading).await.map_err(|problems| {
            said.extend(problems);
            std::mem::take(&mut said)
        })?;
        said.extend(more);
        value = found;
    }
    prior.has_identity = has_identity(object, &prior.record);
    let missing = missing_marks(&value, &marks, &schema.block);
    // A refresh adds the marks of the schema. Without a refresh, missing marks are a change.
    prior.lacks_marks = !refresh && !missing.is_empty();
    let (lost, kept): (Vec<_>, Vec<_>) =
        marks.into_iter().partition(|(path, _)| matches!(located(&value, path, &schema.block), Located::Lost(_)));
    prior.located = (!lost.is_empty()).then(|| value.mark_paths(&sensitive_in(&value, &kept, &schema.block)));
    let value = value.mark_paths(&sensitive_in(&value, &[kept, lost].concat(), &schema.block));
    // Most objects have not changed. If both values are equal, they share one copy.
    prior.value = if value.same_content(&prior.stored) { prior.stored.clone() } else { value };
    Ok((prior, said))
}

/// Whether the stored attributes are those of `value`, by the current schema.
fn is_canonical(object: &InstanceObject, value: &Value, schema: &Schema) -> bool {
    let encoded = || json::encode(&value.unmark_deep().0, &schema.block.implied_type());
    object.attributes_flat.is_none()
        && object.schema_version == schema.version
        && encoded().is_ok_and(|text| json::same(object.attributes.as_str(), &text))
}

/// Whether the state has the identity of this record.
fn has_identity(object: &InstanceObject, record: &StateRecord) -> bool {
    let same = match (&object.identity, &record.identity) {
        (Some(stored), Some(read)) => json::same(stored.as_str(), read),
        (stored, read) => stored.is_some() == read.is_some(),
    };
    same && object.identity_schema_version == record.identity_schema_version
}

/// Reads the real object. Returns its value and the provider's diagnostics, and updates the rest of `prior`.
async fn real_object(
    name: ObjectName<'_>,
    prior: &mut Prior,
    stored: Value,
    reading: Reading<'_>,
) -> Result<(Value, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Reading { provider, meta, progress, .. } = reading;
    let address = name.address;
    let text = address.to_string();
    let began = progress.begin(name, ProgressStep::RefreshStarted, &prior.stored);
    let request = ReadRequest {
        address: address.clone(),
        type_name: address.resource.type_name.clone(),
        current_state: stored,
        private: prior.private.clone(),
        provider_meta: meta,
        identity: None,
    };
    let reply = provider.read_resource(request).await.map_err(|e| vec![call_failed(&e, None, &text)])?;
    let mut said = placed(&reply.diagnostics, None, &text);
    if has_errors(&said) {
        return Err(said);
    }
    if !reply.value.state.is_wholly_known() {
        said.push(problems::refreshed_unknown(&text));
        return Err(said);
    }
    if let Some((text, version)) = identity_text(provider, &address.resource.type_name, reply.value.identity).await {
        (prior.record.identity, prior.record.identity_schema_version) = (Some(text), version);
    }
    prior.private = reply.value.private;
    progress.end(name, ProgressStep::RefreshDone, &prior.stored, began);
    Ok((reply.value.state, said))
}

/// Encodes an identity for the state, with the version of its schema.
async fn identity_text(provider: &Provider, type_name: &str, identity: Option<Value>) -> Option<(String, u64)> {
    let identity = identity.filter(|identity| !identity.is_null() && identity.is_wholly_known())?;
    let schemas = provider.schema().await.ok()?;
    let schema = schemas.identities.get(type_name)?;
    let attributes = schema.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.ty.clone()));
    let text = json::encode(&identity.unmark_deep().0, &Type::object(attributes)).ok()?;
    Some((text, schema.version))
}

/// A stored object in the form that providers upgrade.
pub(crate) fn raw_state(object: &InstanceObject) -> RawState {
    match &object.attributes_flat {
        Some(flat) => RawState::Flatmap(flat.clone()),
        None => RawState::Json(object.attributes.as_str().as_bytes().to_vec()),
    }
}

fn record_of(object: &InstanceObject, schema: &Schema) -> StateRecord {
    StateRecord {
        schema_version: schema.version,
        dependencies: object.dependencies.iter().map(|d| d.as_str().into()).collect(),
        create_before_destroy: object.create_before_destroy,
        skip_destroy: object.skip_destroy,
        identity: object.identity.as_ref().map(|i| i.as_str().to_string()),
        identity_schema_version: object.identity_schema_version,
    }
}

/// The marks of a stored object. If the state has a path that cannot be decoded, the whole object is sensitive.
pub(crate) fn marks_of(object: &InstanceObject, address: &str) -> Vec<(Path, Marks)> {
    let paths: Option<Vec<_>> =
        object.sensitive_paths.iter().map(|steps| Some((value_path(steps)?, Marks::SENSITIVE))).collect();
    paths.unwrap_or_else(|| {
        tracing::warn!(%address, "a sensitive path of the state cannot be read: the whole object is hidden");
        vec![(Path::ROOT, Marks::SENSITIVE)]
    })
}

/// The given marks, and the marks that the schema requires for a value. A given path stays in the result even if the
/// value no longer has this path, so that [`Value::mark_paths`] hides the nearest part that remains. Only paths for
/// which no part needs a mark ([`Located::Nowhere`]) are left out.
pub fn sensitive_in(value: &Value, given: &[(Path, Marks)], schema: &Block) -> Vec<(Path, Marks)> {
    let missing = missing_marks(value, given, schema);
    let leads = given.iter().filter(|(path, _)| located(value, path, schema) != Located::Nowhere);
    leads.cloned().chain(missing.into_iter().map(|path| (path, Marks::SENSITIVE))).collect()
}

/// The paths that the schema requires to be marked and that `given` does not contain.
fn missing_marks(value: &Value, given: &[(Path, Marks)], schema: &Block) -> Vec<Path> {
    let there: FxHashSet<&Path> = given.iter().map(|(path, _)| path).collect();
    sensitive_paths(value, schema).into_iter().filter(|path| !there.contains(path)).collect()
}

/// The marks of a planned value, from the configuration and the schema. Ephemeral values are allowed only in write-only
/// attributes, so a planned value has no ephemeral marks.
pub(crate) fn marks_for(planned: &Value, config: &[(Path, Marks)], schema: &Schema) -> Vec<(Path, Marks)> {
    sensitive_in(planned, &sensitive_marks(config), &schema.block)
}

/// The sensitive marks of a configuration, without other marks of the same values.
pub(crate) fn sensitive_marks(config: &[(Path, Marks)]) -> Vec<(Path, Marks)> {
    let sensitive = config.iter().filter(|(_, marks)| marks.is_sensitive());
    sensitive.map(|(path, _)| (path.clone(), Marks::SENSITIVE)).collect()
}

/// The sensitive paths that apply cannot find out: those of the configuration at which no formula computes it. Formulas
/// have marks of their own, which apply evaluates. So a part that may be sensitive, and is not, is not stored as
/// sensitive.
pub(crate) fn settled_sensitive(marks: Vec<(Path, Marks)>, config: &Value) -> Vec<Path> {
    let sensitive = marks.into_iter().filter(|(_, marks)| marks.is_sensitive()).map(|(path, _)| path);
    sensitive.filter(|path| !is_computed(config, path)).collect()
}

/// Whether a formula computes the part of a value at a path, or a value around this part.
fn is_computed(value: &Value, path: &Path) -> bool {
    let mut part = value.clone();
    for step in &path.0 {
        if part.formula().is_some() {
            return true;
        }
        let Some(next) = part.step(step) else { return false };
        part = next;
    }
    part.formula().is_some()
}

/// The value, with the sensitive marks of its schema.
pub(crate) fn with_schema_marks(value: &Value, schema: &Schema) -> Value {
    value.mark_paths(&sensitive_in(value, &[], &schema.block))
}

/// The value of a stored object, with the sensitive marks of its schema. The value is unknown if the attributes are in
/// the flat form of Terraform versions before 0.12, because only the provider of the object can decode this form.
///
/// # Errors
/// Returns an error if the object does not match the schema.
pub(crate) fn stored_value(
    address: &ResourceInstance,
    object: &InstanceObject,
    schema: &Schema,
) -> Result<Value, Diagnostic> {
    let ty = schema.block.implied_type();
    if object.attributes_flat.is_some() {
        return Ok(Value::unknown(ty));
    }
    match json::decode(object.attributes.as_str().as_bytes(), &ty) {
        Ok(value) => Ok(with_schema_marks(&value, schema)),
        Err(_) => Err(problems::stored_object_unreadable(address)),
    }
}

/// The value without formulas and origins at any level.
pub(crate) fn without_provenance(value: &Value) -> Value {
    let deep = value.deep();
    if !deep.formula && !deep.origin {
        return value.clone();
    }
    value.bare()
}

#[cfg(test)]
mod tests {
    use weft_graph_format::path::ValueStep;
    use weft_graph_format::stored::PathStep;

    use super::*;
    use weft_graph_format::formula::Formula;
    use weft_graph_format::schema::Attribute;
    use weft_state::RawJson;

    #[test]
    fn only_paths_that_no_formula_computes_are_settled() {
        let late = || Value::unknown(Type::String).with_formula(Some(Formula::constant(Value::string("x"))));
        let object = |name: Value| Value::object([("name", name)]);
        let config = Value::object([
            ("fixed", Value::string("a")),
            ("late", late()),
            ("inner", object(late())),
            ("around", object(Value::string("b")).with_formula(late().formula().cloned())),
        ]);
        let path = |names: &[&str]| names.iter().fold(Path::ROOT, |path, name| path.attribute(*name));
        for (names, want) in [
            (&["fixed"][..], true),
            (&["late"], false),
            (&["inner"], true),
            (&["inner", "name"], false),
            (&["around", "name"], false),
            (&["absent"], true),
        ] {
            let marks = vec![(path(names), Marks::SENSITIVE), (Path::ROOT, Marks::EPHEMERAL)];
            let found = settled_sensitive(marks, &config);
            assert_eq!(found, if want { vec![path(names)] } else { vec![] }, "{names:?}");
        }
    }

    fn stored(paths: Vec<Vec<PathStep>>) -> InstanceObject {
        InstanceObject { sensitive_paths: paths, ..InstanceObject::new(0, RawJson::new("{}")) }
    }

    #[test]
    fn paths_of_state_are_read() {
        let at = |raw: &str| vec![PathStep::Attribute("a".into()), PathStep::Index(RawJson::new(raw))];
        let a = || Path::ROOT.attribute("a");
        for (raw, want) in [
            ("\"k\"", Path(vec![ValueStep::Attribute("a".into()), ValueStep::Key("k".into())])),
            ("3", Path(vec![ValueStep::Attribute("a".into()), ValueStep::Index(3)])),
            (
                "{\"value\":\"k\",\"type\":\"string\"}",
                Path(vec![ValueStep::Attribute("a".into()), ValueStep::Key("k".into())]),
            ),
            // A path that cannot be read hides the whole object.
            ("true", Path::ROOT),
            ("-1", Path::ROOT),
            ("{\"type\":\"string\"}", Path::ROOT),
            ("not JSON", Path::ROOT),
        ] {
            assert_eq!(marks_of(&stored(vec![at(raw)]), "a.b"), [(want, Marks::SENSITIVE)], "{raw}");
        }
        let both = stored(vec![vec![PathStep::Attribute("a".into())], at("null")]);
        assert_eq!(marks_of(&both, "a.b"), [(Path::ROOT, Marks::SENSITIVE)]);
        assert_eq!(marks_of(&stored(vec![vec![PathStep::Attribute("a".into())]]), "a.b"), [(a(), Marks::SENSITIVE)]);
    }

    /// The time to compute the marks grows linearly with their number.
    #[test]
    fn the_time_for_marks_is_linear() {
        let mut schema = Block::default();
        let mut fields = Vec::new();
        for index in 0..20_000 {
            let name = format!("a{index}");
            let sensitive = index % 2 == 0;
            schema.attributes.insert(name.as_str().into(), Attribute { sensitive, ..Attribute::new(Type::String) });
            fields.push((name, Value::string("x")));
        }
        let value = Value::object(fields.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let given: Vec<_> =
            (0..20_000).map(|index| (Path::ROOT.attribute(format!("a{index}")), Marks::SENSITIVE)).collect();
        let marks = sensitive_in(&value, &given[5_000..], &schema);
        assert_eq!(marks.len(), 15_000 + 2_500);
        assert_eq!(value.mark_paths(&marks).unmark_with_paths().1.len(), 17_500);
    }
}
