//! A configuration in the current directory: loaded, with what it requires of providers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::{
    CompiledModule, ModulePlaces, ModuleRequest, Sources, StaticGiven, StaticInputs, has_configuration, link_problems,
    load_early, load_tree_beyond, load_tree_from,
};
use weft_graph_format::address::{ProviderInstance, ProviderSource};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::constraint::Constraints;
use weft_providers::packages::{Requirements, require};
use weft_state::Snapshot;

use crate::command::Invocation;
use crate::context::{Context, DEFAULT_WORKSPACE};
use crate::modules::{FromManifest, ModuleManifest};
use crate::options::Arguments;
use crate::sealing::from_environment;
use crate::variables;

/// A configuration.
#[derive(Debug)]
pub struct Project {
    /// The root module with all below it.
    pub root: Arc<CompiledModule>,
    /// There are no configuration files at all.
    pub empty: bool,
    /// What was said of it when it was loaded.
    pub warnings: Vec<Diagnostic>,
    /// What is wrong inside of called modules and between them, where that is told once they are installed.
    postponed: Vec<Diagnostic>,
    /// Some of what is postponed kept a module from being read as it is written.
    unread: bool,
}

impl Project {
    /// Loads the configuration of the current directory; the view learns its lines and shows its warnings.
    ///
    /// # Errors
    /// What is wrong with it, warnings included; modules that `init` has not seen.
    pub fn load(invocation: &Invocation<'_>) -> Result<Project, Vec<Diagnostic>> {
        let (project, problems) = Project::read_installed(invocation, load_tree_beyond);
        if has_errors(&problems) {
            // Where the state is and how it is sealed comes before the rest.
            let root = &sound_root(&invocation.context, &invocation.arguments)?.root;
            invocation.context.settle_sealing(root)?;
            return Err(problems);
        }
        project.told(invocation, problems)
    }

    /// The same for commands that look at the whole configuration before anything else.
    ///
    /// # Errors
    /// What is wrong with it, warnings included; modules that `init` has not seen.
    pub fn load_whole(invocation: &Invocation<'_>) -> Result<Project, Vec<Diagnostic>> {
        let (project, problems) = Project::load_quietly(invocation);
        if has_errors(&problems) { Err(problems) } else { project.told(invocation, problems) }
    }

    fn told(mut self, invocation: &Invocation<'_>, problems: Vec<Diagnostic>) -> Result<Project, Vec<Diagnostic>> {
        let mut said = invocation.context.settle_sealing(&self.root)?;
        // As in OpenTofu, who applies was told by the plan.
        if matches!(invocation.command.words, ["apply"] | ["destroy"] | ["graph"]) {
            said.clear();
        }
        invocation.view.diagnostics(&[problems.as_slice(), said.as_slice()].concat());
        self.warnings = problems;
        Ok(self)
    }

    /// The root module alone, for who installs what it calls.
    ///
    /// # Errors
    /// What is wrong with the root module, warnings included.
    pub fn load_root(invocation: &Invocation<'_>) -> Result<Project, Vec<Diagnostic>> {
        let (project, problems) = Project::read(invocation, &mut Nowhere, load_tree_from);
        if has_errors(&problems) {
            return Err(problems);
        }
        invocation.context.settle_sealing(&project.root)?;
        Ok(project)
    }

    /// All modules, as they are found or installed. What is wrong with them comes with [`Project::settled`].
    pub fn load_from(invocation: &Invocation<'_>, places: &mut dyn ModulePlaces) -> Project {
        let (mut project, mut problems) = Project::read(invocation, places, load_tree_beyond);
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

    /// Called when modules are installed.
    ///
    /// # Errors
    /// What is wrong with them, warnings included.
    pub fn settled(&self) -> Result<(), Vec<Diagnostic>> {
        if self.postponed.is_empty() { Ok(()) } else { Err(self.postponed.clone()) }
    }

    /// Called by who needs modules that can be read, whether they fit together or not.
    ///
    /// # Errors
    /// What is wrong with them, warnings included.
    pub fn readable(&self) -> Result<(), Vec<Diagnostic>> {
        if self.unread { Err(self.postponed.clone()) } else { Ok(()) }
    }

    /// What keeps the configuration from being read, for commands that show state beside it.
    ///
    /// # Errors
    /// What is wrong with it; modules that `init` has not seen.
    pub fn refuse_wrong(invocation: &Invocation<'_>) -> Result<(), Vec<Diagnostic>> {
        let (_, problems) = Project::load_quietly(invocation);
        if has_errors(&problems) { Err(problems) } else { Ok(()) }
    }

    /// As far as it goes, with all that is wrong beside it.
    pub fn load_quietly(invocation: &Invocation<'_>) -> (Project, Vec<Diagnostic>) {
        Project::read_installed(invocation, load_tree_from)
    }

    fn read_installed(invocation: &Invocation<'_>, load: LoadTree) -> (Project, Vec<Diagnostic>) {
        let manifest = match ModuleManifest::read(&invocation.context.data_directory) {
            Ok(manifest) => manifest,
            Err(problem) => {
                let (project, mut problems) = Project::read(invocation, &mut Nowhere, load_tree_from);
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
        load_tree: LoadTree,
    ) -> (Project, Vec<Diagnostic>) {
        let directory = Path::new(".");
        let empty = !has_configuration(directory);
        let (root, sources, problems) =
            load(&invocation.context, &invocation.arguments, |inputs| load_tree(Path::new("."), places, inputs));
        invocation.view.know(&sources);
        (Project { root, empty, warnings: Vec::new(), postponed: Vec::new(), unread: false }, problems)
    }

    /// As [`Project::load`], where there must be configuration files; `doing` is `Plan` or `Apply`.
    ///
    /// # Errors
    /// What is wrong with it, or that there is none.
    pub fn load_present(invocation: &Invocation<'_>, doing: &str) -> Result<Project, Vec<Diagnostic>> {
        Project::load(invocation)?.present(doing)
    }

    /// The configuration, where there are configuration files; `doing` is what they are needed for.
    ///
    /// # Errors
    /// That there are none.
    pub fn present(self, doing: &str) -> Result<Project, Vec<Diagnostic>> {
        if self.empty {
            return Err(vec![Diagnostic::error(
                "No configuration files",
                format!(
                    "{doing} requires configuration to be present: without any, everything would be marked for \
                     destruction, which is normally not what is desired. To destroy everything, use the -destroy option \
                     or \"weft destroy\". Otherwise, create a configuration file (.tf) and try again."
                ),
            )]);
        }
        Ok(self)
    }

    /// What configuration and state require of providers.
    ///
    /// # Errors
    /// Constraints that cannot be read.
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

/// What a module was loaded as: with its files, and what is wrong.
type LoadedRoot = (Arc<CompiledModule>, Sources, Vec<Diagnostic>);

/// Loads a tree of modules.
type LoadTree = fn(&Path, &mut dyn ModulePlaces, &StaticInputs<'_>) -> LoadedRoot;

/// Loads the configuration with `load`. Values of variables come first: where they cannot be read, nothing else is.
fn load(context: &Context, arguments: &Arguments, load: impl FnOnce(&StaticInputs<'_>) -> LoadedRoot) -> LoadedRoot {
    let (sources, problems) = variables::unreadable(arguments);
    if has_errors(&problems) {
        return (Arc::default(), sources, problems);
    }
    let inputs = StaticInputs {
        given: &|root| {
            let gathered = variables::gather(root, arguments, None);
            StaticGiven { values: gathered.given, broken: gathered.broken }
        },
        workspace: context.workspace().unwrap_or_else(|_| DEFAULT_WORKSPACE.into()),
        encryption: from_environment(),
    };
    load(&inputs)
}

/// The root module of the current directory as far as it says where its state is and how it is sealed.
#[derive(Debug)]
pub struct RootAlone {
    /// The module, as far as it can be understood.
    pub root: Arc<CompiledModule>,
    /// Its files, for messages about it.
    pub sources: Sources,
    /// What is wrong with it so far, warnings included.
    pub problems: Vec<Diagnostic>,
}

/// The root module alone, loaded at the first time.
pub fn root_alone<'a>(context: &'a Context, arguments: &Arguments) -> &'a RootAlone {
    context.root.get_or_init(|| {
        let (root, sources, problems) = load(context, arguments, |inputs| load_early(Path::new("."), inputs));
        RootAlone { root, sources, problems }
    })
}

/// One module as it is written, with its files and what is wrong with it.
pub fn read_alone(
    context: &Context,
    arguments: &Arguments,
    directory: &Path,
) -> (Arc<CompiledModule>, Sources, Vec<Diagnostic>) {
    load(context, arguments, |inputs| load_early(directory, inputs))
}

/// The same, where nothing is wrong with it.
///
/// # Errors
/// What is, warnings included.
pub fn sound_root<'a>(context: &'a Context, arguments: &Arguments) -> Result<&'a RootAlone, Vec<Diagnostic>> {
    let found = root_alone(context, arguments);
    if has_errors(&found.problems) { Err(found.problems.clone()) } else { Ok(found) }
}

/// Where no called module is looked for.
struct Nowhere;

impl ModulePlaces for Nowhere {
    fn place(&mut self, _: &ModuleRequest<'_>, _: &mut Vec<Diagnostic>) -> Option<String> {
        None
    }
}

/// What each provider's versions must satisfy, from all modules together.
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

/// What one module requires of providers.
pub fn of_module(module: &CompiledModule) -> (Requirements, Vec<Diagnostic>) {
    let mut requirements = Requirements::new();
    let mut problems = Vec::new();
    let mut add = |source: ProviderSource, version: Option<&SmolStr>, range| {
        let constraints = match version.map(|text| text.parse::<Constraints>()) {
            None => Constraints::any(),
            Some(Ok(constraints)) => constraints,
            Some(Err(error)) => {
                problems.push(
                    Diagnostic::error(
                        "Invalid version constraint",
                        format!("This is no version constraint: {error}. Write, for example, \"~> 1.2\"."),
                    )
                    .at(range),
                );
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
    for call in module.calls.values() {
        for passed in &call.providers {
            add(module.provider_source(&passed.parent.local_name), None, passed.parent.range.clone());
        }
    }
    (requirements, problems)
}

/// The providers of the objects in a state.
pub fn of_state(state: &Snapshot) -> impl Iterator<Item = ProviderSource> {
    let mut texts: Vec<&str> = state.instances.values().map(|stored| stored.record.provider.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.into_iter().filter_map(|text| text.parse::<ProviderInstance>().ok()).map(|instance| instance.source)
}
