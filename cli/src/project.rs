//! The configuration of the current directory, with its provider requirements.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::{
    CompiledModule, ModulePlaces, ModuleRequest, StaticInputs, has_configuration, link_problems, load_tree_beyond,
    load_tree_from, load_tree_under,
};
use weft_graph_format::address::{Module, ProviderSource};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::constraint::Constraints;
use weft_providers::packages::{Requirements, require};
use weft_state::{Snapshot, StoredProvider};

use crate::backend::StateBackend;
use crate::command::Invocation;
use crate::modules::{FromManifest, ModuleManifest};
use crate::packages::require_locked;
use crate::problems;
use crate::root::{LoadedRoot, load, sound_root};
use crate::store::names_backend;

/// A configuration.
#[derive(Debug)]
pub struct Project {
    /// The root module with all called modules.
    pub root: Arc<CompiledModule>,
    /// Whether there are no configuration files.
    pub empty: bool,
    /// The diagnostics of loading the configuration.
    pub warnings: Vec<Diagnostic>,
    /// Problems within and between called modules, which are reported only after the installation.
    postponed: Vec<Diagnostic>,
    /// Whether a postponed problem kept a module from being read completely.
    unread: bool,
}

impl Project {
    /// Loads the configuration of the current directory. Passes its source lines to the view, and shows its warnings.
    ///
    /// # Errors
    /// Returns the problems of the configuration, including warnings, or the problems of the state's location, of its
    /// encryption or of the locked packages. A module that `init` has not installed is a problem, too.
    pub fn load(invocation: &Invocation<'_>) -> Result<Project, Vec<Diagnostic>> {
        let (project, problems) = Project::read_installed(invocation, &load_tree_beyond);
        if has_errors(&problems) {
            // Problems of the state's location, of its encryption and of the packages are reported before other
            // problems.
            let root = &sound_root(&invocation.context, &invocation.arguments)?.root;
            invocation.context.settle_sealing(root)?;
            if !names_backend(&invocation.arguments) {
                StateBackend::in_force(root, &invocation.context.data_directory)?;
            }
            require_locked(&invocation.context)?;
            return Err(problems);
        }
        project.told(invocation, problems)
    }

    /// Like [`Project::load`], for commands that check the whole configuration first.
    ///
    /// # Errors
    /// Returns the problems of the configuration, including warnings, or the problems of the encryption. A module that
    /// `init` has not installed is a problem, too.
    pub fn load_whole(invocation: &Invocation<'_>) -> Result<Project, Vec<Diagnostic>> {
        let (project, problems) = Project::load_quietly(invocation);
        if has_errors(&problems) { Err(problems) } else { project.told(invocation, problems) }
    }

    fn told(mut self, invocation: &Invocation<'_>, problems: Vec<Diagnostic>) -> Result<Project, Vec<Diagnostic>> {
        let mut said = invocation.context.settle_sealing(&self.root)?;
        // As in OpenTofu, these commands do not report warnings about encryption.
        if matches!(invocation.command.words, ["apply"] | ["destroy"] | ["graph"]) {
            said.clear();
        }
        invocation.view.diagnostics(&[problems.as_slice(), said.as_slice()].concat());
        self.warnings = problems;
        Ok(self)
    }

    /// Loads only the root module, for `init`, which prepares the backend before it installs modules.
    ///
    /// # Errors
    /// Returns the problems of the root module, including warnings.
    pub fn load_root(invocation: &Invocation<'_>) -> Result<Project, Vec<Diagnostic>> {
        let (project, problems) = Project::read(invocation, &mut Nowhere, &load_tree_from);
        if has_errors(&problems) { Err(problems) } else { Ok(project) }
    }

    /// Loads all modules, with `places` to find or install them. [`Project::settled`] returns the problems.
    pub fn load_from(invocation: &Invocation<'_>, places: &mut dyn ModulePlaces) -> Project {
        let (mut project, mut problems) = Project::read(invocation, places, &load_tree_beyond);
        project.unread = has_errors(&problems);
        if !project.unread {
            problems.extend(link_problems(&project.root));
        }
        if has_errors(&problems) {
            project.postponed = problems;
        } else {
            invocation.view.diagnostics(&problems);
        }
        project
    }

    /// Checks that the configuration of [`Project::load_from`] has no errors.
    ///
    /// # Errors
    /// Returns the problems of the modules, including warnings.
    pub fn settled(&self) -> Result<(), Vec<Diagnostic>> {
        if self.postponed.is_empty() { Ok(()) } else { Err(self.postponed.clone()) }
    }

    /// Checks that all modules can be read, for commands that do not need the modules to fit together.
    ///
    /// # Errors
    /// Returns the problems of the modules, including warnings.
    pub fn readable(&self) -> Result<(), Vec<Diagnostic>> {
        if self.unread { Err(self.postponed.clone()) } else { Ok(()) }
    }

    /// Whether a called module cannot be read, for projects from [`Project::load_from`].
    pub fn has_wrong_calls(&self, invocation: &Invocation<'_>) -> bool {
        if !self.unread {
            return false;
        }
        let of_root = Project::load_root(invocation).err().unwrap_or_default();
        self.postponed.iter().any(|problem| problem.is_error() && !of_root.contains(problem))
    }

    /// Checks the configuration, for commands that show or change the state and need a valid configuration.
    ///
    /// # Errors
    /// Returns the problems of the configuration, and modules that `init` has not installed.
    pub fn refuse_wrong(invocation: &Invocation<'_>) -> Result<(), Vec<Diagnostic>> {
        let (_, problems) = Project::load_quietly(invocation);
        if has_errors(&problems) { Err(problems) } else { Ok(()) }
    }

    /// Loads as much as possible, and returns all problems.
    pub fn load_quietly(invocation: &Invocation<'_>) -> (Project, Vec<Diagnostic>) {
        Project::read_installed(invocation, &load_tree_from)
    }

    /// Like [`Project::load_quietly`], for a configuration in another directory. The installed modules and packages are
    /// those of the current directory.
    pub fn load_quietly_in(invocation: &Invocation<'_>, directory: &str) -> (Project, Vec<Diagnostic>) {
        let load = |root: &Path, places: &mut dyn ModulePlaces, inputs: &StaticInputs<'_>| {
            load_tree_under(root, directory, &Module::root(), places, inputs)
        };
        Project::read_installed(invocation, &load)
    }

    fn read_installed(invocation: &Invocation<'_>, load: LoadTree<'_>) -> (Project, Vec<Diagnostic>) {
        let manifest = match ModuleManifest::read_to_load(&invocation.context.data_directory) {
            Ok(manifest) => manifest,
            Err(problem) => {
                let (project, mut problems) = Project::read(invocation, &mut Nowhere, &load_tree_from);
                problems.push(problem);
                return (project, problems);
            }
        };
        let mut places = FromManifest { manifest: &manifest, root: PathBuf::from(".") };
        let (project, mut problems) = Project::read(invocation, &mut places, load);
        if !has_errors(&problems) {
            problems.extend(link_problems(&project.root));
        }
        (project, problems)
    }

    fn read(
        invocation: &Invocation<'_>,
        places: &mut dyn ModulePlaces,
        load_tree: LoadTree<'_>,
    ) -> (Project, Vec<Diagnostic>) {
        let directory = Path::new(".");
        let empty = !has_configuration(directory);
        let (root, sources, problems) =
            load(&invocation.context, &invocation.arguments, |inputs| load_tree(Path::new("."), places, inputs));
        invocation.view.know(&sources);
        (Project { root, empty, warnings: Vec::new(), postponed: Vec::new(), unread: false }, problems)
    }

    /// Like [`Project::load`], but fails if there are no configuration files. `doing` is `Plan` or `Apply`.
    ///
    /// # Errors
    /// Returns the errors of [`Project::load`], or an error if there are no configuration files.
    pub fn load_present(invocation: &Invocation<'_>, doing: &str) -> Result<Project, Vec<Diagnostic>> {
        Project::load(invocation)?.present(doing)
    }

    /// Checks that there are configuration files. `doing` is the command that needs them.
    ///
    /// # Errors
    /// Returns an error if there are no configuration files.
    pub fn present(self, doing: &str) -> Result<Project, Vec<Diagnostic>> {
        if self.empty {
            return Err(vec![problems::no_configuration(doing)]);
        }
        Ok(self)
    }

    /// The provider requirements of the configuration and the state.
    ///
    /// # Errors
    /// Returns an error if a version constraint is invalid.
    pub fn requirements(&self, state: Option<&Snapshot>) -> Result<Requirements, Vec<Diagnostic>> {
        let (mut requirements, problems) = of_configuration(&self.root);
        if let Some(state) = state {
            for source in of_state(state) {
                require(&mut requirements, source, &Constraints::any());
            }
        }
        if has_errors(&problems) { Err(problems) } else { Ok(requirements) }
    }
}

/// A function that loads a tree of modules.
type LoadTree<'a> = &'a dyn Fn(&Path, &mut dyn ModulePlaces, &StaticInputs<'_>) -> LoadedRoot;

/// Finds no called modules.
struct Nowhere;

impl ModulePlaces for Nowhere {
    fn place(&mut self, _: &ModuleRequest<'_>, _: &mut Vec<Diagnostic>) -> Option<String> {
        None
    }
}

/// The version constraints of all modules, combined for each provider.
pub fn of_configuration(root: &Arc<CompiledModule>) -> (Requirements, Vec<Diagnostic>) {
    let mut requirements = Requirements::new();
    let mut problems = Vec::new();
    for module in root.all() {
        let (of_module, found) = of_module(&module);
        problems.extend(found);
        for (source, constraints) in of_module {
            require(&mut requirements, source, &constraints);
        }
    }
    (requirements, problems)
}

/// The provider requirements of one module.
pub fn of_module(module: &CompiledModule) -> (Requirements, Vec<Diagnostic>) {
    let mut requirements = Requirements::new();
    let mut problems = Vec::new();
    let mut add = |source: ProviderSource, version: Option<&SmolStr>, range| {
        let constraints = match version.map(|text| text.parse::<Constraints>()) {
            None => Constraints::any(),
            Some(Ok(constraints)) => constraints,
            Some(Err(error)) => {
                problems.push(problems::invalid_constraint(&error).at(range));
                Constraints::any()
            }
        };
        require(&mut requirements, source, &constraints);
    };
    for required in module.settings.required_providers.values() {
        add(required.source.clone(), required.version.as_ref(), required.range.clone());
    }
    for block in module.providers.values() {
        add(module.provider_source(&block.local_name), block.version.as_ref(), block.range.clone());
    }
    for block in module.resources.values() {
        add(module.provider_source(&block.provider_local_name()), None, block.range.clone());
    }
    // Unlike OpenTofu, an import into a called module requires no provider of the root module: the resource has a
    // block, whose provider is required.
    for import in module.statements.imports.iter().filter(|import| import.to.module_config().is_root()) {
        add(module.provider_source(&import.provider_local_name()), None, import.range.clone());
    }
    for call in module.calls.values() {
        for passed in &call.providers {
            add(module.provider_source(&passed.parent.local_name), None, passed.parent.range.clone());
        }
    }
    problems.extend(module.statements.imports.iter().filter_map(|import| import.other_provider(module)));
    (requirements, problems)
}

/// The providers of the objects and of the resources without instances in a state.
pub fn of_state(state: &Snapshot) -> impl Iterator<Item = ProviderSource> {
    let providers = state.instances.values().map(|stored| &stored.record.provider);
    let by_text: BTreeMap<&str, &StoredProvider> = providers.map(|provider| (provider.text(), provider)).collect();
    let of_objects = by_text.into_values().filter_map(|provider| provider.source().cloned());
    of_objects.chain(state.bare_resources().map(|bare| bare.provider.source))
}
