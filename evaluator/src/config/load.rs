//! Loads a tree of modules from directories.

mod files;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;
use thiserror::Error;
use weft_expressions::convert::convert;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::module_source::ModuleSource;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_graph_format::version::VersionConstraints;
use weft_syntax::{ExprKind, Expression, is_identifier};

pub(super) use self::files::LARGEST_FILE;
use self::files::{is_override, kind_of};
use super::backend::{BACKEND, BackendBlock};
use super::compile::compile_module;
use super::encryption_settings::Encryption;
use super::experiments::PROVIDER_ITERATION;
use super::module_places::{AsWritten, Below, InstalledModules, ModulePlaces, ModuleRequest};
use super::provider_links::{check_providers, unsuitable};
use super::required_version::unmet;
use super::source_files::SourceFiles;
use super::static_values::{Needing, StaticGiven, StaticInputs, StaticValues, static_text};
use super::{CallSource, CompiledModule, ModuleCall, problems};
use crate::problems::are_repeated_keys;

/// The maximum nesting of module calls. The limit stops a module that calls itself.
const DEEPEST_MODULES: usize = 100;

/// A directory that cannot be read.
#[derive(Debug, Error)]
pub enum LoadError {
    /// An error of the operating system.
    #[error("cannot read {path}: {cause}")]
    Unreadable {
        /// The directory.
        path: String,
        /// The reason.
        cause: std::io::Error,
    },
}

/// Loads the root module in `root` and all called modules. Static values can only use the defaults of variables.
///
/// File names in diagnostics are relative to `root`. The module is as complete as the files allow, and problems are
/// returned with it. For problems between modules, call [`link_problems`].
pub fn load_tree(root: &Path, installed: &InstalledModules) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
    let workspace = SmolStr::new_static("default");
    let inputs = StaticInputs { given: &|_| StaticGiven::default(), workspace, encryption: None };
    load_tree_with(root, installed, &inputs)
}

/// Like [`load_tree`], with values for the variables that static values use.
///
/// If the root module has errors, called modules are not loaded.
pub fn load_tree_with(
    root: &Path,
    installed: &InstalledModules,
    inputs: &StaticInputs<'_>,
) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
    load_tree_from(root, &mut AsWritten { root, installed }, inputs)
}

/// Like [`load_tree_with`], but looks up called modules with `places`, which may fetch them.
pub fn load_tree_from(
    root: &Path,
    places: &mut dyn ModulePlaces,
    inputs: &StaticInputs<'_>,
) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
    Loader::new(root, places, inputs).loaded()
}

/// Like [`load_tree_from`], but continues if the root module has errors. Called modules are loaded if their location is
/// known. Problems between modules are included if the root module has errors, but no called module has any. If no
/// module has errors, call [`link_problems`] for them.
pub fn load_tree_beyond(
    root: &Path,
    places: &mut dyn ModulePlaces,
    inputs: &StaticInputs<'_>,
) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
    Loader { beyond: true, ..Loader::new(root, places, inputs) }.loaded()
}

/// Loads a module below `root` as a root module, for a test that runs this module in place of the configuration. The
/// modules that it calls are looked up in `places` as if it had the path `path`.
pub fn load_tree_under(
    root: &Path,
    dir: &str,
    path: &Module,
    places: &mut dyn ModulePlaces,
    inputs: &StaticInputs<'_>,
) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
    let mut places = Below { path, places };
    let mut loader = Loader::new(root, &mut places, inputs);
    let module = Arc::new(loader.module(dir, Module::root(), None));
    if !path.is_root() {
        let backend = module.settings.backend.iter();
        loader.diagnostics.extend(backend.map(|found| problems::backend::ignored(found.range.clone())));
    }
    if !has_errors(&loader.diagnostics) {
        check_providers(&module, &mut loader.diagnostics);
    }
    (module, loader.sources, loader.diagnostics)
}

/// Loads only the parts of the root module that configure the state and its encryption.
///
/// Returns the problems of single blocks, of variables and local values, and of these parts. Duplicate names, missing
/// modules and invalid providers are not reported.
pub fn load_early(root: &Path, inputs: &StaticInputs<'_>) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
    let installed = InstalledModules::new();
    let mut places = AsWritten { root, installed: &installed };
    Loader { early: true, ..Loader::new(root, &mut places, inputs) }.loaded()
}

/// The problems of provider configurations that are passed between modules. Call this function only if all modules were
/// loaded without errors.
pub fn link_problems(root: &Arc<CompiledModule>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    check_providers(root, &mut found);
    found
}

/// Whether a directory contains configuration files.
pub fn has_configuration(dir: &Path) -> bool {
    std::fs::read_dir(dir)
        .is_ok_and(|entries| entries.flatten().any(|entry| kind_of(&entry.file_name().to_string_lossy()).is_some()))
}

struct Loader<'a> {
    root: &'a Path,
    places: &'a mut dyn ModulePlaces,
    inputs: &'a StaticInputs<'a>,
    /// Whether only the parts for [`load_early`] are loaded.
    early: bool,
    /// Whether to continue after errors in the root module.
    beyond: bool,
    /// Whether called modules have errors.
    children_failed: bool,
    statics: StaticValues,
    sources: SourceFiles,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Loader<'a> {
    fn new(root: &'a Path, places: &'a mut dyn ModulePlaces, inputs: &'a StaticInputs<'a>) -> Loader<'a> {
        Loader {
            root,
            places,
            inputs,
            early: false,
            beyond: false,
            children_failed: false,
            statics: StaticValues::new(root, &inputs.workspace),
            sources: SourceFiles::default(),
            diagnostics: Vec::new(),
        }
    }

    fn loaded(mut self) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
        let module = Arc::new(self.module(".", Module::root(), None));
        // For a tree without errors, the caller calls `link_problems` instead.
        if self.beyond && has_errors(&self.diagnostics) && !self.children_failed {
            check_providers(&module, &mut self.diagnostics);
        }
        (module, self.sources, self.diagnostics)
    }

    /// Evaluates the block that determines where the state is stored. Those of called modules have no effect.
    fn storage(&mut self, module: &mut CompiledModule) {
        let (backend, cloud) = (module.settings.backend.take(), module.settings.cloud.take());
        if !module.path.is_root() {
            self.diagnostics.extend(backend.map(|block| problems::backend::ignored(block.range.clone())));
            return;
        }
        let path = &module.path;
        let mut computed = |block: Arc<BackendBlock>| Arc::new(block.computed(BACKEND, path, &mut self.statics));
        module.settings.backend = backend.map(&mut computed);
        module.settings.cloud = cloud.map(&mut computed);
    }

    fn module(&mut self, dir: &str, path: Module, caller: Option<Arc<ModuleCall>>) -> CompiledModule {
        let before = self.diagnostics.len();
        let files = match self.files(dir) {
            Ok(files) => files,
            Err(LoadError::Unreadable { path: unreadable, cause }) => {
                self.diagnostics.push(problems::loading::unreadable_directory(&unreadable, &cause));
                return CompiledModule { path, dir: dir.to_string(), ..CompiledModule::default() };
            }
        };
        let (mut trees, mut overrides) = (Vec::new(), Vec::new());
        for name in files {
            if let Some(tree) = self.file(dir, &name) {
                if is_override(&name) { overrides.push(tree) } else { trees.push(tree) }
            }
        }
        let (mut module, together) = compile_module(path, dir, &trees, &overrides, &mut self.diagnostics);
        if !self.early {
            self.diagnostics.extend(together);
        }
        if caller.is_none() {
            self.statics.give((self.inputs.given)(&module));
        }
        self.statics.enter(&module, caller.clone());
        self.storage(&mut module);
        if caller.is_none() {
            let (block, environment) = (module.settings.encryption_block.as_deref(), self.inputs.encryption.as_deref());
            module.settings.encryption = Encryption::computed(block, environment, &mut self.statics);
        }
        let calls = if self.early { Vec::new() } else { self.static_parts(&mut module) };
        self.check_constants(&module, caller.as_deref());
        self.only_versions(&module, before);
        for called in &calls {
            let source = CallSource {
                text: called.text.clone(),
                address: called.source.to_string().into(),
                version: called.version.as_ref().map(|(text, _)| text.clone()),
            };
            module.sources.insert(called.call.name.clone(), source);
        }
        if caller.is_none() && !self.beyond && has_errors(&self.diagnostics[before..]) {
            return module;
        }
        let before = self.diagnostics.len();
        self.children(&mut module, calls);
        self.children_failed |= has_errors(&self.diagnostics[before..]);
        module
    }

    /// Evaluates the parts of a module that are needed before planning, except its variables. Returns the calls whose
    /// sources are known.
    fn static_parts(&mut self, module: &mut CompiledModule) -> Vec<Called> {
        for written in module.settings.provider_metas.values_mut() {
            *written = Arc::new(written.computed("provider_meta", &module.path, &mut self.statics));
        }
        for call in &module.settings.unsourced_calls {
            // Only the problems of the version matter.
            let _ = call.version.as_ref().map(|version| self.version_of(module, &call.name, version));
        }
        let calls: Vec<_> = module.calls.values().cloned().collect();
        let calls = calls.into_iter().filter_map(|call| self.called(module, call)).collect();
        self.check_iteration(module);
        calls
    }

    /// If the module requires a version of OpenTofu that Weft does not implement, drops the other problems of the
    /// module. `before` is the number of diagnostics that were reported before this module.
    fn only_versions(&mut self, module: &CompiledModule, before: usize) {
        let unmet: Vec<Diagnostic> = module.settings.required_versions.iter().filter_map(unmet).collect();
        if !unmet.is_empty() {
            self.diagnostics.truncate(before);
            self.diagnostics.extend(unmet);
        }
    }

    /// Loads the modules that a module calls.
    fn children(&mut self, module: &mut CompiledModule, calls: Vec<Called>) {
        let known: BTreeSet<SmolStr> = calls.iter().map(|called| called.call.name.clone()).collect();
        let unsourced = module.calls.values().filter(|call| !self.early && !known.contains(&call.name));
        for call in unsourced.cloned().collect::<Vec<_>>() {
            let path = module.path.child(&call.name);
            if path.0.len() <= DEEPEST_MODULES
                && let Some(dir) = self.places.unsourced(&path, &call.range, &mut self.diagnostics)
            {
                let child = self.module(&dir, path, Some(call.clone()));
                module.children.insert(call.name.clone(), Arc::new(child));
            }
        }
        // As in OpenTofu, a call without a source is also reported as not installed, except in the root module.
        for call in module.settings.unsourced_calls.iter().filter(|_| !self.early && !module.path.is_root()) {
            let path = module.path.child(&call.name);
            self.places.unsourced(&path, &call.range, &mut self.diagnostics);
        }
        for Called { call, source, version, .. } in calls {
            let child_path = module.path.child(&call.name);
            if child_path.0.len() > DEEPEST_MODULES {
                self.diagnostics.push(problems::loading::nested_too_deeply(DEEPEST_MODULES, &call.range));
                continue;
            }
            let request = ModuleRequest {
                path: &child_path,
                caller_dir: &module.dir.clone(),
                source: &source,
                version: version.as_ref().map(|(text, range)| (text.as_str(), range.clone())),
                call_range: &call.range,
                source_range: call.source.range(),
            };
            if let Some(child_dir) = self.places.place(&request, &mut self.diagnostics) {
                let child = self.module(&child_dir, child_path, Some(call.clone()));
                module.children.insert(call.name.clone(), Arc::new(child));
            }
        }
    }

    /// The source and version of a call. If they are unknown, reports why.
    fn called(&mut self, module: &CompiledModule, call: Arc<ModuleCall>) -> Option<Called> {
        let version = match &call.version {
            Some(written) => match self.version_of(module, &call.name, written) {
                Ok(text) => text.map(|text| (text, written.range())),
                // The version is unknown, but the source of the call is still checked.
                Err(NoVersion) => {
                    let text = self.source_text(module, &call)?;
                    self.parsed_source(&call, &text, true);
                    return None;
                }
            },
            None => None,
        };
        let text = self.source_text(module, &call)?;
        let source = self.parsed_source(&call, &text, version.is_some())?;
        // An invalid name of a call was already reported. No module can be installed under such a name.
        is_identifier(&call.name).then_some(Called { call, text, source, version })
    }

    /// The address in the text of a source. With a version, only a registry can have the module.
    fn parsed_source(&mut self, call: &ModuleCall, text: &str, versioned: bool) -> Option<ModuleSource> {
        let parsed = if versioned { ModuleSource::parse_registry(text) } else { ModuleSource::parse(text) };
        let invalid = |error| problems::loading::invalid_source(&error, versioned, call.source.range());
        parsed.map_err(|error| self.diagnostics.push(invalid(error))).ok()
    }

    /// The source of a call as text. If the source is unknown, reports why.
    fn source_text(&mut self, module: &CompiledModule, call: &ModuleCall) -> Option<SmolStr> {
        if let Some(text) = call.literal_source() {
            return Some(text);
        }
        let address = module.path.child(&call.name);
        let needing = Needing::new(format!("{address}.source"), call.source.range());
        let value = self.statics.evaluate(&module.path, &call.source, &needing, &mut self.diagnostics)?;
        // The problem is already reported.
        if matches!(call.source.kind(), ExprKind::Error) {
            return None;
        }
        static_text(&value, &needing.text, &call.source.range(), &mut self.diagnostics)
    }

    /// The version of a call as text. A null version counts as no version.
    fn version_of(
        &mut self,
        module: &CompiledModule,
        call: &SmolStr,
        written: &Expression,
    ) -> Result<Option<SmolStr>, NoVersion> {
        let address = module.path.child(call);
        let needing = Needing::new(format!("{address}.version"), written.range());
        let value = self.statics.evaluate(&module.path, written, &needing, &mut self.diagnostics).ok_or(NoVersion)?;
        if value.is_null() {
            return Ok(None);
        }
        let text = convert(&value, &Type::String).ok();
        self.diagnostics.push(match text.as_ref().and_then(Value::as_str) {
            _ if value.contains_sensitive() => problems::loading::sensitive_version(written.range()),
            _ if value.deep().ephemeral => problems::loading::ephemeral_version(written.range()),
            Some(text) if text.parse::<VersionConstraints>().is_ok() => return Ok(Some(text.into())),
            Some(text) => problems::versions::not_a_constraint(text, written.range()),
            None => problems::loading::version_not_text(written.range()),
        });
        Err(NoVersion)
    }

    /// Evaluates the `for_each` of the provider blocks of a module.
    fn check_iteration(&mut self, module: &CompiledModule) {
        for block in module.providers.values() {
            let Some(expression) = &block.for_each else { continue };
            let text = match &block.alias {
                Some(alias) => format!("provider.{}.{alias}.for_each", block.local_name),
                None => format!("provider.{}.for_each", block.local_name),
            };
            let needing = Needing { experiment: Some(PROVIDER_ITERATION), ..Needing::new(text, expression.range()) };
            let before = self.diagnostics.len();
            // With the experiment `provider_iteration`, evaluation handles any value that is known at plan.
            let value = match module.settings.experiments.provider_iteration {
                true => None,
                false => self.statics.attempt(&module.path, expression, &needing, &mut self.diagnostics),
            };
            let Some((value, failed)) = value else { continue };
            if failed && are_repeated_keys(self.diagnostics.get(before..).unwrap_or_default(), expression) {
                continue;
            }
            // As in OpenTofu, a value that could not be computed is also reported as unknown.
            let unknown = || (failed && !value.is_known()).then(problems::loading::unknown_provider_keys);
            if let Some(why) = unsuitable(&value).or_else(unknown) {
                self.diagnostics.push(problems::loading::unsuitable_provider_keys(why, expression.range()));
            }
        }
    }

    /// Reports variables that must be known before planning, but are not.
    fn check_constants(&mut self, module: &CompiledModule, caller: Option<&ModuleCall>) {
        for variable in module.variables.values().filter(|variable| variable.constant == Some(true)) {
            let left_out = caller.is_some_and(|call| !call.arguments.contains_key(&variable.name));
            if left_out && variable.has_default() {
                continue;
            }
            let at = caller.map(|call| call.range.clone()).unwrap_or_default();
            let needing = Needing::new(module.path.to_string(), at);
            self.statics.variable(&module.path, &variable.name, &needing, &mut self.diagnostics);
        }
    }
}

/// A call with a known source.
struct Called {
    call: Arc<ModuleCall>,
    text: SmolStr,
    source: ModuleSource,
    /// The version as text, with its range.
    version: Option<(SmolStr, SourceRange)>,
}

/// An unknown version. The problem is already reported.
struct NoVersion;
