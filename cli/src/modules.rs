//! The manifest of installed modules: `modules/modules.json` in the data directory. Its bytes are equal to those of
//! OpenTofu's manifest.
//!
//! Local modules are not copied. Their entries only record that `init` or `get` has processed the call. [`install`]
//! writes the manifest, and [`FromManifest`] finds modules with it.

pub mod install;
mod problems;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weft_evaluator::config::{ModulePlaces, ModuleRequest};
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::ModuleSource;
use weft_graph_format::source::SourceRange;
use weft_graph_format::version::{Version, VersionConstraints, parse_abbreviated};

/// The directory of modules, in the data directory.
pub const FOLDER: &str = "modules";
/// The file name of the manifest, in that directory.
const LIST: &str = "modules.json";

/// An installed module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ModuleRecord {
    /// The names of the calls that lead to the module, separated by dots. Empty for the root module.
    #[serde(default)]
    pub key: String,
    /// The source address of the module, in normalized form.
    #[serde(default)]
    pub source: String,
    /// The selected version, for modules from a registry.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The directory of the module, relative to the directory of the root module, or absolute.
    #[serde(default)]
    pub dir: String,
}

impl ModuleRecord {
    /// The parsed version.
    pub fn version(&self) -> Option<Version> {
        parse_abbreviated(&self.version)
    }
}

/// The manifest of installed modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleManifest {
    /// The installed modules by their keys.
    pub records: BTreeMap<String, ModuleRecord>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(rename = "Modules", default)]
    modules: Option<Vec<ModuleRecord>>,
}

/// Why a text is not a manifest.
#[derive(Debug, thiserror::Error)]
enum ManifestProblem {
    /// The text is OpenTofu's, because it is part of a summary.
    #[error("unexpected end of JSON input")]
    End,
    #[error("{0}")]
    Form(#[source] serde_json::Error),
    #[error("{version:?} is not a valid version of the module {module:?}")]
    Version { version: String, module: String },
    #[error("it lists the module {0:?} twice")]
    Twice(String),
}

impl ModuleManifest {
    /// Reads the manifest of a data directory before an installation. The manifest is empty if the file does not exist.
    ///
    /// # Errors
    /// Returns an error if the manifest cannot be read.
    pub fn read(data_directory: &Path) -> Result<ModuleManifest, Diagnostic> {
        ModuleManifest::read_with(data_directory, problems::manifest_unreadable)
    }

    /// Reads the manifest of a data directory before the modules are loaded. The manifest is empty if the file does not
    /// exist.
    ///
    /// # Errors
    /// Returns an error if the manifest cannot be read.
    pub fn read_to_load(data_directory: &Path) -> Result<ModuleManifest, Diagnostic> {
        ModuleManifest::read_with(data_directory, problems::manifest_not_loaded)
    }

    fn read_with(
        data_directory: &Path,
        problem: fn(&Path, &dyn Display) -> Diagnostic,
    ) -> Result<ModuleManifest, Diagnostic> {
        let path = data_directory.join(FOLDER).join(LIST);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(ModuleManifest::default()),
            Err(error) => return Err(problem(&path, &error)),
        };
        ModuleManifest::parse(&text).map_err(|why| problem(&path, &why))
    }

    /// Parses a manifest. Normalizes the sources of older manifests.
    fn parse(text: &[u8]) -> Result<ModuleManifest, ManifestProblem> {
        if text.is_empty() {
            return Ok(ModuleManifest::default());
        }
        // As in OpenTofu, missing and null values are empty. serde alone would accept an array instead of an object.
        let content: Option<serde_json::Map<String, serde_json::Value>> =
            serde_json::from_slice(text).map_err(|error| match error.is_eof() {
                true => ManifestProblem::End,
                false => ManifestProblem::Form(error),
            })?;
        let document: Document =
            serde_json::from_value(content.unwrap_or_default().into()).map_err(ManifestProblem::Form)?;
        let mut records = BTreeMap::new();
        for mut record in document.modules.unwrap_or_default() {
            if !record.version.is_empty() && record.version().is_none() {
                return Err(ManifestProblem::Version { version: record.version, module: record.key });
            }
            if !record.source.is_empty()
                && let Ok(source) = ModuleSource::parse(&record.source)
            {
                record.source = source.to_string();
            }
            let key = record.key.clone();
            if records.insert(key.clone(), record).is_some() {
                return Err(ManifestProblem::Twice(key));
            }
        }
        Ok(ModuleManifest { records })
    }

    /// The manifest as JSON. As in Go, characters that are special in HTML or JavaScript are escaped.
    fn text(&self) -> String {
        let document = Document { modules: Some(self.records.values().cloned().collect()) };
        let text = serde_json::to_string(&document).unwrap_or_default();
        let escapes =
            [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
        escapes.iter().fold(text, |text, (plain, escape)| text.replace(*plain, escape))
    }

    /// Writes the manifest. Nothing is written if no module is called and the file does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&self, data_directory: &Path) -> Result<(), Diagnostic> {
        let folder = data_directory.join(FOLDER);
        let path = folder.join(LIST);
        if self.records.keys().all(String::is_empty) && !path.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&path, self.text()))
            .map_err(|error| problems::manifest_not_written(&path, &error))
    }

    /// Removes a module and all modules below it.
    pub fn forget(&mut self, key: &str) {
        let below = format!("{key}.");
        self.records.retain(|known, _| known != key && !known.starts_with(&below));
    }
}

/// The version constraints of a call. `None` if they cannot be parsed, which is reported.
pub fn constraints(request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<VersionConstraints> {
    let Some((text, range)) = &request.version else { return Some(VersionConstraints::any()) };
    match text.parse() {
        Ok(constraints) => Some(constraints),
        Err(error) => {
            problems.push(crate::problems::invalid_constraint(&error).at(range.clone()));
            None
        }
    }
}

/// Finds modules with the manifest, and checks the manifest against the configuration.
#[derive(Debug)]
pub struct FromManifest<'a> {
    /// The manifest.
    pub manifest: &'a ModuleManifest,
    /// The directory of the root module.
    pub root: PathBuf,
}

impl ModulePlaces for FromManifest<'_> {
    fn place(&mut self, request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let constraints = constraints(request, problems)?;
        let record = self.record(&request.key(), request.call_range, problems)?;
        let source = request.source.to_string();
        if source != record.source {
            let problem = problems::source_changed(&record.source, &source);
            problems.push(problem.at(request.source_range.clone()));
        }
        let installed = record.version();
        if !constraints.is_any() && !installed.as_ref().is_some_and(|version| constraints.allow(version)) {
            let installed = installed.as_ref().map(|version| version as &dyn Display);
            let problem = problems::version_changed(&constraints, installed);
            problems.push(problem.at(request.source_range.clone()));
        }
        Some(record.dir.clone())
    }

    fn unsourced(&mut self, path: &Module, call: &SourceRange, problems: &mut Vec<Diagnostic>) -> Option<String> {
        self.record(&path.0.join("."), call, problems).map(|record| record.dir.clone())
    }
}

impl FromManifest<'_> {
    /// The entry of a call. Reports an error if it is missing.
    fn record(&self, key: &str, call: &SourceRange, problems: &mut Vec<Diagnostic>) -> Option<&ModuleRecord> {
        let record = self.manifest.records.get(key);
        let problem = match record {
            // If an entry has no directory, its installation failed.
            Some(record) if !record.dir.is_empty() && self.root.join(&record.dir).is_dir() => return Some(record),
            Some(record) => problems::installed_directory_unreadable(&record.dir),
            None => problems::not_installed(),
        };
        problems.push(problem.at(call.clone()));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_has_the_recorded_bytes() {
        let records = [
            r#"{"Key":"","Source":"","Dir":"."}"#,
            r#"{"Key":"a","Source":"git::https://h.org/r?depth=1\u0026ref=x","Dir":".terraform/modules/a"}"#,
            r#"{"Key":"a.b","Source":"example.com/n/m/s//d","Version":"1.2.0","Dir":".terraform/modules/a.b/d"}"#,
        ];
        let text = format!("{{\"Modules\":[{}]}}", records.join(","));
        let manifest = ModuleManifest::parse(text.as_bytes()).unwrap();
        assert_eq!(manifest.text(), text);
        assert_eq!(manifest.records["a"].source, "git::https://h.org/r?depth=1&ref=x");
        let mut rest = manifest.clone();
        rest.forget("a");
        assert_eq!(rest.records.len(), 1);
        assert_eq!(ModuleManifest::parse(b"").unwrap(), ModuleManifest::default());
    }

    #[test]
    fn manifests_of_other_tools_are_read() {
        let old = r#"{"Modules":[{"Key":"a","Source":"n/m/s","Version":"v1","Dir":"x"}]}"#;
        let manifest = ModuleManifest::parse(old.as_bytes()).unwrap();
        assert_eq!(manifest.records["a"].source, "registry.opentofu.org/n/m/s");
        for bad in [
            "{",
            "[]",
            r#"{"Modules":[{"Key":"a","Source":"","Dir":""},{"Key":"a","Source":"","Dir":""}]}"#,
            r#"{"Modules":[{"Key":"a","Source":"","Version":"x","Dir":""}]}"#,
        ] {
            assert!(ModuleManifest::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(ModuleManifest::parse(b"{").unwrap_err().to_string(), "unexpected end of JSON input");
    }
}
