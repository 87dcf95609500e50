//! The settings of a backend that `init` has saved.
//!
//! They are in `terraform.tfstate` in the data directory, in OpenTofu's format.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use smol_str::SmolStr;
use weft_backends::catalog::BackendSettings;
use weft_graph_format::diagnostic::Diagnostic;

use super::problems;
use super::written::WrittenBackend;

/// The file of the settings, in the data directory.
const FILE: &str = "terraform.tfstate";
/// The version of the file format.
const VERSION: u64 = 3;
/// The indentation of the file.
const INDENT: &[u8] = b"    ";

/// The settings that `init` has saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedBackend {
    /// The type of the backend.
    pub kind: SmolStr,
    /// The settings, including those of `-backend-config`.
    pub settings: BackendSettings,
    /// The hash of the block that contained the settings.
    pub hash: Option<u64>,
}

impl SavedBackend {
    /// The saved settings, or `None` if nothing was saved.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has another format or version.
    pub fn read(data_directory: &Path) -> Result<Option<SavedBackend>, Diagnostic> {
        let path = place(data_directory);
        let failed = |why: String| problems::settings_unreadable(&path, &why);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string())),
        };
        // As in OpenTofu, an empty file contains no settings.
        if text.is_empty() {
            return Ok(None);
        }
        let document: Json = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        if document.get("version").and_then(Json::as_u64) != Some(VERSION) {
            return Err(problems::settings_of_other_version(&path, VERSION));
        }
        let Some(backend) = document.get("backend").filter(|backend| !backend.is_null()) else { return Ok(None) };
        Ok(Some(SavedBackend {
            kind: backend.get("type").and_then(Json::as_str).unwrap_or_default().into(),
            settings: backend.get("config").and_then(Json::as_object).cloned().unwrap_or_default(),
            hash: backend.get("hash").and_then(Json::as_u64),
        }))
    }

    /// The settings of a block, to be saved.
    pub fn new(written: &WrittenBackend) -> SavedBackend {
        SavedBackend {
            kind: written.kind.clone(),
            settings: written.settings.clone(),
            hash: Some(u64::from(written.hash)),
        }
    }

    /// Saves the settings for the other commands.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&self, data_directory: &Path) -> Result<(), Diagnostic> {
        let path = place(data_directory);
        let failed = |error: &dyn std::fmt::Display| problems::settings_not_saved(&path, error);
        let backend = json!({ "type": self.kind, "config": self.settings, "hash": self.hash });
        let document = json!({ "version": VERSION, "backend": backend });
        let text = in_order(&document).map_err(|error| failed(&error))?;
        std::fs::create_dir_all(data_directory).map_err(|error| failed(&error))?;
        std::fs::write(&path, text).map_err(|error| failed(&error))
    }

    /// Removes the saved settings.
    ///
    /// # Errors
    /// Returns an error if the file cannot be removed.
    pub fn remove(data_directory: &Path) -> Result<(), Diagnostic> {
        let path = place(data_directory);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(problems::settings_not_saved(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Whether these settings came from the block of `written`, according to the hash of the block.
    pub fn is_from(&self, written: &WrittenBackend) -> bool {
        self.kind == written.kind && self.hash == Some(u64::from(written.hash))
    }

    /// Whether these settings are equal to those in `written`, which come from the block and `-backend-config`. A
    /// missing attribute is equal to null.
    pub fn equals(&self, written: &WrittenBackend) -> bool {
        let known = |settings: &BackendSettings| -> BackendSettings {
            let set = settings.iter().filter(|(_, value)| !value.is_null());
            set.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        self.kind == written.kind && known(&self.settings) == known(&written.settings)
    }
}

fn place(data_directory: &Path) -> PathBuf {
    data_directory.join(FILE)
}

fn in_order(document: &Json) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(INDENT);
    serde::Serialize::serialize(document, &mut serde_json::Serializer::with_formatter(&mut text, formatter))?;
    text.push(b'\n');
    Ok(text)
}
