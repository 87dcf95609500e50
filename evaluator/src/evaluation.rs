//! From compiled modules to values: everything declared is evaluated once, when first asked for, concurrently.
//!
//! Each module instance keeps a cell for every thing it declares. Whoever asks first starts a task for it, all others
//! wait for the same task, so depth of references never reaches the stack. Circles were refused before anything runs,
//! from static references; evaluation itself waits for nothing else.

mod assertion;
mod calls;
mod cell;
mod checks;
mod conditions;
mod deprecated;
mod destroying;
mod imports;
mod in_elements;
mod instances;
mod lifecycle_values;
mod named;
mod nameless;
mod provider_blocks;
mod provider_functions;
mod provider_values;
mod provisioners;
mod references;
mod resources;
mod schema_traversal;
mod scope;
mod session;
mod statements;
mod stored;
mod unsound;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, Module, ModuleInstance};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::marks::Deprecation;
use weft_graph_format::source::SourceRange;

use crate::config::named_instances::{Keys, NamedInstances};
use crate::config::{CompiledModule, StaticGraph, argument_problems, missing_providers};
use crate::glue::{Brief, Failed, GivenVariables, Glue, Purpose};
use crate::selection::Selected;

pub use assertion::{Asserted, Verdict};
pub(crate) use calls::ModuleNode;
pub use deprecated::{LOCAL_MODULE, REMOTE_MODULE};
pub use destroying::{Counters, Leaving};
pub(crate) use provisioners::provisioner_schema;
pub use scope::Environment;
pub use session::{Answer, Said, Session};

/// One evaluation of a configuration.
pub(crate) struct Evaluation {
    pub(crate) glue: Arc<dyn Glue>,
    /// What is to be done.
    pub(crate) brief: Brief,
    pub(crate) environment: Environment,
    pub(crate) given: GivenVariables,
    pub(crate) dependencies: BTreeMap<ConfigResource, Arc<[SmolStr]>>,
    /// Resources that something depends on which is replaced by creating first.
    pub(crate) create_first: BTreeSet<SmolStr>,
    /// Resources as configured that import blocks are about.
    pub(crate) imported: BTreeSet<SmolStr>,
    /// Outputs of called modules that nothing needs.
    pub(crate) unused_outputs: BTreeSet<(Module, SmolStr)>,
    /// Deprecated outputs of modules that come from elsewhere.
    pub(crate) remote_deprecations: Mutex<BTreeSet<SmolStr>>,
    /// Warnings about what is deprecated, and where they were given.
    pub(crate) told_deprecations: Mutex<BTreeSet<(SourceRange, SmolStr, Deprecation)>>,
    /// The part that is evaluated; none for all.
    pub(crate) selected: Option<Selected>,
    /// References that are wrong: who has one is not evaluated.
    pub(crate) unsound: OnceLock<BTreeSet<SourceRange>>,
    /// What is wrong with references that are looked at only when a `dynamic` block has elements.
    pub(crate) in_elements: OnceLock<BTreeMap<SourceRange, Diagnostic>>,
    /// The next number for an impure call.
    pub(crate) occurrences: AtomicU32,
    /// The next number for a symbolic parameter.
    pub(crate) parameters: AtomicU32,
}

impl Evaluation {
    pub(crate) fn is_validation(&self) -> bool {
        self.brief.purpose == Purpose::Validate
    }

    pub(crate) fn is_inspection(&self) -> bool {
        self.brief.purpose == Purpose::Inspect
    }
}

/// Evaluates everything that a configuration declares. All problems go to `glue`; `Failed` when one was an error.
///
/// The configuration must have been loaded without errors.
pub async fn evaluate_configuration(
    root: Arc<CompiledModule>,
    glue: Arc<dyn Glue>,
    environment: Environment,
    given: GivenVariables,
) -> Result<(), Failed> {
    begin_evaluation(root, glue, environment, given).await?.finish().await.0
}

/// An evaluation that has begun: nothing refused the configuration as a whole.
pub struct Begun {
    session: Session,
    unsound: Vec<unsound::Unsound>,
}

/// Begins to evaluate a configuration that was loaded without errors. Problems go to `glue`.
///
/// # Errors
/// When the configuration as a whole is refused: nothing of it is evaluated then.
pub async fn begin_evaluation(
    root: Arc<CompiledModule>,
    glue: Arc<dyn Glue>,
    environment: Environment,
    given: GivenVariables,
) -> Result<Begun, Failed> {
    let session = Session::begin(root.clone(), glue, environment, given)?;
    let node = &session.root;
    // Planning comes after validating, which has said all this.
    let unsound = match node.evaluation.is_validation() {
        true => references::check_references(&node.evaluation, &root).await,
        false => Vec::new(),
    };
    node.evaluation.unsound.get_or_init(|| unsound::places(&unsound));
    let in_elements = in_elements::check(&node.evaluation, &root).await;
    node.evaluation.in_elements.get_or_init(|| in_elements);
    // With an import that leads to nothing, nothing at all is planned.
    let brief = &node.evaluation.brief;
    if brief.purpose == Purpose::Plan && brief.imports {
        node.aimless_imports()?;
    }
    Ok(Begun { session, unsound })
}

impl Begun {
    /// Evaluates everything, and stays open for questions about it.
    pub async fn finish(self) -> (Result<(), Failed>, Session) {
        let outcome = self.session.root.everything().await;
        let referred = unsound::report(&self.session.root, self.unsound).await;
        (outcome.and(referred), self.session)
    }
}

/// The root module's instance, with nothing evaluated yet. What can be said of the configuration as a whole is said.
fn begin(
    root: Arc<CompiledModule>,
    glue: Arc<dyn Glue>,
    environment: Environment,
    given: GivenVariables,
) -> Result<Arc<ModuleNode>, Failed> {
    let brief = glue.brief();
    let mut arguments = argument_problems(&root);
    arguments.extend(provider_functions::unknown_providers(&root));
    let unfit = has_errors(&arguments);
    arguments.into_iter().for_each(|problem| glue.report(problem));
    if unfit {
        return Err(Failed);
    }
    let missing = missing_providers(&root, brief.purpose == Purpose::Validate);
    if !missing.is_empty() {
        missing.into_iter().for_each(|problem| glue.report(problem));
        return Err(Failed);
    }
    statements::report(&root, brief.purpose, glue.as_ref())?;
    let graph = StaticGraph::new(&root);
    let cycles = graph.cycles(&root);
    if !cycles.is_empty() {
        cycles.into_iter().for_each(|problem| glue.report(problem));
        return Err(Failed);
    }
    let dependencies = graph.dependencies();
    let selected = graph.selected(&brief.selection);
    let asks = |config: &ConfigResource| selected.as_ref().is_none_or(|selected| selected.resources.contains(config));
    let create_first = spread_create_first(&root, &dependencies, &asks);
    let evaluation = Arc::new(Evaluation {
        selected,
        remote_deprecations: Mutex::default(),
        told_deprecations: Mutex::default(),
        unused_outputs: graph.unused_outputs(&root),
        create_first,
        imported: match brief.imports {
            true => root.statements.imports.iter().map(|block| SmolStr::from(imports::block_address(block))).collect(),
            false => BTreeSet::new(),
        },
        brief,
        glue,
        environment,
        given,
        dependencies,
        unsound: OnceLock::new(),
        in_elements: OnceLock::new(),
        occurrences: AtomicU32::new(0),
        parameters: AtomicU32::new(0),
    });
    drop(graph);
    Ok(Arc::new(ModuleNode::root(evaluation, root)))
}

/// What is to be created before it is destroyed since one of these resources depends on it and asks for that: resources
/// as configured, or instances of them where only these are named.
pub fn create_first(root: &Arc<CompiledModule>, of: &BTreeSet<ConfigResource>) -> BTreeSet<SmolStr> {
    let graph = StaticGraph::new(root);
    let dependencies = graph.dependencies();
    let named = NamedInstances::new(&graph, root);
    let mut found = BTreeSet::new();
    for config in asking(root).filter(|config| of.contains(config)) {
        let reached: BTreeMap<SmolStr, Keys> =
            named.reached(&config).into_iter().map(|(config, keys)| (config.to_string().into(), keys)).collect();
        for name in dependencies.get(&config).into_iter().flat_map(|names| names.iter()) {
            match reached.get(name) {
                Some(Some(keys)) => found.extend(keys.iter().map(|key| SmolStr::from(format!("{name}{key}")))),
                _ => drop(found.insert(name.clone())),
            }
        }
    }
    found
}

/// The resources that are to be created before they are destroyed.
fn asking(root: &Arc<CompiledModule>) -> impl Iterator<Item = ConfigResource> {
    root.all().into_iter().flat_map(|module| {
        let first = module.resources.values().filter(|block| block.lifecycle.create_before_destroy == Some(true));
        let configs =
            first.map(|block| ConfigResource { module: module.path.clone(), resource: block.resource.clone() });
        configs.collect::<Vec<_>>()
    })
}

/// `create_before_destroy` spreads to everything that a resource depends on, data sources aside. `asks` says which
/// resources count.
fn spread_create_first(
    root: &Arc<CompiledModule>,
    dependencies: &BTreeMap<ConfigResource, Arc<[SmolStr]>>,
    asks: &dyn Fn(&ConfigResource) -> bool,
) -> BTreeSet<SmolStr> {
    let asking = asking(root).filter(|config| asks(config));
    asking.filter_map(|config| dependencies.get(&config)).flat_map(|names| names.iter().cloned()).collect()
}

/// Where configurations run: directories and the workspace.
impl Environment {
    /// An environment for the configuration in `root_dir`, in the workspace `default`.
    pub fn new(root_dir: PathBuf) -> Environment {
        let cwd = std::env::current_dir().unwrap_or_else(|_| root_dir.clone());
        let (workspace, decoded) = (SmolStr::new_static("default"), Arc::default());
        Environment { root_dir, cwd, workspace, timestamp: String::new(), decoded }
    }
}

/// The root module's address, for readability where one is needed.
pub(crate) fn root_address() -> ModuleInstance {
    ModuleInstance::root()
}
