//! `data.terraform_remote_state`: the outputs of another configuration, read from the state of that configuration.
//!
//! States of the backend `local` are read here, and states of other backends through [`StateBackends`]. For a backend
//! that Weft does not have, the settings are accepted, but reading a state is an error. As in OpenTofu, sensitive
//! outputs are returned without a mark: the configuration that reads them must mark them where it uses them.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;
use smol_str::SmolStr;
use weft_graph_format::codec::{DecodeError, json, type_json};
use weft_graph_format::schema::{Attribute, Block, Schema};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Entries, Kind, Value};
use weft_sealing::{OpenError, Sealing, Zeroizing};

use super::part;
use super::problems::{self, StateFormProblem};
use crate::call::Reply;
use crate::diagnostic::{ProviderDiagnostic, has_errors};
use crate::states::{SettingsMismatch, StateBackends};

/// The type's name.
pub(super) const TYPE: &str = "terraform_remote_state";

/// The backend whose states are files.
const LOCAL: &str = "local";
/// The other backends of OpenTofu.
const KNOWN_BACKENDS: [&str; 12] =
    ["azurerm", "cloud", "consul", "cos", "gcs", "http", "inmem", "kubernetes", "oss", "pg", "remote", "s3"];
/// Arguments of the local backend.
const LOCAL_ARGUMENTS: [&str; 2] = ["path", "workspace_dir"];
/// The local backend's default path.
const STATE_FILE: &str = "terraform.tfstate";
/// The local backend's default folder for other workspaces.
const WORKSPACE_FOLDER: &str = "terraform.tfstate.d";
/// The workspace that has no folder.
const DEFAULT_WORKSPACE: &str = "default";
/// The maximum size of a state file: ten times the largest known files, and small enough for memory.
const LARGEST_FILE: u64 = 4 << 30;
/// The format versions that can be read: OpenTofu's version, and the version that a run of Weft writes to keep other
/// tools from changing the file.
const FORMATS: [u64; 2] = [4, 9];

/// The part of a state file that is read. Everything else is ignored.
#[derive(Deserialize)]
struct StateForm {
    version: Option<u64>,
    #[serde(default)]
    outputs: Option<BTreeMap<SmolStr, OutputForm>>,
}

#[derive(Deserialize)]
struct OutputForm {
    value: Box<RawValue>,
    #[serde(rename = "type")]
    value_type: Box<RawValue>,
}

/// The schema of the data source. The descriptions are the texts that tools know from `providers schema`.
pub(super) fn schema() -> Schema {
    let attribute = |ty: Type, description: &str, change: fn(&mut Attribute)| {
        let mut attribute = Attribute::new(ty);
        attribute.description = description.to_owned();
        attribute.markdown = true;
        change(&mut attribute);
        attribute
    };
    let config = "The configuration of the remote backend. Although this is optional, most backends require some \
                  configuration.\n\nThe object can use any arguments that would be valid in the equivalent `terraform \
                  { backend \"<TYPE>\" { ... } }` block.";
    let defaults = "Default values for outputs, in case the state file is empty or lacks a required output.";
    let outputs = "An object containing every root-level output in the remote state.";
    let attributes = [
        (
            "backend",
            attribute(Type::String, "The remote backend to use, e.g. `remote` or `http`.", |a| a.required = true),
        ),
        ("config", attribute(Type::Dynamic, config, |a| a.optional = true)),
        ("defaults", attribute(Type::Dynamic, defaults, |a| a.optional = true)),
        ("outputs", attribute(Type::Dynamic, outputs, |a| a.computed = true)),
        (
            "workspace",
            attribute(Type::String, "The OpenTofu workspace to use, if the backend supports workspaces.", |a| {
                a.optional = true;
            }),
        ),
    ];
    let block =
        Block { attributes: attributes.into_iter().map(|(name, a)| (name.into(), a)).collect(), ..Block::default() };
    Schema { version: 0, block }
}

/// Checks the known parts of a configuration.
pub(super) fn validate(config: &Value, states: Option<&dyn StateBackends>) -> Vec<ProviderDiagnostic> {
    let (backend, settings) = (part(config, "backend"), part(config, "config"));
    let mut found = Vec::new();
    match backend.as_str() {
        Some(backend) if settings.is_wholly_known() => {
            if let Err(problem) = Source::of(backend, &settings, states) {
                found.push(problem);
            }
        }
        _ if may_be_object(&settings) => {}
        _ => found.push(problems::settings_not_an_object()),
    }
    if !may_be_object(&part(config, "defaults")) {
        found.push(problems::defaults_not_an_object());
    }
    found
}

/// Reads the outputs. `address` is the address of the data source.
pub(super) fn read(
    address: &str,
    config: &Value,
    sealing: &Sealing,
    states: Option<&dyn StateBackends>,
) -> Reply<Value> {
    let mut diagnostics = validate(config, states);
    let open = |text: &[u8]| open(address, text, sealing);
    let outputs = if has_errors(&diagnostics) { None } else { outputs(config, &open, states, &mut diagnostics) };
    let Some(outputs) = outputs else {
        diagnostics.push(problems::remote_state_not_read(address));
        return Reply { value: Value::null(Type::Dynamic), diagnostics };
    };
    let mut fields = config.as_fields().map(Entries::to_map).unwrap_or_default();
    fields.insert("outputs".into(), outputs);
    Reply { value: Value::object(fields), diagnostics }
}

/// The outputs, with defaults for missing outputs. `None` if there is a problem.
fn outputs(
    config: &Value,
    open: &dyn Fn(&[u8]) -> Plain,
    states: Option<&dyn StateBackends>,
    problems: &mut Vec<ProviderDiagnostic>,
) -> Option<Value> {
    let workspace = part(config, "workspace");
    let source = Source::of(part(config, "backend").as_str().unwrap_or_default(), &part(config, "config"), states);
    let found = source.and_then(|source| source.text(workspace.as_str().unwrap_or(DEFAULT_WORKSPACE)));
    let text = match found {
        Ok(Some(text)) => text,
        Ok(None) => {
            problems.push(problems::no_remote_state());
            return None;
        }
        Err(problem) => {
            problems.push(problem);
            return None;
        }
    };
    let text = match open(&text) {
        Ok(text) => text,
        Err(error) => {
            problems.push(problems::state_not_opened(&error));
            return None;
        }
    };
    let stored = match stored_outputs(&text) {
        Ok(stored) => stored,
        Err(problem) => {
            problems.push(problems::unsupported_format(&problem));
            return None;
        }
    };
    let mut all = part(config, "defaults").as_fields().map(Entries::to_map).unwrap_or_default();
    all.extend(stored);
    Some(Value::object(all))
}

/// The plain text of a state file, or the reason why it cannot be decrypted.
type Plain = Result<Zeroizing<Vec<u8>>, OpenError>;

/// Decrypts a state file. Encryption settings name a data source by its address without the common prefix.
fn open(address: &str, text: &[u8], sealing: &Sealing) -> Plain {
    let name = address.replacen(&format!("data.{TYPE}."), "", 1);
    let name = name.strip_prefix("module.").unwrap_or(&name);
    Ok(sealing.open_remote_state(name, text)?.plain)
}

/// The outputs in a state file by name.
fn stored_outputs(text: &[u8]) -> Result<BTreeMap<SmolStr, Value>, StateFormProblem> {
    let form: StateForm = serde_json::from_slice(text)?;
    match form.version {
        Some(version) if FORMATS.contains(&version) => {}
        Some(version) => return Err(StateFormProblem::Version(version)),
        None => return Err(StateFormProblem::NoVersion),
    }
    let mut found = BTreeMap::new();
    for (name, output) in form.outputs.unwrap_or_default() {
        let failed = |error: DecodeError| StateFormProblem::Output { name: name.to_string(), error };
        let ty = type_json::decode(output.value_type.get().as_bytes()).map_err(failed)?;
        let value = json::decode(output.value.get().as_bytes(), &ty).map_err(failed)?;
        found.insert(name, value);
    }
    Ok(found)
}

/// The location of a state.
enum Source<'a> {
    /// A backend that cannot be read.
    Unsupported(SmolStr),
    /// A service, with its settings.
    Service(&'a dyn StateBackends, SmolStr, Value),
    /// State files of the backend `local`.
    Local { path: Option<SmolStr>, workspace_dir: Option<SmolStr> },
}

impl<'a> Source<'a> {
    /// The location for a backend with its settings, which are known or null.
    fn of(
        backend: &str,
        settings: &Value,
        states: Option<&'a dyn StateBackends>,
    ) -> Result<Source<'a>, ProviderDiagnostic> {
        if backend != LOCAL {
            if let Some(states) = states.filter(|states| states.has(backend)) {
                let checked = states.check(backend, settings);
                checked.map_err(|mismatch| problems::settings_mismatch(backend, &mismatch))?;
                return Ok(Source::Service(states, backend.into(), settings.clone()));
            }
            if KNOWN_BACKENDS.contains(&backend) {
                return Ok(Source::Unsupported(backend.into()));
            }
            return Err(problems::unknown_backend(backend));
        }
        if settings.is_null() {
            return Ok(Source::Local { path: None, workspace_dir: None });
        }
        let invalid = |mismatch| problems::settings_mismatch(backend, &mismatch);
        let Some(fields) = settings.as_fields() else { return Err(invalid(SettingsMismatch::NotAnObject)) };
        if let Some(name) = fields.keys().find(|name| !LOCAL_ARGUMENTS.contains(&name.as_str())) {
            return Err(invalid(SettingsMismatch::UnknownArgument(name.to_string())));
        }
        let setting = |name: &'static str| match fields.get(name).map(|value| (value, value.open().1)) {
            None | Some((_, Kind::Null(_))) => Ok(None),
            Some((_, Kind::String(text))) => Ok(Some(text.clone())),
            Some((_, Kind::Number(number))) => Ok(Some(SmolStr::from(number.to_string()))),
            Some((_, Kind::Bool(flag))) => Ok(Some(SmolStr::from(flag.to_string()))),
            Some(_) => Err(invalid(SettingsMismatch::NotAString(name))),
        };
        let (path, workspace_dir) = (setting("path")?, setting("workspace_dir")?);
        if path.as_deref() == Some("") {
            return Err(problems::empty_path());
        }
        if workspace_dir.as_deref() == Some("") {
            return Err(problems::empty_workspace_directory());
        }
        Ok(Source::Local { path, workspace_dir })
    }

    /// The stored state of a workspace; `None` if there is none.
    fn text(&self, workspace: &str) -> Result<Option<Vec<u8>>, ProviderDiagnostic> {
        let file = match self {
            Source::Unsupported(backend) => return Err(problems::backend_unsupported(backend.as_str())),
            Source::Service(states, backend, settings) => {
                let workspace = if workspace.is_empty() { DEFAULT_WORKSPACE } else { workspace };
                let reading = states.read(backend, settings, workspace);
                // This thread may block.
                let found = tokio::runtime::Handle::current().block_on(reading);
                return found.map_err(|error| problems::state_not_read(&error));
            }
            Source::Local { path, .. } if workspace.is_empty() || workspace == DEFAULT_WORKSPACE => {
                PathBuf::from(path.as_deref().unwrap_or(STATE_FILE))
            }
            Source::Local { workspace_dir, .. } => {
                PathBuf::from(workspace_dir.as_deref().unwrap_or(WORKSPACE_FOLDER)).join(workspace).join(STATE_FILE)
            }
        };
        let failed = |error: io::Error| problems::state_unreadable(&file, &error);
        let opened = match std::fs::File::open(&file) {
            Ok(opened) => opened,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut text = Vec::new();
        match opened.take(LARGEST_FILE + 1).read_to_end(&mut text) {
            Ok(_) if text.len() as u64 > LARGEST_FILE => Err(problems::state_too_large(&file)),
            // An empty file is not a state.
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(text)),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Whether a value is an object or a map, or its type is unknown.
fn may_be_object(value: &Value) -> bool {
    value.is_null() || matches!(value.ty(), Type::Dynamic | Type::Object(_) | Type::Map(_))
}

#[cfg(test)]
mod tests {
    use weft_graph_format::path::Path;

    use super::*;

    fn config(backend: &str, settings: Value, defaults: Value) -> Value {
        Value::object([
            ("backend", Value::string(backend)),
            ("config", settings),
            ("defaults", defaults),
            ("outputs", Value::null(Type::Dynamic)),
            ("workspace", Value::null(Type::String)),
        ])
    }

    fn null() -> Value {
        Value::null(Type::Dynamic)
    }

    #[test]
    fn invalid_settings_are_reported() {
        let of = |name: &str, value: Value| Value::object([(name.to_owned(), value)]);
        for (backend, settings, defaults, expected) in [
            (LOCAL, null(), null(), None),
            (LOCAL, of("path", Value::string("x")), Value::empty_object(), None),
            (LOCAL, of("path", Value::unknown(Type::String)), Value::unknown(Type::Dynamic), None),
            ("s3", of("bucket", Value::string("x")), null(), None),
            ("nope", null(), null(), Some(("Invalid backend configuration", "backend"))),
            (LOCAL, of("pat", null()), null(), Some(("Invalid backend configuration", "config"))),
            (LOCAL, of("path", Value::tuple(vec![])), null(), Some(("Invalid backend configuration", "config"))),
            (LOCAL, Value::string("x"), null(), Some(("Invalid backend configuration", "config"))),
            (LOCAL, Value::unknown(Type::String), null(), Some(("Invalid backend configuration", "config"))),
            (LOCAL, of("path", Value::string("")), null(), Some(("Invalid local state file path", "path"))),
            (LOCAL, null(), Value::string("x"), Some(("Invalid default values", "defaults"))),
        ] {
            let found = validate(&config(backend, settings.clone(), defaults), None);
            let found: Vec<_> = found.iter().map(|d| (d.summary.as_str(), d.path.clone())).collect();
            let expected: Vec<_> =
                expected.map(|(summary, at)| (summary, Path::ROOT.attribute(at))).into_iter().collect();
            assert_eq!(found, expected, "{backend} {settings:?}");
        }
    }

    #[test]
    fn outputs_take_precedence_over_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("peer.tfstate");
        let settings = Value::object([("path", Value::string(file.to_string_lossy()))]);
        let defaults = Value::object([("a", Value::int(0)), ("z", Value::bool(true))]);
        let asked = config(LOCAL, settings, defaults);
        let summaries = |reply: &Reply<Value>| -> Vec<String> {
            reply.diagnostics.iter().map(|problem| problem.summary.clone()).collect()
        };
        let missing = read("data.x.y", &asked, &Sealing::default(), None);
        assert_eq!(summaries(&missing), ["Unable to find remote state", "data.x.y: Unable to read remote state"]);
        for (text, expected) in [
            ("nonsense", false),
            (r#"{"version": 3}"#, false),
            (r#"{"serial": 3}"#, false),
            (r#"{"meta": {}, "encrypted_data": "eA==", "encryption_version": "v0"}"#, false),
            (r#"{"meta": {}, "encrypted_data": "eA==", "encryption_version": "v9"}"#, false),
            (r#"{"version": 4, "outputs": {"a": {"value": 1, "type": "number", "sensitive": true}}}"#, true),
        ] {
            std::fs::write(&file, text).unwrap();
            let reply = read("data.x.y", &asked, &Sealing::default(), None);
            assert_eq!(reply.diagnostics.is_empty(), expected, "{text}");
            let outputs = Value::object([("a", Value::int(1)), ("z", Value::bool(true))]);
            assert!(!expected || part(&reply.value, "outputs").same_content(&outputs), "{text}");
        }
    }
}
