//! The list of installed modules, `modules/modules.json` in the data directory, in OpenTofu's form.
//!
//! Local modules are read where they are; what the list remembers of them is that `init` or `get` has seen the call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;

/// Where the list is, inside the data directory.
const LIST: &str = "modules/modules.json";

/// A module that a call leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ModuleEntry {
    /// The names of the calls on the way to it, with dots; empty for the root module.
    pub key: String,
    /// `source` as written.
    pub source: String,
    /// The version that was selected, of modules from a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its directory, relative to that of the root module.
    pub dir: String,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleList {
    entries: BTreeMap<String, ModuleEntry>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(rename = "Modules")]
    modules: Vec<ModuleEntry>,
}

impl ModuleList {
    /// What a configuration calls.
    pub fn of(root: &Arc<CompiledModule>) -> ModuleList {
        let mut list = ModuleList::default();
        let root_entry = ModuleEntry { key: String::new(), source: String::new(), version: None, dir: ".".to_owned() };
        list.entries.insert(String::new(), root_entry);
        for module in root.all() {
            for (name, child) in &module.children {
                let key = child.path.0.join(".");
                let source = module.sources.get(name).map(ToString::to_string).unwrap_or_default();
                let entry = ModuleEntry { key: key.clone(), source, version: None, dir: child.dir.clone() };
                list.entries.insert(key, entry);
            }
        }
        list
    }

    /// What `init` has seen; empty where it was not run.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(data_directory: &Path) -> Result<ModuleList, Diagnostic> {
        let path = data_directory.join(LIST);
        let failed = |why: String| {
            Diagnostic::error(
                "Failed to read the list of modules",
                format!("{}: {why}. Run \"weft init\" to write it anew.", path.display()),
            )
        };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(ModuleList::default()),
            Err(error) => return Err(failed(error.to_string())),
        };
        let document: Document = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        let entries = document.modules.into_iter().map(|entry| (entry.key.clone(), entry));
        Ok(ModuleList { entries: entries.collect() })
    }

    /// Writes it; nothing where no module is called and none was.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, data_directory: &Path) -> Result<(), Diagnostic> {
        let path = data_directory.join(LIST);
        if self.entries.len() <= 1 && !path.exists() {
            return Ok(());
        }
        let document = Document { modules: self.entries.values().cloned().collect() };
        let text = serde_json::to_string(&document).unwrap_or_default();
        let folder: PathBuf = path.parent().map(Path::to_owned).unwrap_or_default();
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, text)).map_err(|error| {
            Diagnostic::error("Cannot write the list of modules", format!("{}: {error}.", path.display()))
        })
    }

    /// The modules that are not in an older list as they are now, as lines for people.
    pub fn news<'a>(&'a self, older: &'a ModuleList) -> impl Iterator<Item = String> + 'a {
        let fresh = self.entries.values().filter(|entry| !entry.key.is_empty() && older.get(&entry.key) != Some(entry));
        fresh.map(|entry| format!("- {} in {}", entry.key, entry.dir))
    }

    fn get(&self, key: &str) -> Option<&ModuleEntry> {
        self.entries.get(key)
    }

    /// The calls of a configuration that the list does not have as they are now. What is below such a call is not
    /// looked at.
    pub fn problems(&self, module: &Arc<CompiledModule>) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for (name, source) in &module.sources {
            let range = module.calls.get(name).map(|call| (call.range.clone(), call.source.range()));
            let problem = match self.get(&module.path.child(name).0.join(".")) {
                None => Diagnostic::error(
                    "Module not installed",
                    "This module is not yet installed. Run \"weft init\" to install all modules required by this \
                     configuration.",
                ),
                Some(known) if known.source != *source => Diagnostic::error(
                    "Module source has changed",
                    "The source address was changed since this module was installed. Run \"weft init\" to install all \
                     modules required by this configuration.",
                ),
                Some(_) => {
                    if let Some(child) = module.children.get(name) {
                        problems.extend(self.problems(child));
                    }
                    continue;
                }
            };
            problems.push(match range {
                Some((call, _)) if problem.summary == "Module not installed" => problem.at(call),
                Some((_, source)) => problem.at(source),
                None => problem,
            });
        }
        problems
    }
}
