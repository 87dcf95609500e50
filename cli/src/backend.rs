//! The local backend: where its settings put state files, and what `init` remembered of them.
//!
//! `init` writes the settings to `terraform.tfstate` in the data directory, as OpenTofu does (its own version 3 form);
//! the other commands refuse to work when the configuration says something else by then.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{Attribute, Block};
use weft_graph_format::types::Type;

use crate::context::DEFAULT_WORKSPACE;

/// The state file of the default workspace.
const STATE_FILE: &str = "terraform.tfstate";
/// The folder of the other workspaces' state files.
const WORKSPACE_FOLDER: &str = "terraform.tfstate.d";
/// Where the settings are remembered, inside the data directory.
const REMEMBERED: &str = "terraform.tfstate";

/// Settings of `backend "local"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalBackend {
    /// There is a block.
    pub configured: bool,
    /// `path`
    pub path: Option<String>,
    /// `workspace_dir`
    pub workspace_dir: Option<String>,
}

impl LocalBackend {
    /// From the configuration.
    ///
    /// # Errors
    /// What is wrong with the block.
    pub fn of(root: &CompiledModule) -> Result<LocalBackend, Vec<Diagnostic>> {
        let Some(written) = &root.backend else { return Ok(LocalBackend::default()) };
        if written.kind != "local" {
            return Err(vec![
                Diagnostic::error(
                    "Backend not supported yet",
                    format!(
                        "The backend {:?} is not one that this version of Weft can use. Use \"local\", or keep state in \
                         Redis with -store=redis://HOST/DB?state=NAME.",
                        written.kind.as_str()
                    ),
                )
                .at(written.range.clone()),
            ]);
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

    /// What `init` remembered; nothing where there was no backend block.
    ///
    /// # Errors
    /// When the file cannot be read or names a backend that Weft does not have.
    pub fn remembered(data_directory: &Path) -> Result<LocalBackend, Diagnostic> {
        let path = data_directory.join(REMEMBERED);
        let failed = |why: String| {
            Diagnostic::error("Failed to read the remembered backend settings", format!("{}: {why}.", path.display()))
        };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(LocalBackend::default()),
            Err(error) => return Err(failed(error.to_string())),
        };
        let document: Json = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        let Some(backend) = document.get("backend").filter(|backend| !backend.is_null()) else {
            return Ok(LocalBackend::default());
        };
        let kind = backend.get("type").and_then(Json::as_str).unwrap_or_default();
        if kind != "local" {
            return Err(failed(format!("the state is in a backend of the type {kind:?}, which is not supported")));
        }
        let text = |name: &str| {
            let value = backend.get("config").and_then(|config| config.get(name)).and_then(Json::as_str);
            value.map(str::to_owned).filter(|text| !text.is_empty())
        };
        Ok(LocalBackend { configured: true, path: text("path"), workspace_dir: text("workspace_dir") })
    }

    /// Remembers the settings for the other commands.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remember(&self, data_directory: &Path) -> Result<(), Diagnostic> {
        let path = data_directory.join(REMEMBERED);
        let failed = |error: std::io::Error| {
            Diagnostic::error("Cannot remember the backend settings", format!("{}: {error}.", path.display()))
        };
        if !self.configured {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        let document = json!({
            "version": 3,
            "terraform_version": weft_state::tfstate::WRITER_VERSION,
            "backend": {
                "type": "local",
                "config": { "path": self.path, "workspace_dir": self.workspace_dir },
                "hash": self.hash(),
            },
        });
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        std::fs::create_dir_all(data_directory).and_then(|()| std::fs::write(&path, text)).map_err(failed)
    }

    /// A number that changes with the settings, for OpenTofu, which compares its own: with another it asks for `init`.
    fn hash(&self) -> u32 {
        let text = format!("{:?}\0{:?}", self.path, self.workspace_dir);
        // FNV-1a, 32 bits: offset basis and prime as published.
        text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }

    /// Refuses to work with settings that `init` has not seen.
    ///
    /// # Errors
    /// What has changed, and what to do about it.
    pub fn check(&self, data_directory: &Path) -> Result<(), Diagnostic> {
        let known = LocalBackend::remembered(data_directory)?;
        if *self == known {
            return Ok(());
        }
        let reason = match (known.configured, self.configured) {
            (false, _) => "Initial configuration of the requested backend \"local\"",
            (true, false) => "Unsetting the previously set backend \"local\"",
            (true, true) => "Backend configuration block has changed",
        };
        Err(Diagnostic::error(
            "Backend initialization required: please run \"tofu init\"",
            format!(
                "Reason: {reason}\n\nThe backend says where state is. After a change of its settings, run \"weft init\" \
                 with -migrate-state to take the state along, or with -reconfigure to leave it where it is."
            ),
        ))
    }
}
