//! Reading a tree of modules from directories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use smol_str::SmolStr;
use thiserror::Error;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;
use weft_syntax::{Expression, Tree};

use super::blocks::MODULE_ARGUMENTS;
use super::compile::compile_module;
use super::content::did_you_mean;
use super::provider_links::check_providers;
use super::static_values::check_static;
use super::{CompiledModule, ModuleCall};

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

/// Reads the root module in `root` and everything that it calls.
///
/// File names in diagnostics are relative to `root`. The module is whole as far as the files allow; whatever is
/// wrong comes back beside it.
pub fn load_tree(root: &Path, installed: &Installed) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
    let mut loader = Loader { root, installed, sources: Sources::new(), diagnostics: Vec::new() };
    let module = Arc::new(loader.module(".", Module::root()));
    let Loader { sources, mut diagnostics, .. } = loader;
    check_providers(&module, &mut diagnostics);
    check_static(&module, &mut diagnostics);
    (module, sources, diagnostics)
}

/// Whether a directory holds configuration files.
pub fn has_configuration(dir: &Path) -> bool {
    std::fs::read_dir(dir)
        .is_ok_and(|entries| entries.flatten().any(|entry| kind_of(&entry.file_name().to_string_lossy()).is_some()))
}

struct Loader<'a> {
    root: &'a Path,
    installed: &'a Installed,
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

impl Loader<'_> {
    fn module(&mut self, dir: &str, path: Module) -> CompiledModule {
        let files = match self.files(dir) {
            Ok(files) => files,
            Err(error) => {
                self.diagnostics.push(Diagnostic::error("Unreadable module directory", format!("{error}.")));
                return CompiledModule { path, dir: dir.to_string(), ..CompiledModule::default() };
            }
        };
        let mut trees = Vec::new();
        for name in files {
            if let Some(tree) = self.file(dir, &name) {
                trees.push(tree);
            }
        }
        let mut module = compile_module(path, dir, &trees, &mut self.diagnostics);
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
            let child_dir = if call.source.starts_with("./") || call.source.starts_with("../") {
                Some(joined(dir, &call.source))
            } else {
                self.installed.get(&child_path).map(|p| p.to_string_lossy().into_owned())
            };
            match child_dir {
                Some(child_dir) if self.root.join(&child_dir).is_dir() => {
                    let child = self.module(&child_dir, child_path);
                    check_arguments(&call, &child, &mut self.diagnostics);
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
                            call.source.as_str(),
                            call.name.as_str()
                        ),
                    )
                    .at(call.source_range.clone()),
                ),
            }
        }
        module
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
        if kind_of(name) == Some(FileKind::Json) {
            return refuse(
                self,
                "JSON syntax not supported yet",
                format!("The file {shown} is in JSON syntax, which this version of Weft does not read yet."),
            );
        }
        let stem = stem_of(name);
        if stem == "override" || stem.ends_with("_override") {
            return refuse(
                self,
                "Override files not supported yet",
                format!("The file {shown} is an override file, which this version of Weft does not merge yet."),
            );
        }
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
        let (tree, problems) = weft_syntax::parse_bytes(&shown, &bytes);
        self.diagnostics.extend(problems);
        self.sources.insert(shown.into(), tree.clone());
        Some(tree)
    }
}

/// Attributes of an object that is written out for a variable, and that the type of the variable does not have.
fn check_ignored(name: &str, value: &Expression, ty: &Type, diagnostics: &mut Vec<Diagnostic>) {
    let mut pending = vec![(value.without_parentheses(), ty.clone())];
    while let Some((value, ty)) = pending.pop() {
        match &ty {
            Type::Object(object) => {
                for (key, inner) in value.as_map().unwrap_or_default() {
                    let text = key.as_keyword().map(SmolStr::new).or_else(|| key.as_string_literal());
                    let Some(text) = text else { continue };
                    match object.attributes.get(&text) {
                        Some(ty) => pending.push((inner.without_parentheses(), ty.clone())),
                        None => diagnostics.push(
                            Diagnostic::warning(
                                "Object attribute is ignored",
                                format!(
                                    "The object type of input variable {name:?} has no attribute {:?}, so what is given \
                                     here is not used.",
                                    text.as_str()
                                ),
                            )
                            .at(key.range()),
                        ),
                    }
                }
            }
            Type::List(element) | Type::Set(element) => {
                let items = value.as_list().unwrap_or_default();
                pending.extend(items.into_iter().map(|item| (item.without_parentheses(), (**element).clone())));
            }
            Type::Map(element) => {
                let items = value.as_map().unwrap_or_default();
                pending.extend(items.into_iter().map(|(_, item)| (item.without_parentheses(), (**element).clone())));
            }
            _ => {}
        }
    }
}

/// Arguments of a call that the module has no variable for, and variables that need one.
fn check_arguments(call: &ModuleCall, child: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    for (name, (value, range)) in &call.arguments {
        if let Some(variable) = child.variables.get(name) {
            check_ignored(name, value, &variable.ty, diagnostics);
        }
        if !child.variables.contains_key(name) {
            let hint = did_you_mean(name, child.variables.keys().map(|n| n.as_str()));
            diagnostics.push(
                Diagnostic::error(
                    "Unsupported argument",
                    format!(
                        "An argument named {:?} is not expected here: the module has no such variable.{hint}",
                        name.as_str()
                    ),
                )
                .at(range.clone()),
            );
        }
    }
    for variable in child.variables.values() {
        let reserved = MODULE_ARGUMENTS.contains(&variable.name.as_str());
        if variable.default.is_none() && !reserved && !call.arguments.contains_key(&variable.name) {
            diagnostics.push(
                Diagnostic::error(
                    "Missing required argument",
                    format!("The argument {:?} is required, but it is not there.", variable.name.as_str()),
                )
                .at(call.range.clone()),
            );
        }
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
