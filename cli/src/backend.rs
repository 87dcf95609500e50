//! The local backend: where its settings put state files, and the settings that `init` has saved.
//!
//! `init` writes the settings to `terraform.tfstate` in the data directory, as OpenTofu does (in a form of version 3);
//! the other commands refuse to work when the configuration has changed since.

mod hash;
mod problems;

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use weft_evaluator::config::CompiledModule;
use weft_expressions::convert::convert;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::schema::{Attribute, Block};
use weft_graph_format::types::Type;

use crate::context::{Context, DEFAULT_WORKSPACE};
use crate::options::Arguments;
use crate::root::{root_alone, sound_root};
use crate::variables;
use hash::block_hash;
use problems::Change;

/// The state file of the default workspace.
const STATE_FILE: &str = "terraform.tfstate";
/// The folder of the other workspaces' state files.
const WORKSPACE_FOLDER: &str = "terraform.tfstate.d";
/// Where the settings are saved, inside the data directory.
const REMEMBERED: &str = "terraform.tfstate";

/// Settings of `backend "local"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalBackend {
    /// The configuration has the block.
    pub configured: bool,
    /// `path`
    pub path: Option<String>,
    /// `workspace_dir`
    pub workspace_dir: Option<String>,
}

impl LocalBackend {
    /// Reads the settings from the configuration.
    ///
    /// # Errors
    /// What is wrong with the block.
    pub fn of(root: &CompiledModule) -> Result<LocalBackend, Vec<Diagnostic>> {
        if let Some(cloud) = &root.settings.cloud {
            return Err(vec![problems::cloud_unsupported().at(cloud.clone())]);
        }
        let Some(written) = &root.settings.backend else { return Ok(LocalBackend::default()) };
        if written.kind != "local" {
            let problem = problems::backend_unsupported(written.kind.as_str());
            return Err(vec![problem.at(written.range.clone())]);
        }
        let mut block = Block::default();
        for name in ["path", "workspace_dir"] {
            let mut attribute = Attribute::new(Type::String);
            attribute.optional = true;
            block.attributes.insert(name.into(), attribute);
        }
        let value = written.settings(&block)?;
        let text = |name: &str| {
            let part = value.as_fields().and_then(|fields| fields.get(name));
            part.and_then(|part| part.as_str().map(str::to_owned)).filter(|text| !text.is_empty())
        };
        Ok(LocalBackend { configured: true, path: text("path"), workspace_dir: text("workspace_dir") })
    }

    /// Combines the configuration of the current directory with the settings that `init` has saved.
    ///
    /// # Errors
    /// Errors of the block, and settings that `init` has not seen.
    pub fn configured(context: &Context, arguments: &Arguments) -> Result<LocalBackend, Vec<Diagnostic>> {
        let found = if context.strict { sound_root(context, arguments)? } else { root_alone(context, arguments) };
        LocalBackend::in_force(&found.root, &context.data_directory)
    }

    /// Combines this configuration with the settings that `init` has saved.
    ///
    /// # Errors
    /// Errors of the block, and settings that `init` has not seen.
    pub fn in_force(root: &CompiledModule, data_directory: &Path) -> Result<LocalBackend, Vec<Diagnostic>> {
        LocalBackend::of(root)?.check(data_directory).map_err(|problem| vec![problem])
    }

    /// Adds the `-backend-config` options: `NAME=VALUE`, or files of such arguments. Later ones win.
    ///
    /// # Errors
    /// Arguments that are not valid.
    pub fn with<'a>(mut self, given: impl Iterator<Item = &'a str>) -> Result<LocalBackend, Vec<Diagnostic>> {
        for text in given {
            let pairs = match text.split_once('=') {
                Some((name, value)) => vec![(name.to_owned(), value.to_owned())],
                None => settings_of(text)?,
            };
            for (name, value) in pairs {
                let place = match name.as_str() {
                    "path" => &mut self.path,
                    "workspace_dir" => &mut self.workspace_dir,
                    _ => return Err(vec![problems::unexpected_argument(&name)]),
                };
                *place = Some(value).filter(|value| !value.is_empty());
            }
        }
        Ok(self)
    }

    /// The state file of a workspace.
    pub fn state_file(&self, workspace: &str) -> PathBuf {
        if workspace == DEFAULT_WORKSPACE {
            return self.path.as_ref().map_or_else(|| PathBuf::from(STATE_FILE), PathBuf::from);
        }
        self.folder().join(workspace).join(STATE_FILE)
    }

    /// The folder of all workspaces but the default one.
    pub fn folder(&self) -> PathBuf {
        self.workspace_dir.as_ref().map_or_else(|| PathBuf::from(WORKSPACE_FOLDER), PathBuf::from)
    }

    /// The names of all workspaces that have a folder, the default one first.
    pub fn workspaces(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != DEFAULT_WORKSPACE)
            .collect();
        names.sort();
        names.insert(0, DEFAULT_WORKSPACE.to_owned());
        names
    }

    /// The settings that `init` has saved; empty without a backend block.
    ///
    /// # Errors
    /// When the file cannot be read or names a backend that Weft does not have.
    pub fn remembered(data_directory: &Path) -> Result<Remembered, Diagnostic> {
        let path = data_directory.join(REMEMBERED);
        let failed = |why: String| problems::settings_unreadable(&path, &why);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Remembered::default()),
            Err(error) => return Err(failed(error.to_string())),
        };
        let document: Json = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        let Some(backend) = document.get("backend").filter(|backend| !backend.is_null()) else {
            return Ok(Remembered::default());
        };
        let kind = backend.get("type").and_then(Json::as_str).unwrap_or_default();
        if kind != "local" {
            return Err(failed(format!("the state is in a backend of the type {kind:?}, which is not supported")));
        }
        let text = |name: &str| {
            let value = backend.get("config").and_then(|config| config.get(name)).and_then(Json::as_str);
            value.map(str::to_owned).filter(|text| !text.is_empty())
        };
        let hash = backend.get("hash").and_then(Json::as_u64);
        let settings = LocalBackend { configured: true, path: text("path"), workspace_dir: text("workspace_dir") };
        Ok(Remembered { settings, hash })
    }

    /// Saves the settings for the other commands. `written` are those that the configuration has.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remember(&self, written: &LocalBackend, data_directory: &Path) -> Result<(), Diagnostic> {
        let path = data_directory.join(REMEMBERED);
        let failed = |error: std::io::Error| problems::settings_not_saved(&path, &error);
        if !self.configured {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        let document = json!({
            "version": 3,
            "backend": {
                "type": "local",
                "config": { "path": self.path, "workspace_dir": self.workspace_dir },
                "hash": written.hash(),
            },
        });
        std::fs::create_dir_all(data_directory).map_err(failed)?;
        std::fs::write(&path, format!("{document:#}\n")).map_err(failed)
    }

    /// The number by which `init` recognizes the block.
    fn hash(&self) -> u64 {
        u64::from(block_hash("local", &[self.path.as_deref(), self.workspace_dir.as_deref()]))
    }

    /// The settings that `init` has saved for those in the configuration, including those of `-backend-config`.
    ///
    /// # Errors
    /// A change since then, and the way out.
    fn check(self, data_directory: &Path) -> Result<LocalBackend, Diagnostic> {
        let known = LocalBackend::remembered(data_directory)?;
        if self == known.settings || self.configured && known.settings.configured && self.is_part_of(&known) {
            return Ok(known.settings);
        }
        Err(problems::initialization_required(match (known.settings.configured, self.configured) {
            (false, _) => Change::Added,
            (true, false) => Change::Removed,
            (true, true) => Change::Changed,
        }))
    }

    /// Whether the saved settings came from this block.
    pub fn is_part_of(&self, known: &Remembered) -> bool {
        known.hash == Some(self.hash())
    }
}

/// The settings that `init` has saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The settings.
    pub settings: LocalBackend,
    /// The number of the block that they came from.
    hash: Option<u64>,
}

/// The arguments in a file of settings.
fn settings_of(path: &str) -> Result<Vec<(String, String)>, Vec<Diagnostic>> {
    let read = variables::read_file(path);
    if has_errors(&read.diagnostics) {
        return Err(read.diagnostics);
    }
    let mut settings = Vec::new();
    for entry in read.entries {
        let value = entry.value?;
        let text = convert(&value, &Type::String).ok().and_then(|text| text.as_str().map(str::to_owned));
        let text = text.ok_or_else(|| vec![problems::argument_not_a_string(entry.name.as_str(), path)])?;
        settings.push((entry.name.to_string(), text));
    }
    Ok(settings)
}
