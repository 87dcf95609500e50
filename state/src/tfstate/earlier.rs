//! Converts state files of versions 1 to 3, which Terraform before 0.12 wrote, to version 4.
//!
//! All three versions store the attributes of an object as a flat map of strings. The converted state keeps these maps,
//! and the provider of an object upgrades its map later. In version 1, outputs are strings, and there is no lineage.
//! Source: OpenTofu 1.12, `internal/states/statefile/version3_upgrade.go`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::problems::{self, Malformation};
use super::{StateFileError, find_format_digit, read};

/// The first version that this module can read.
const FIRST: u64 = 1;

#[derive(Deserialize)]
struct Earlier {
    #[serde(default)]
    terraform_version: String,
    #[serde(default)]
    serial: u64,
    #[serde(default)]
    lineage: String,
    #[serde(default)]
    modules: Option<Vec<EarlierModule>>,
}

#[derive(Deserialize)]
struct EarlierModule {
    path: Vec<String>,
    #[serde(default)]
    outputs: Option<BTreeMap<String, EarlierOutput>>,
    #[serde(default)]
    resources: Option<BTreeMap<String, EarlierResource>>,
}

/// A state of version 1.
#[derive(Deserialize)]
struct Oldest {
    #[serde(default)]
    serial: u64,
    #[serde(default)]
    modules: Option<Vec<OldestModule>>,
}

#[derive(Deserialize)]
struct OldestModule {
    path: Vec<String>,
    #[serde(default)]
    outputs: Option<BTreeMap<String, String>>,
    #[serde(default)]
    resources: Option<BTreeMap<String, EarlierResource>>,
}

impl From<Oldest> for Earlier {
    fn from(oldest: Oldest) -> Earlier {
        let output = |(name, text)| (name, EarlierOutput { sensitive: false, value: Json::String(text) });
        let module = |module: OldestModule| EarlierModule {
            path: module.path,
            outputs: module.outputs.map(|outputs| outputs.into_iter().map(output).collect()),
            resources: module.resources,
        };
        Earlier {
            terraform_version: String::new(),
            serial: oldest.serial,
            lineage: String::new(),
            modules: oldest.modules.map(|modules| modules.into_iter().map(module).collect()),
        }
    }
}

#[derive(Deserialize)]
struct EarlierOutput {
    #[serde(default)]
    sensitive: bool,
    #[serde(default)]
    value: Json,
}

#[derive(Deserialize)]
struct EarlierResource {
    #[serde(default)]
    provider: String,
    #[serde(default)]
    primary: Option<EarlierObject>,
    #[serde(default)]
    deposed: Option<Vec<EarlierObject>>,
}

#[derive(Deserialize)]
struct EarlierObject {
    #[serde(default)]
    id: String,
    #[serde(default)]
    attributes: Option<BTreeMap<String, String>>,
    #[serde(default)]
    meta: Option<Map<String, Json>>,
    #[serde(default)]
    tainted: bool,
}

/// Converts a state of an earlier version to version 4. Returns `None` if the text is not a state of an earlier version
/// that this module can read.
///
/// # Errors
/// Returns an error if the text is a state of an earlier version, but not valid.
pub fn as_version_4(text: &[u8], place: &str) -> Result<Option<Vec<u8>>, StateFileError> {
    let version = match find_format_digit(text, place) {
        Err(StateFileError::Version { version, .. }) if (FIRST..4).contains(&version) => version,
        _ => return Ok(None),
    };
    let malformed = problems::malformed::<Malformation>(place);
    let read = match version {
        FIRST => serde_json::from_slice::<Oldest>(text).map(Earlier::from),
        _ => serde_json::from_slice(text),
    };
    let document =
        lifted(read.map_err(|error| malformed(Malformation::Shape(error.to_string())))?).map_err(malformed)?;
    read::parse(document.to_string().as_bytes(), place).map(|file| Some(file.to_bytes()))
}

fn lifted(earlier: Earlier) -> Result<Json, Malformation> {
    let (mut outputs, mut resources) = (Map::new(), Vec::new());
    for module in earlier.modules.unwrap_or_default() {
        let path = match module.path.split_first() {
            Some((root, rest)) if root == "root" && rest.iter().all(|name| is_identifier(name)) => rest,
            _ => return Err(Malformation::ModulePath(module.path)),
        };
        let address: Vec<String> = path.iter().map(|name| format!("module.{name}")).collect();
        let address = address.join(".");
        for (name, resource) in module.resources.unwrap_or_default() {
            resources.push(lifted_resource(&address, &name, resource)?);
        }
        if path.is_empty() {
            for (name, output) in module.outputs.unwrap_or_default() {
                let kind = implied_type(&output.value);
                outputs.insert(name, json!({"value": output.value, "type": kind, "sensitive": output.sensitive}));
            }
        }
    }
    Ok(json!({
        "version": 4,
        "terraform_version": earlier.terraform_version,
        "serial": earlier.serial,
        "lineage": earlier.lineage,
        "outputs": outputs,
        "resources": resources,
    }))
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// Converts a resource. Each instance gets an entry of its own: the instances of one resource need not be adjacent.
fn lifted_resource(module: &str, name: &str, resource: EarlierResource) -> Result<Json, Malformation> {
    let wrong_name = || Malformation::ResourceName(name.to_owned());
    let parts: Vec<&str> = name.split('.').collect();
    let (mode, rest) = match parts.as_slice() {
        ["data", rest @ ..] if rest.len() >= 2 => ("data", rest),
        rest => ("managed", rest),
    };
    let (kind, own, index) = match rest {
        [kind, own] => (*kind, *own, None),
        [kind, own, index] => (*kind, *own, Some(index.parse::<u32>().map_err(|_| wrong_name())?)),
        _ => return Err(wrong_name()),
    };
    let prefix = if module.is_empty() { String::new() } else { format!("{module}.") };
    let provider = match resource.provider.as_str() {
        "" => owner(&prefix, kind.split('_').next().unwrap_or(kind)),
        given => match given.split_once("provider.") {
            Some((prefix, given)) => owner(prefix, given),
            None => owner(&prefix, given),
        },
    };
    let deposed = resource.deposed.unwrap_or_default();
    let deposed = (1..).zip(deposed).map(|(number, object)| (Some(format!("{number:08x}")), object));
    let objects = resource.primary.map(|object| (None, object)).into_iter().chain(deposed);
    let instances: Vec<Json> = objects.map(|(deposed, object)| lifted_object(index, deposed, object)).collect();
    Ok(json!({"module": module, "mode": mode, "type": kind, "name": own, "provider": provider, "instances": instances}))
}

/// The address of a provider configuration from its name and alias. These versions had no namespaces.
fn owner(prefix: &str, text: &str) -> String {
    let (name, alias) = text.split_once('.').unwrap_or((text, ""));
    let source = match name {
        "terraform" => "terraform.io/builtin/terraform".to_owned(),
        name => format!("registry.opentofu.org/-/{name}"),
    };
    let alias = if alias.is_empty() { String::new() } else { format!(".{alias}") };
    format!("{prefix}provider[\"{source}\"]{alias}")
}

fn lifted_object(index: Option<u32>, deposed: Option<String>, object: EarlierObject) -> Json {
    let mut meta = object.meta.unwrap_or_default();
    let version = meta.get("schema_version").and_then(|version| match version {
        Json::String(text) => text.parse::<u64>().ok(),
        other => other.as_u64(),
    });
    if version.is_some() {
        meta.remove("schema_version");
    }
    let mut attributes = object.attributes.unwrap_or_default();
    if !object.id.is_empty() && attributes.get("id").is_none_or(String::is_empty) {
        attributes.insert("id".to_owned(), object.id);
    }
    let private = (!meta.is_empty()).then(|| data_encoding::BASE64.encode(Json::Object(meta).to_string().as_bytes()));
    json!({
        "index_key": index,
        "deposed": deposed,
        "status": object.tainted.then_some("tainted"),
        "schema_version": version.unwrap_or_default(),
        "attributes_flat": attributes,
        "private": private,
    })
}

/// The type of a value, inferred from its JSON: a list or a map if all elements have the same type.
fn implied_type(value: &Json) -> Json {
    match value {
        Json::Null => json!("dynamic"),
        Json::Bool(_) => json!("bool"),
        Json::Number(_) => json!("number"),
        Json::String(_) => json!("string"),
        Json::Array(items) => {
            let types: Vec<Json> = items.iter().map(implied_type).collect();
            match one_of_all(types.iter()) {
                Some(kind) => json!(["list", kind]),
                None => json!(["tuple", types]),
            }
        }
        Json::Object(fields) => {
            let types: Map<String, Json> = fields.iter().map(|(name, v)| (name.clone(), implied_type(v))).collect();
            match one_of_all(types.values()) {
                Some(kind) => json!(["map", kind]),
                None => json!(["object", types]),
            }
        }
    }
}

fn one_of_all<'a>(mut types: impl Iterator<Item = &'a Json>) -> Option<Json> {
    let first = types.next()?;
    types.all(|kind| kind == first).then(|| first.clone())
}

#[cfg(test)]
mod tests {
    use super::super::StateFile;

    #[test]
    fn states_of_version_3_are_upgraded() {
        let text = r#"{"version": 3, "terraform_version": "0.11.14", "serial": 7, "lineage": "a", "modules": [
            {"path": ["root"], "outputs": {"o": {"sensitive": false, "type": "list", "value": ["x"]}}, "resources": {
              "lab_thing.t.1": {"type": "lab_thing", "provider": "provider.lab",
                "primary": {"id": "i", "attributes": {"size": "2"}, "meta": {"schema_version": "1", "x": 1}, "tainted": true}}}},
            {"path": ["root", "m"], "resources": {"data.lab_region.r": {"primary": {"id": "r"}}}}]}"#;
        let file = StateFile::parse(text.as_bytes(), "old").expect("a state");
        assert_eq!((file.serial, file.lineage.as_str()), (7, "a"));
        assert_eq!(file.outputs["o"].value_type.as_str(), r#"["list","string"]"#);
        let names: Vec<&str> = file.instances.keys().map(String::as_str).collect();
        assert_eq!(names, ["lab_thing.t[1]", "module.m.data.lab_region.r"]);
        let object = file.instances["lab_thing.t[1]"].current.as_ref().expect("an object");
        assert_eq!(object.schema_version, 1);
        let empty = StateFile::parse(br#"{"version": 2, "serial": 1, "resources": []}"#, "old").expect("a state");
        assert!(empty.instances.is_empty());
        assert!(StateFile::parse(br#"{"version": 3, "modules": [{"path": ["x"]}]}"#, "old").is_err());
    }

    #[test]
    fn states_of_version_1_are_upgraded() {
        let text = r#"{"version": 1, "serial": 7, "lineage": "a", "modules": [
            {"path": ["root"], "outputs": {"o": "x"}, "resources": {"lab_thing.t": {"type": "lab_thing",
              "primary": {"id": "i", "attributes": {"size": "2"}, "ephemeral": {}}, "tainted": [{"id": "j"}]}}}]}"#;
        let file = StateFile::parse(text.as_bytes(), "old").expect("a state");
        assert_eq!((file.serial, file.has_lineage()), (7, false));
        assert_eq!(file.outputs["o"].value_type.as_str(), r#""string""#);
        let object = file.instances["lab_thing.t"].current.as_ref().expect("an object");
        assert!(!object.tainted);
        let typed = br#"{"version": 1, "modules": [{"path": ["root"], "outputs": {"o": {"value": "x"}}}]}"#;
        assert!(StateFile::parse(typed, "old").is_err());
    }
}
