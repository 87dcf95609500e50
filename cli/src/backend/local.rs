//! The local backend: the paths of its state files.

use std::path::PathBuf;

use serde_json::Value as Json;
use weft_backends::arguments;
use weft_backends::catalog::BackendSettings;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;

use crate::context::DEFAULT_WORKSPACE;

/// The state file of the default workspace.
const STATE_FILE: &str = "terraform.tfstate";
/// The directory of the state files of the other workspaces.
const WORKSPACE_FOLDER: &str = "terraform.tfstate.d";

/// The schema of `backend "local"`.
pub fn schema() -> Block {
    arguments::schema(&[("path", Type::String), ("workspace_dir", Type::String)], &[], &[])
}

/// Settings of `backend "local"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalBackend {
    /// The argument `path`.
    pub path: Option<String>,
    /// The argument `workspace_dir`.
    pub workspace_dir: Option<String>,
}

impl LocalBackend {
    /// The backend with these settings.
    pub fn new(settings: &BackendSettings) -> LocalBackend {
        let text =
            |name: &str| settings.get(name).and_then(Json::as_str).map(str::to_owned).filter(|text| !text.is_empty());
        LocalBackend { path: text("path"), workspace_dir: text("workspace_dir") }
    }

    /// The state file of a workspace.
    pub fn state_file(&self, workspace: &str) -> PathBuf {
        if workspace == DEFAULT_WORKSPACE {
            return self.path.as_ref().map_or_else(|| PathBuf::from(STATE_FILE), PathBuf::from);
        }
        self.folder().join(workspace).join(STATE_FILE)
    }

    /// The directory that contains the states of all workspaces except the default one.
    pub fn folder(&self) -> PathBuf {
        self.workspace_dir.as_ref().map_or_else(|| PathBuf::from(WORKSPACE_FOLDER), PathBuf::from)
    }

    /// The names of all workspaces that have a directory, the default one first.
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
}
