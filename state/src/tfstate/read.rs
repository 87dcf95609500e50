//! Reads a state file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use weft_graph_format::address::{AbsResource, DeposedKey, InstanceKey, Resource, ResourceMode};
use weft_graph_format::bare::BareResource;
use weft_graph_format::checked::CheckedAddress;
use weft_graph_format::codec::type_json;
use weft_graph_format::stored::is_provider_memory;

use super::digit::find_format_digit;
use super::owner::Owners;
use super::problems::{self, Malformation, ObjectMalformation};
use super::{ContentProblem, NO_LINEAGE, StateFile, StateFileError};
use crate::check::{CheckObject, CheckRecord, StoredStatus};
use crate::json::{JsonError, canonical};
use crate::record::{InstanceObject, InstanceRecord, Opaque, OutputRecord, PathStep, RawJson, read_module};

#[derive(Deserialize)]
struct FileForm {
    #[serde(default)]
    terraform_version: String,
    #[serde(default)]
    serial: u64,
    #[serde(default)]
    lineage: String,
    outputs: Option<BTreeMap<String, OutputForm>>,
    resources: Option<Vec<ResourceForm>>,
    check_results: Option<Vec<CheckForm>>,
    // The key is `MEMORIES`.
    weft_providers: Option<BTreeMap<String, OutputForm>>,
}

#[derive(Deserialize)]
struct OutputForm {
    value: Box<RawValue>,
    #[serde(rename = "type")]
    value_type: Box<RawValue>,
    #[serde(default)]
    sensitive: Option<bool>,
    #[serde(default)]
    deprecated: Option<String>,
}

#[derive(Deserialize)]
struct ResourceForm {
    #[serde(default)]
    module: Option<String>,
    mode: String,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    #[serde(default)]
    provider: Option<String>,
    #[serde(default)]
    instances: Option<Vec<ObjectForm>>,
}

#[derive(Deserialize)]
struct ObjectForm {
    #[serde(default)]
    index_key: Option<KeyForm>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    deposed: Option<String>,
    #[serde(default)]
    provider: Option<String>,
    #[serde(default)]
    schema_version: u64,
    #[serde(default)]
    attributes: Option<Box<RawValue>>,
    #[serde(default)]
    attributes_flat: Option<BTreeMap<String, String>>,
    #[serde(default)]
    sensitive_attributes: Option<Vec<Vec<StepForm>>>,
    #[serde(default)]
    private: Option<String>,
    #[serde(default)]
    dependencies: Option<Vec<String>>,
    #[serde(default)]
    create_before_destroy: Option<bool>,
    #[serde(default)]
    skip_destroy: Option<bool>,
    #[serde(default)]
    identity: Option<Box<RawValue>>,
    #[serde(default)]
    identity_schema_version: Option<u64>,
}

#[derive(Deserialize)]
struct StepForm {
    #[serde(rename = "type")]
    kind: String,
    value: Box<RawValue>,
}

#[derive(Deserialize)]
struct CheckForm {
    object_kind: String,
    config_addr: String,
    status: String,
    objects: Option<Vec<CheckObjectForm>>,
}

#[derive(Deserialize)]
struct CheckObjectForm {
    object_addr: String,
    status: String,
    failure_messages: Option<Vec<String>>,
}

/// An index key as raw JSON. A number whose fraction is zero is a whole number, as in OpenTofu.
#[derive(Deserialize)]
struct KeyForm(serde_json::Value);

/// Whether OpenTofu accepts this text as a version: numbers with dots, then a prerelease and metadata.
fn is_version(text: &str) -> bool {
    let text = text.strip_prefix('v').unwrap_or(text);
    let numbers = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let core = text.strip_suffix(numbers).unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    core.split('.').all(is_number)
        && numbers.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.~+".contains(&byte))
}

/// See [`StateFile::parse`].
pub(super) fn parse(text: &[u8], place: &str) -> Result<StateFile, StateFileError> {
    if find_format_digit(text, place)?.sealed {
        return Err(StateFileError::Encrypted { place: place.to_owned() });
    }
    let malformed = problems::malformed::<Malformation>(place);
    let form: FileForm =
        serde_json::from_slice(text).map_err(|error| malformed(Malformation::Shape(error.to_string())))?;
    if !form.terraform_version.is_empty() && !is_version(&form.terraform_version) {
        return Err(malformed(Malformation::WriterVersion(form.terraform_version)));
    }
    let mut file = StateFile {
        terraform_version: form.terraform_version,
        serial: form.serial,
        lineage: if form.lineage.is_empty() { NO_LINEAGE.to_owned() } else { form.lineage },
        ..StateFile::default()
    };
    let not_json = problems::malformed::<JsonError>(place);
    let mut found = Vec::new();
    let memories = form.weft_providers.unwrap_or_default();
    for (name, output) in named(form.outputs.unwrap_or_default(), memories) {
        if let Err(error) = type_json::decode(output.value_type.get().as_bytes()) {
            found.push(problems::output_type(&name, &error));
        }
        let record = OutputRecord {
            value: raw(&output.value).map_err(not_json)?,
            value_type: raw(&output.value_type).map_err(not_json)?,
            sensitive: output.sensitive.unwrap_or_default(),
            deprecated: output.deprecated.filter(|text| !text.is_empty()),
        };
        file.outputs.insert(name, record);
    }
    for resource in form.resources.unwrap_or_default() {
        read_resource(&mut file, resource, &mut found).map_err(malformed)?;
    }
    if !found.is_empty() {
        return Err(StateFileError::Invalid { place: place.to_owned(), problems: found });
    }
    file.checks = form.check_results.map(|checks| checks.into_iter().map(read_check).collect());
    Ok(file)
}

/// Merges the outputs with the memories of provider instances. Ignores an output whose name has the form of a memory's
/// name, and a memory whose name does not have this form ([`is_provider_memory`]).
fn named(
    outputs: BTreeMap<String, OutputForm>,
    memories: BTreeMap<String, OutputForm>,
) -> impl Iterator<Item = (String, OutputForm)> {
    let outputs = outputs.into_iter().filter(|(name, _)| !is_provider_memory(name));
    outputs.chain(memories.into_iter().filter(|(name, _)| is_provider_memory(name)))
}

/// Reads one entry of `resources`, and adds each of its instances.
fn read_resource(
    file: &mut StateFile,
    resource: ResourceForm,
    found: &mut Vec<ContentProblem>,
) -> Result<(), Malformation> {
    let plain = format!("{}.{}", resource.resource_type, resource.name);
    let Some(mut owners) = Owners::new(&plain, resource.provider.as_deref(), found) else { return Ok(()) };
    let mode = match resource.mode.as_str() {
        "managed" => ResourceMode::Managed,
        "data" => ResourceMode::Data,
        mode => return Err(Malformation::ResourceMode { resource: plain, mode: mode.to_owned() }),
    };
    let module = match read_module(&resource.module.unwrap_or_default()) {
        Ok(module) => module,
        Err(error) => {
            found.push(problems::module_address(&error));
            return Ok(());
        }
    };
    let resource_type = resource.resource_type.into();
    let whole =
        AbsResource { module, resource: Resource { mode, type_name: resource_type, name: resource.name.into() } };
    let objects = resource.instances.unwrap_or_default();
    if let Some(provider) = owners.of_resource().filter(|_| objects.is_empty() && whole.resource.is_valid()) {
        let bare = BareResource { resource: whole, provider };
        file.outputs.insert(bare.to_string(), BareResource::record());
        return Ok(());
    }
    for object in objects {
        let key = match &object.index_key {
            None | Some(KeyForm(serde_json::Value::Null)) => InstanceKey::None,
            Some(KeyForm(serde_json::Value::String(key))) => InstanceKey::String(key.into()),
            Some(KeyForm(serde_json::Value::Number(number))) => {
                let fractional = || Malformation::FractionalKey { resource: plain.clone(), key: number.clone() };
                whole_number(number).map(InstanceKey::Int).ok_or_else(fractional)?
            }
            Some(KeyForm(_)) => return Err(Malformation::WrongKey(plain)),
        };
        let Some(provider) = owners.of(object.provider.as_deref(), found) else { continue };
        let typed = whole.instance(key);
        let address = typed.to_string();
        let deposed = object.deposed.clone().filter(|key| !key.is_empty());
        let in_object = |problem| Malformation::Object { address: address.clone(), problem };
        let object = read_object(object).map_err(in_object)?;
        let record =
            file.instances.entry(address.clone()).or_insert_with(|| InstanceRecord::new(typed, provider.clone()));
        let twice = match deposed {
            None => {
                record.provider = provider;
                record.current.replace(object).is_some()
            }
            Some(text) => {
                let key = DeposedKey::parse(&text);
                let key = key.ok_or_else(|| in_object(ObjectMalformation::DeposedKey(text)))?;
                record.deposed.insert(key, object).is_some()
            }
        };
        if twice {
            return Err(Malformation::Twice(address));
        }
    }
    Ok(())
}

/// A whole number, in any JSON spelling that OpenTofu accepts as an index.
fn whole_number(number: &serde_json::Number) -> Option<i64> {
    // Above 2^53, a float no longer identifies one integer.
    const MOST: f64 = 9_007_199_254_740_992.0;
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        (float.fract() == 0.0 && (-MOST..=MOST).contains(&float)).then_some(float as i64)
    })
}

/// Reads one entry of `instances`.
fn read_object(form: ObjectForm) -> Result<InstanceObject, ObjectMalformation> {
    let tainted = match form.status.as_deref() {
        None | Some("") => false,
        Some("tainted") => true,
        Some(status) => return Err(ObjectMalformation::Status(status.to_owned())),
    };
    let private = match form.private {
        None => Vec::new(),
        Some(text) => data_encoding::BASE64.decode(text.as_bytes()).map_err(|_| ObjectMalformation::Private)?,
    };
    let attributes = form.attributes.filter(|text| text.get() != "null");
    let flat = if attributes.is_some() { None } else { form.attributes_flat };
    let identity = form.identity.filter(|text| text.get() != "null");
    Ok(InstanceObject {
        schema_version: form.schema_version,
        attributes: match attributes {
            Some(text) => raw(&text)?,
            None => RawJson::new("{}"),
        },
        attributes_flat: flat,
        sensitive_paths: form
            .sensitive_attributes
            .unwrap_or_default()
            .into_iter()
            .map(|path| path.into_iter().map(read_step).collect())
            .collect::<Result<_, ObjectMalformation>>()?,
        private: Opaque(private),
        dependencies: form.dependencies.unwrap_or_default(),
        create_before_destroy: form.create_before_destroy.unwrap_or_default(),
        skip_destroy: form.skip_destroy.unwrap_or_default(),
        tainted,
        identity: identity.as_deref().map(raw).transpose()?,
        identity_schema_version: form.identity_schema_version.unwrap_or_default(),
    })
}

fn read_step(form: StepForm) -> Result<PathStep, ObjectMalformation> {
    match form.kind.as_str() {
        "get_attr" => serde_json::from_str(form.value.get())
            .map(PathStep::Attribute)
            .map_err(|_| ObjectMalformation::AttributeStep),
        "index" => Ok(PathStep::index(raw(&form.value)?)),
        kind => Err(ObjectMalformation::PathStep(kind.to_owned())),
    }
}

fn read_check(form: CheckForm) -> CheckRecord {
    let object = |form: CheckObjectForm| CheckObject {
        object_addr: CheckedAddress::read(&form.object_addr),
        status: StoredStatus::read(&form.status),
        failure_messages: form.failure_messages.unwrap_or_default(),
    };
    CheckRecord {
        object_kind: form.object_kind,
        config_addr: CheckedAddress::read(&form.config_addr),
        status: StoredStatus::read(&form.status),
        objects: form.objects.map(|objects| objects.into_iter().map(object).collect()),
    }
}

/// Converts a part of the file to canonical JSON.
fn raw(text: &RawValue) -> Result<RawJson, JsonError> {
    canonical(text.get()).map(RawJson::from)
}
