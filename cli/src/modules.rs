//! The list of installed modules, `modules/modules.json` in the data directory, in OpenTofu's form and bytes.
//!
//! Local modules are read where they are; what the list remembers of them is that `init` or `get` has seen the call.
//! [`install`] writes the list, [`FromManifest`] finds modules by it.

pub mod install;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weft_evaluator::config::{ModulePlaces, ModuleRequest};
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::ModuleSource;
use weft_graph_format::source::SourceRange;
use weft_graph_format::version::{Version, VersionConstraints, parse_abbreviated};

/// The folder of modules, inside the data directory.
pub const FOLDER: &str = "modules";
/// The list, inside that folder.
const LIST: &str = "modules.json";

/// A module that a call leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ModuleRecord {
    /// The names of the calls on the way to it, with dots; empty for the root module.
    pub key: String,
    /// Where it came from, in the one form of its source.
    pub source: String,
    /// The version that was selected, of modules from a registry.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Its directory, relative to that of the root module, or absolute.
    pub dir: String,
}

impl ModuleRecord {
    /// The version, read.
    pub fn version(&self) -> Option<Version> {
        parse_abbreviated(&self.version)
    }
}

/// The list, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleManifest {
    /// What is installed.
    pub records: BTreeMap<String, ModuleRecord>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(rename = "Modules", default)]
    modules: Vec<ModuleRecord>,
}

impl ModuleManifest {
    /// Reads the list in a data directory; empty where there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(data_directory: &Path) -> Result<ModuleManifest, Diagnostic> {
        let path = data_directory.join(FOLDER).join(LIST);
        let failed = |why: String| {
            Diagnostic::error(
                "Failed to read modules manifest file",
                format!("{}: {why}. Run \"weft init\" to write it anew.", path.display()),
            )
        };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(ModuleManifest::default()),
            Err(error) => return Err(failed(error.to_string())),
        };
        ModuleManifest::parse(&text).map_err(failed)
    }

    /// Reads the text of a list. Sources of older lists are brought to their one form.
    fn parse(text: &[u8]) -> Result<ModuleManifest, String> {
        if text.is_empty() {
            return Ok(ModuleManifest::default());
        }
        // What is no object, an array would do for the fields of one.
        let content: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let document: Document = serde_json::from_value(content.into()).map_err(|error| error.to_string())?;
        let mut records = BTreeMap::new();
        for mut record in document.modules {
            if !record.version.is_empty() && record.version().is_none() {
                return Err(format!("{:?} is no version of the module {:?}", record.version, record.key));
            }
            if !record.source.is_empty()
                && let Ok(source) = ModuleSource::parse(&record.source)
            {
                record.source = source.to_string();
            }
            let key = record.key.clone();
            if records.insert(key.clone(), record).is_some() {
                return Err(format!("the module {key:?} stands in it twice"));
            }
        }
        Ok(ModuleManifest { records })
    }

    /// As text. JSON as Go writes it: what could end a script in a page is escaped.
    fn text(&self) -> String {
        let document = Document { modules: self.records.values().cloned().collect() };
        let text = serde_json::to_string(&document).unwrap_or_default();
        let escapes =
            [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
        escapes.iter().fold(text, |text, (plain, escape)| text.replace(*plain, escape))
    }

    /// Writes it; nothing where no module is called and none was.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, data_directory: &Path) -> Result<(), Diagnostic> {
        let folder = data_directory.join(FOLDER);
        let path = folder.join(LIST);
        if self.records.keys().all(String::is_empty) && !path.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, self.text())).map_err(|error| {
            Diagnostic::error("Failed to update module manifest", format!("{}: {error}.", path.display()))
        })
    }

    /// Forgets a module and all below it.
    pub fn forget(&mut self, key: &str) {
        let below = format!("{key}.");
        self.records.retain(|known, _| known != key && !known.starts_with(&below));
    }
}

/// What a call asks of the version; none where that cannot be read, which is reported.
pub fn constraints(request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<VersionConstraints> {
    let Some((text, range)) = &request.version else { return Some(VersionConstraints::any()) };
    match text.parse() {
        Ok(constraints) => Some(constraints),
        Err(error) => {
            let detail = format!("This is no version constraint: {error}. Write, for example, \"~> 1.2\".");
            problems.push(Diagnostic::error("Invalid version constraint", detail).at(range.clone()));
            None
        }
    }
}

/// Finds modules where the list says that they are, and holds the list against the configuration.
#[derive(Debug)]
pub struct FromManifest<'a> {
    /// The list.
    pub manifest: &'a ModuleManifest,
    /// The directory of the root module.
    pub root: PathBuf,
}

/// What to do about modules that are not as the configuration wants them.
const INSTALL: &str = "Run \"weft init\" to install all modules required by this configuration.";

impl ModulePlaces for FromManifest<'_> {
    fn place(&mut self, request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let constraints = constraints(request, problems)?;
        let record = self.record(&request.key(), request.call_range, problems)?;
        let source = request.source.to_string();
        let changed = |summary: &str, detail: String| {
            Diagnostic::error(summary, format!("{detail} {INSTALL}")).at(request.source_range.clone())
        };
        if source != record.source {
            let detail = format!(
                "The source address was changed from {:?} to {source:?} since this module was installed.",
                record.source
            );
            problems.push(changed("Module source has changed", detail));
        }
        let installed = record.version();
        if !constraints.is_any() && !installed.as_ref().is_some_and(|version| constraints.allow(version)) {
            let is = installed.map_or_else(|| "there is none".to_owned(), |version| format!("it is {version}"));
            let detail =
                format!("The version of this module was to be {constraints} by now, and of what is installed {is}.");
            problems.push(changed("Module version requirements have changed", detail));
        }
        Some(record.dir.clone())
    }

    fn unsourced(&mut self, path: &Module, call: &SourceRange, problems: &mut Vec<Diagnostic>) -> Option<String> {
        self.record(&path.0.join("."), call, problems).map(|record| record.dir.clone())
    }
}

impl FromManifest<'_> {
    /// What the list says of a call; that it says nothing is reported.
    fn record(&self, key: &str, call: &SourceRange, problems: &mut Vec<Diagnostic>) -> Option<&ModuleRecord> {
        let record = self.manifest.records.get(key);
        let detail = match record {
            // Without a directory it was not found when it was to be installed.
            Some(record) if !record.dir.is_empty() && self.root.join(&record.dir).is_dir() => return Some(record),
            Some(record) => format!("The directory {:?} of this module cannot be read.", record.dir),
            None => "This module is not yet installed.".to_owned(),
        };
        problems.push(Diagnostic::error("Module not installed", format!("{detail} {INSTALL}")).at(call.clone()));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_the_list() {
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
    fn lists_of_others() {
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
    }
}
