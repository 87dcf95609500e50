//! Reading a tree of modules from directories.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;
use thiserror::Error;
use weft_expressions::convert::convert;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::module_source::{ModuleSource, ModuleSourceError};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{ExprKind, Expression, Tree, is_identifier};

pub(super) use self::files::LARGEST_FILE;
use self::files::{is_override, kind_of};
use super::compile::compile_module;
use super::encryption::Encryption;
use super::module_places::{AsWritten, Below, Installed, ModulePlaces, ModuleRequest};
use super::provider_links::{check_providers, unsuitable};
use super::required_version::unmet;
use super::static_values::{Needing, StaticGiven, StaticInputs, StaticValues, static_text};
use super::{CallSource, CompiledModule, ModuleCall};

/// Deepest nesting of module calls. A module that calls itself would otherwise never end.
const DEEPEST_MODULES: usize = 100;

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
    let workspace = SmolStr::new_static("default");
    let inputs = StaticInputs { given: &|_| StaticGiven::default(), workspace, encryption: None };
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
    load_tree_from(root, &mut AsWritten { root, installed }, inputs)
}

/// The same where somebody else knows where modules are, and may fetch them when they are asked for.
pub fn load_tree_from(
    root: &Path,
    places: &mut dyn ModulePlaces,
    inputs: &StaticInputs<'_>,
) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
    Loader::new(root, places, inputs).loaded()
}

/// The same, going on when the root module has errors: what its calls lead to is read as far as it is known where that
/// is. What is wrong between modules is said with the rest, unless called modules have errors.
pub fn load_tree_beyond(
    root: &Path,
    places: &mut dyn ModulePlaces,
    inputs: &StaticInputs<'_>,
) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
    Loader { beyond: true, ..Loader::new(root, places, inputs) }.loaded()
}

/// Reads a module below `root` as a root module of its own: what a test runs in place of the configuration. `path` is what
/// its calls are looked for under.
pub fn load_tree_under(
    root: &Path,
    dir: &str,
    path: &Module,
    places: &mut dyn ModulePlaces,
    inputs: &StaticInputs<'_>,
) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
    let mut places = Below { path, places };
    let mut loader = Loader::new(root, &mut places, inputs);
    let module = Arc::new(loader.module(dir, Module::root(), None));
    if !has_errors(&loader.diagnostics) {
        check_providers(&module, &mut loader.diagnostics);
    }
    (module, loader.sources, loader.diagnostics)
}

/// Reads of the root module what says where its state is and how it is sealed.
///
/// Of its problems those come back that are about one block each, about variables and local values, and about what was
/// asked for. A name that is declared twice, a module that is not there or a provider that cannot be are none of them.
pub fn load_early(root: &Path, inputs: &StaticInputs<'_>) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
    let installed = Installed::new();
    let mut places = AsWritten { root, installed: &installed };
    Loader { early: true, ..Loader::new(root, &mut places, inputs) }.loaded()
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
    places: &'a mut dyn ModulePlaces,
    inputs: &'a StaticInputs<'a>,
    /// Only for [`load_early`].
    early: bool,
    /// Errors of the root module do not end it.
    beyond: bool,
    /// Called modules have errors.
    children_failed: bool,
    statics: StaticValues,
    sources: Sources,
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
            sources: Sources::new(),
            diagnostics: Vec::new(),
        }
    }

    fn loaded(mut self) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
        let module = Arc::new(self.module(".", Module::root(), None));
        // Otherwise who reads a tree without errors asks for the links.
        if self.beyond && has_errors(&self.diagnostics) && !self.children_failed {
            check_providers(&module, &mut self.diagnostics);
        }
        (module, self.sources, self.diagnostics)
    }

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
        let (mut module, together) = compile_module(path, dir, &trees, &overrides, &mut self.diagnostics);
        if !self.early {
            self.diagnostics.extend(together);
        }
        if caller.is_none() {
            self.statics.give((self.inputs.given)(&module));
        }
        self.statics.enter(&module, caller.clone());
        if let Some(written) = module.settings.backend.take() {
            module.settings.backend = Some(Arc::new(written.computed("backend", &module.path, &mut self.statics)));
        }
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

    /// What of a module is computed before planning, beside its variables. Its calls come back, as far as they lead
    /// anywhere.
    fn static_parts(&mut self, module: &mut CompiledModule) -> Vec<Called> {
        for written in module.settings.provider_metas.values_mut() {
            *written = Arc::new(written.computed("provider_meta", &module.path, &mut self.statics));
        }
        let calls: Vec<_> = module.calls.values().cloned().collect();
        let calls = calls.into_iter().filter_map(|call| self.called(module, call)).collect();
        self.check_iteration(module);
        calls
    }

    /// A module that is made for another version is not looked at any closer: nothing else is said of it.
    fn only_versions(&mut self, module: &CompiledModule, before: usize) {
        let unmet: Vec<Diagnostic> = module.settings.required_versions.iter().filter_map(unmet).collect();
        if !unmet.is_empty() {
            self.diagnostics.truncate(before);
            self.diagnostics.extend(unmet);
        }
    }

    /// Reads what a module calls.
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
        for Called { call, source, version, .. } in calls {
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

    /// Where a call leads and with which version; why it cannot be known is reported.
    fn called(&mut self, module: &CompiledModule, call: Arc<ModuleCall>) -> Option<Called> {
        let version = match &call.version {
            Some(written) => match self.version_of(module, &call, written) {
                Ok(text) => text.map(|text| (text, written.range())),
                // The source is looked at all the same.
                Err(NoVersion) => {
                    self.source_text(module, &call)?;
                    return None;
                }
            },
            None => None,
        };
        let text = self.source_text(module, &call)?;
        let parsed = match version {
            Some(_) => ModuleSource::parse_registry(&text),
            None => ModuleSource::parse(&text),
        };
        let source = match parsed {
            Ok(source) => source,
            Err(error) => {
                self.diagnostics.push(no_source(&error, version.is_some()).at(call.source.range()));
                return None;
            }
        };
        // Such a name was reported where the call was read; it is no name of a folder.
        is_identifier(&call.name).then_some(Called { call, text, source, version })
    }

    /// Where a call leads, as text; why it cannot be known is reported.
    fn source_text(&mut self, module: &CompiledModule, call: &ModuleCall) -> Option<SmolStr> {
        if let Some(text) = call.literal_source() {
            return Some(text);
        }
        let address = module.path.child(&call.name);
        let needing = Needing { text: format!("{address}.source"), range: call.source.range() };
        let value = self.statics.evaluate(&module.path, &call.source, &needing, &mut self.diagnostics)?;
        // What could not be read was reported.
        if matches!(call.source.kind(), ExprKind::Error) {
            return None;
        }
        static_text(&value, &needing.text, &call.source.range(), &mut self.diagnostics)
    }

    /// The version of a call as text; null is none.
    fn version_of(
        &mut self,
        module: &CompiledModule,
        call: &ModuleCall,
        written: &Expression,
    ) -> Result<Option<SmolStr>, NoVersion> {
        let address = module.path.child(&call.name);
        let needing = Needing { text: format!("{address}.version"), range: written.range() };
        let value = self.statics.evaluate(&module.path, written, &needing, &mut self.diagnostics).ok_or(NoVersion)?;
        if value.is_null() {
            return Ok(None);
        }
        let text = convert(&value, &Type::String).ok();
        let detail = match text.as_ref().and_then(Value::as_str) {
            _ if value.contains_sensitive() => "The version is shown and stored, so it cannot be sensitive.",
            _ if value.deep().ephemeral => "The version is stored, so it cannot be ephemeral.",
            Some(text) => return Ok(Some(text.into())),
            None => "The argument version is a string of version constraints, such as \"~> 1.2\".",
        };
        self.diagnostics.push(Diagnostic::error("Invalid version constraint", detail).at(written.range()));
        Err(NoVersion)
    }

    /// The `for_each` of the provider blocks of a module.
    fn check_iteration(&mut self, module: &CompiledModule) {
        for block in module.providers.values() {
            let Some(expression) = &block.for_each else { continue };
            let text = match &block.alias {
                Some(alias) => format!("provider.{}.{alias}.for_each", block.local_name),
                None => format!("provider.{}.for_each", block.local_name),
            };
            let needing = Needing { text, range: expression.range() };
            // Where the module asks for it, any value that planning knows will do, which evaluation sees to.
            let value = match module.settings.experiments.provider_iteration {
                true => None,
                false => self.statics.evaluate(&module.path, expression, &needing, &mut self.diagnostics),
            };
            if let Some(detail) = value.and_then(|value| unsuitable(&value)) {
                let problem = Diagnostic::error("Invalid for_each argument", detail);
                self.diagnostics.push(problem.at(expression.range()));
            }
        }
    }

    /// Variables that have to be known before planning.
    fn check_constants(&mut self, module: &CompiledModule, caller: Option<&ModuleCall>) {
        for variable in module.variables.values().filter(|variable| variable.constant == Some(true)) {
            if caller.is_some_and(|call| !call.arguments.contains_key(&variable.name)) {
                continue;
            }
            let needing = Needing {
                text: module.path.to_string(),
                range: caller.map(|call| call.range.clone()).unwrap_or_default(),
            };
            self.statics.variable(&module.path, &variable.name, &needing, &mut self.diagnostics);
        }
    }
}

/// A call that leads somewhere.
struct Called {
    call: Arc<ModuleCall>,
    text: SmolStr,
    source: ModuleSource,
    /// As text, and where it stands.
    version: Option<(SmolStr, SourceRange)>,
}

/// A version that cannot be told; why was reported.
struct NoVersion;

fn no_source(error: &ModuleSourceError, versioned: bool) -> Diagnostic {
    let (summary, detail) = match error {
        ModuleSourceError::Relative(text) => (
            "Invalid module source address",
            format!(
                "Nothing tells how a module is to be fetched from {text:?}. If a directory below that of this module \
                 is meant, write \"./{text}\": paths begin with ./ or ../."
            ),
        ),
        error if versioned => (
            "Invalid registry module source address",
            format!(
                "This cannot be the source of a module with the argument \"version\", which only modules of registries \
                 have: {error}."
            ),
        ),
        error => ("Invalid module source address", format!("This cannot be the source of a module: {error}.")),
    };
    Diagnostic::error(summary, detail)
}
