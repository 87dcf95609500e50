//! Reading a tree of modules from directories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use smol_str::SmolStr;
use thiserror::Error;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::source::SourceRange;
use weft_syntax::Tree;

use super::compile::compile_module;
use super::provider_links::{check_providers, check_references, unsuitable, warn_of_same};
use super::required_version::unmet;
use super::static_values::{Needing, StaticInputs, StaticValues, static_text};
use super::{CompiledModule, ModuleCall};
use crate::glue::GivenVariables;

/// Deepest nesting of module calls. A module that calls itself would otherwise never end.
const DEEPEST_MODULES: usize = 100;
/// Largest configuration file in bytes; larger ones are no hand-written text.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// Where the modules of calls that are not local directories were installed: directory by the path of the call.
pub type Installed = BTreeMap<Module, PathBuf>;

/// All files that were read, by the name that diagnostics use.
pub type Sources = BTreeMap<SmolStr, Arc<Tree>>;

/// A directory that cannot be read.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The operating system refused.
    #[error("cannot read {path}: {cause}")]
    Unreadable {
        /// What.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
}

/// Reads the root module in `root` and everything that it calls, where static values come from defaults alone.
///
/// File names in diagnostics are relative to `root`. The module is whole as far as the files allow; whatever is
/// wrong comes back beside it. What is wrong between modules is said by [`link_problems`].
pub fn load_tree(root: &Path, installed: &Installed) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
    let inputs = StaticInputs { given: &|_| GivenVariables::new(), workspace: SmolStr::new_static("default") };
    load_tree_with(root, installed, &inputs)
}

/// The same with values for the variables that sources of modules and `for_each` of providers may come from.
///
/// When the root module itself has errors, nothing that it calls is read.
pub fn load_tree_with(
    root: &Path,
    installed: &Installed,
    inputs: &StaticInputs<'_>,
) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
    let mut loader = Loader {
        root,
        installed,
        inputs,
        statics: StaticValues::new(root, &inputs.workspace),
        sources: Sources::new(),
        diagnostics: Vec::new(),
    };
    let module = Arc::new(loader.module(".", Module::root(), None));
    let Loader { sources, diagnostics, .. } = loader;
    (module, sources, diagnostics)
}

/// What is wrong with how providers are handed from module to module. To be asked when all modules were read without
/// errors.
pub fn link_problems(root: &Arc<CompiledModule>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    check_providers(root, &mut found);
    found
}

/// Whether a directory holds configuration files.
pub fn has_configuration(dir: &Path) -> bool {
    std::fs::read_dir(dir)
        .is_ok_and(|entries| entries.flatten().any(|entry| kind_of(&entry.file_name().to_string_lossy()).is_some()))
}

struct Loader<'a> {
    root: &'a Path,
    installed: &'a Installed,
    inputs: &'a StaticInputs<'a>,
    statics: StaticValues,
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Native,
    Json,
}

/// What kind of configuration file a name is of; none when it is not one.
fn kind_of(name: &str) -> Option<FileKind> {
    if name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#')) {
        return None;
    }
    if name.ends_with(".tf") || name.ends_with(".tofu") {
        return Some(FileKind::Native);
    }
    (name.ends_with(".tf.json") || name.ends_with(".tofu.json")).then_some(FileKind::Json)
}

/// The name without what tells the products apart, to see which file hides which.
fn stem_of(name: &str) -> &str {
    [".tofu.json", ".tf.json", ".tofu", ".tf"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Whether a configuration file overrides the others.
fn is_override(name: &str) -> bool {
    let stem = stem_of(name);
    stem == "override" || stem.ends_with("_override")
}

impl Loader<'_> {
    fn module(&mut self, dir: &str, path: Module, caller: Option<Arc<ModuleCall>>) -> CompiledModule {
        let before = self.diagnostics.len();
        let files = match self.files(dir) {
            Ok(files) => files,
            Err(error) => {
                self.diagnostics.push(Diagnostic::error("Unreadable module directory", format!("{error}.")));
                return CompiledModule { path, dir: dir.to_string(), ..CompiledModule::default() };
            }
        };
        let (mut trees, mut overrides) = (Vec::new(), Vec::new());
        for name in files {
            if let Some(tree) = self.file(dir, &name) {
                if is_override(&name) { overrides.push(tree) } else { trees.push(tree) }
            }
        }
        let mut module = compile_module(path, dir, &trees, &overrides, &mut self.diagnostics);
        if caller.is_none() {
            self.statics.give((self.inputs.given)(&module));
        }
        self.statics.enter(&module, caller.clone());
        self.check_alone(&module, caller.as_deref());
        if let Some(written) = module.backend.take() {
            module.backend = Some(Arc::new(written.computed(&mut self.statics)));
        }
        if caller.is_none() && has_errors(&self.diagnostics[before..]) {
            return module;
        }
        let calls: Vec<_> = module.calls.values().cloned().collect();
        for call in calls {
            let child_path = module.path.child(&call.name);
            if child_path.0.len() > DEEPEST_MODULES {
                self.diagnostics.push(
                    Diagnostic::error(
                        "Module calls nested too deeply",
                        format!("Modules call each other {DEEPEST_MODULES} levels deep here; one may call itself."),
                    )
                    .at(call.range.clone()),
                );
                continue;
            }
            let Some(source) = self.source_of(&module, &call) else { continue };
            module.sources.insert(call.name.clone(), source.clone());
            let child_dir = if source.starts_with("./") || source.starts_with("../") {
                Some(joined(dir, &source))
            } else {
                self.installed.get(&child_path).map(|p| p.to_string_lossy().into_owned())
            };
            match child_dir {
                Some(child_dir) if self.root.join(&child_dir).is_dir() => {
                    let child = self.module(&child_dir, child_path, Some(call.clone()));
                    module.children.insert(call.name.clone(), Arc::new(child));
                }
                Some(child_dir) => self.diagnostics.push(
                    Diagnostic::error(
                        "Module not installed",
                        format!(
                            "The directory {child_dir} of module {:?} cannot be read: it is not there.",
                            call.name.as_str()
                        ),
                    )
                    .at(call.range.clone()),
                ),
                None => self.diagnostics.push(
                    Diagnostic::error(
                        "Module not installed",
                        format!(
                            "The source {:?} of module {:?} is no local directory, and other sources are not supported \
                             yet: write a path that begins with ./ or ../.",
                            source.as_str(),
                            call.name.as_str()
                        ),
                    )
                    .at(call.source.range()),
                ),
            }
        }
        module
    }

    /// Where a call leads, as text; why it cannot be known is reported.
    fn source_of(&mut self, module: &CompiledModule, call: &ModuleCall) -> Option<SmolStr> {
        if let Some(text) = call.literal_source() {
            return Some(text);
        }
        let address = module.path.child(&call.name);
        // What cannot be computed is said of the values that it comes from, not of the source.
        let needing = Needing { text: format!("{address}.source"), range: SourceRange::default() };
        let value = self.statics.evaluate(&module.path, &call.source, &needing, &mut self.diagnostics)?;
        static_text(&value, &needing.text, &call.source.range(), &mut self.diagnostics)
    }

    /// What can be said of a module when its callers are known, but nothing that it calls.
    fn check_alone(&mut self, module: &CompiledModule, caller: Option<&ModuleCall>) {
        self.diagnostics.extend(module.required_versions.iter().filter_map(unmet));
        check_references(module, &mut self.diagnostics);
        for block in module.providers.values() {
            let Some(expression) = &block.for_each else { continue };
            let text = match &block.alias {
                Some(alias) => format!("provider.{}.{alias}.for_each", block.local_name),
                None => format!("provider.{}.for_each", block.local_name),
            };
            let needing = Needing { text, range: expression.range() };
            let value = self.statics.evaluate(&module.path, expression, &needing, &mut self.diagnostics);
            if let Some(detail) = value.and_then(|value| unsuitable(&value)) {
                let problem = Diagnostic::error("Invalid for_each argument", detail);
                self.diagnostics.push(problem.at(expression.range()));
            }
            warn_of_same(module, block, expression, &mut self.diagnostics);
        }
        let Some(call) = caller else { return };
        for variable in module.variables.values().filter(|variable| variable.constant == Some(true)) {
            if !call.arguments.contains_key(&variable.name) {
                continue;
            }
            if !self.statics.variable(&module.path, &variable.name, &mut self.diagnostics) {
                self.diagnostics.push(
                    Diagnostic::error(
                        "Unable to compute static value",
                        format!(
                            "{} depends on {}:var.{}, which is not available before planning: the variable is const.",
                            module.path, module.path, variable.name
                        ),
                    )
                    .at(call.range.clone()),
                );
            }
        }
    }

    /// The configuration files of a directory in order. A `.tofu` file hides the `.tf` file of the same name.
    fn files(&self, dir: &str) -> Result<Vec<String>, LoadError> {
        let path = self.root.join(dir);
        let unreadable = |cause| LoadError::Unreadable { path: dir.to_string(), cause };
        let mut names: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind_of(&name).is_some() && !entry.path().is_dir() {
                names.push(name);
            }
        }
        names.sort();
        let hidden: Vec<String> = names
            .iter()
            .filter(|name| {
                let twin = match kind_of(name) {
                    Some(FileKind::Native) => format!("{}.tofu", stem_of(name)),
                    _ => format!("{}.tofu.json", stem_of(name)),
                };
                !name.contains(".tofu") && names.contains(&twin)
            })
            .cloned()
            .collect();
        names.retain(|name| !hidden.contains(name));
        Ok(names)
    }

    fn file(&mut self, dir: &str, name: &str) -> Option<Arc<Tree>> {
        let shown = if dir == "." { name.to_string() } else { format!("{dir}/{name}") };
        // A directory that several calls lead to is read once.
        if let Some(found) = self.sources.get(shown.as_str()) {
            return Some(found.clone());
        }
        let path = self.root.join(dir).join(name);
        let refuse = |loader: &mut Self, summary: &str, detail: String| {
            loader.diagnostics.push(Diagnostic::error(summary, detail));
            None
        };
        match std::fs::metadata(&path) {
            Ok(found) if found.len() > LARGEST_FILE => {
                return refuse(
                    self,
                    "Configuration file too large",
                    format!("The file {shown} has {} bytes; the limit is {LARGEST_FILE}.", found.len()),
                );
            }
            _ => {}
        }
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(cause) => {
                return refuse(self, "Failed to read file", format!("The file {shown} cannot be read: {cause}."));
            }
        };
        let (tree, problems) = match kind_of(name) {
            Some(FileKind::Json) => weft_syntax::parse_json_bytes(&shown, &bytes),
            _ => weft_syntax::parse_bytes(&shown, &bytes),
        };
        self.diagnostics.extend(problems);
        self.sources.insert(shown.into(), tree.clone());
        Some(tree)
    }
}

/// `dir` and a relative source as one path, without `.` and inner `..`.
fn joined(dir: &str, source: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/').chain(source.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_string() } else { parts.join("/") }
}
