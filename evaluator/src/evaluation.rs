//! Evaluates compiled modules concurrently. Every declaration is evaluated once, on first use.
//!
//! Each module instance has a cell for every declaration. The first reader starts a task for the declaration, and all
//! other readers wait for the same task. So long chains of references do not use the stack. Cycles of references are
//! reported before evaluation, so tasks never wait for each other in a cycle.

mod allowed_names;
mod assertion;
mod calls;
mod cell;
mod checks;
mod condition_groups;
mod condition_tally;
mod conditions;
mod connections;
mod deprecated;
mod destroying;
mod failed_dependencies;
mod imports;
mod in_elements;
mod instances;
mod lifecycle_values;
mod module_node;
mod named;
mod nameless;
mod not_null;
mod problems;
mod provider_basis;
mod provider_blocks;
mod provider_functions;
mod provider_instances;
mod provider_values;
mod provisioner_schemas;
mod provisioners;
mod references;
mod repetition_data;
mod resources;
mod schema_traversal;
mod scope;
mod session;
mod statements;
mod stored;
mod undeclared;
mod unsound;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, InstanceKey, ModuleInstance};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::marks::Deprecation;
use weft_graph_format::source::SourceRange;

use crate::config::named_instances::{Keys, NamedInstances};
use crate::config::{CompiledModule, Dependencies, StaticGraph, Unused, argument_problems, missing_providers};
use crate::given_variables::GivenVariables;
use crate::glue::{Brief, Failed, Glue};
use crate::purpose::Purpose;
use crate::selection::Selected;
use unsound::Invalid;

pub use assertion::{Asserted, AssertionValues, AssertionVerdict, NeededNames};
pub use deprecated::{LOCAL_MODULE, REMOTE_MODULE};
pub(crate) use destroying::without_module;
pub use destroying::{Counters, Leaving};
pub(crate) use lifecycle_values::name_of_instances;
pub(crate) use module_node::ModuleNode;
pub(crate) use provisioner_schemas::provisioner_schema;
pub use provisioners::unknown_provisioners;
pub use scope::Environment;
pub use session::{Answer, Session, SessionAnswer};
pub use undeclared::undeclared_in_providers;

/// An evaluation of a configuration.
pub(crate) struct Evaluation {
    pub(crate) glue: Arc<dyn Glue>,
    /// What is evaluated, and for which purpose.
    pub(crate) brief: Brief,
    pub(crate) environment: Environment,
    pub(crate) given: GivenVariables,
    pub(crate) dependencies: Dependencies,
    /// Resources that must be replaced create-first because a dependent requires this order.
    pub(crate) create_first: BTreeSet<SmolStr>,
    /// Configured resources with import blocks.
    pub(crate) imported: BTreeSet<SmolStr>,
    /// Values without users. Apply does not evaluate them.
    pub(crate) unused: Unused,
    /// Deprecated outputs of modules from other sources.
    pub(crate) remote_deprecations: Mutex<BTreeSet<SmolStr>>,
    /// The deprecation warnings that were reported, with their source ranges.
    pub(crate) told_deprecations: Mutex<BTreeSet<(SourceRange, SmolStr, Deprecation)>>,
    /// The selected parts; `None` for everything.
    pub(crate) selected: Option<Selected>,
    /// Whether the outputs that the plan leaves out are being evaluated for apply (see `Session::late_output`). If so,
    /// resources outside the selection have the values that the state contains.
    pub(crate) late: AtomicBool,
    /// What validation has found to be invalid.
    pub(crate) invalid: Invalid,
    /// Invalid references in `dynamic` blocks, reported only if the block has elements.
    pub(crate) in_elements: OnceLock<BTreeMap<SourceRange, Diagnostic>>,
    /// The numbers that have been used.
    pub(crate) numbers: Numbers,
}

/// The numbers of one evaluation.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The next number of an impure call.
    pub(crate) occurrences: AtomicU32,
    /// The next number of a symbolic parameter.
    pub(crate) parameters: AtomicU32,
}

impl Evaluation {
    /// The purpose of the evaluation, which answers every question that depends on it.
    pub(crate) fn purpose(&self) -> Purpose {
        self.brief.purpose
    }
}

/// Evaluates a whole configuration. Problems are reported to `glue`. Returns `Failed` if there was an error.
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

/// An evaluation that was started. The configuration is valid as a whole.
pub struct Begun {
    session: Session,
    unsound: Vec<unsound::Unsound>,
}

/// Starts to evaluate a configuration that was loaded without errors. Problems are reported to `glue`.
///
/// # Errors
/// Returns an error if the configuration is invalid as a whole. In this case, nothing is evaluated.
pub async fn begin_evaluation(
    root: Arc<CompiledModule>,
    glue: Arc<dyn Glue>,
    environment: Environment,
    given: GivenVariables,
) -> Result<Begun, Failed> {
    let session = Session::begin(root.clone(), glue, environment, given)?;
    let node = &session.root;
    // Planning skips this check, because validation runs before planning and has already reported the problems.
    let unsound = match node.evaluation.purpose().checks_references() {
        true => references::check_references(&node.evaluation, &root).await,
        false => Vec::new(),
    };
    node.evaluation.invalid.references.get_or_init(|| unsound::places(&unsound));
    let in_elements = in_elements::check(&node.evaluation, &root).await;
    node.evaluation.in_elements.get_or_init(|| in_elements);
    // An import without a target prevents the whole plan.
    if node.evaluation.purpose().needs_import_targets() {
        node.aimless_imports()?;
    }
    Ok(Begun { session, unsound })
}

impl Begun {
    /// Evaluates everything. Returns the result and a session for questions.
    pub async fn finish(self) -> (Result<(), Failed>, Session) {
        let outcome = self.session.root.everything().await;
        let referred = unsound::report(&self.session.root, self.unsound).await;
        (outcome.and(referred), self.session)
    }
}

/// Creates the root module's instance without evaluating it. Reports the problems of the configuration as a whole.
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
    let missing = missing_providers(&root, brief.purpose.accepts_modules_alone());
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
    let dependencies = graph.dependencies(&root);
    let selected = match brief.providers_only {
        true => {
            let needed = graph.needed_by_providers(&root, &brief.wanted_providers);
            Some(Selected { protected: protected(&root, &brief.leaving), ..needed })
        }
        false => {
            let selected = graph.selected(&root, &brief.selection, &brief.wanted_providers);
            selected.map(|selected| Selected { protected: protected(&root, &brief.leaving), ..selected })
        }
    };
    let asks = |config: &ConfigResource| selected.as_ref().is_none_or(|selected| selected.resources.contains(config));
    let create_first = spread_create_first(&root, &dependencies.all, &asks);
    let evaluation = Arc::new(Evaluation {
        selected,
        remote_deprecations: Mutex::default(),
        told_deprecations: Mutex::default(),
        unused: graph.unused(&root),
        create_first,
        imported: match brief.purpose.imports() {
            true => root.statements.imports.iter().map(|block| SmolStr::from(imports::block_address(block))).collect(),
            false => BTreeSet::new(),
        },
        brief,
        glue,
        environment,
        given,
        dependencies,
        invalid: Invalid::default(),
        in_elements: OnceLock::new(),
        late: AtomicBool::new(false),
        numbers: Numbers::default(),
    });
    drop(graph);
    Ok(Arc::new(ModuleNode::root(evaluation, root)))
}

/// The addresses of the objects that must be replaced create-first because a resource in `of` depends on them and sets
/// `create_before_destroy`. If all references to a resource have constant keys, and all instances with these keys are
/// in `evaluated`, the result contains the addresses of these instances. Otherwise, it contains the address of the
/// resource.
pub fn create_first(
    root: &Arc<CompiledModule>,
    of: &BTreeSet<ConfigResource>,
    evaluated: &BTreeSet<(ConfigResource, InstanceKey)>,
) -> BTreeSet<SmolStr> {
    let graph = StaticGraph::new(root);
    let dependencies = graph.dependencies(root).all;
    let named = NamedInstances::new(&graph, root);
    let mut found = BTreeSet::new();
    for config in asking(root).filter(|config| of.contains(config)) {
        let named_keys = |config: &ConfigResource, keys: Keys| {
            keys.filter(|keys| keys.iter().all(|key| evaluated.contains(&(config.clone(), key.clone()))))
        };
        let reached: BTreeMap<SmolStr, Keys> = named
            .reached(&config)
            .into_iter()
            .map(|(config, keys)| (config.to_string().into(), named_keys(&config, keys)))
            .collect();
        for name in dependencies.get(&config).into_iter().flat_map(|names| names.iter()) {
            match reached.get(name) {
                Some(Some(keys)) => found.extend(keys.iter().map(|key| SmolStr::from(format!("{name}{key}")))),
                _ => drop(found.insert(name.clone())),
            }
        }
    }
    found
}

/// The resources among `leaving` that set `prevent_destroy`.
fn protected(root: &Arc<CompiledModule>, leaving: &BTreeSet<ConfigResource>) -> BTreeSet<ConfigResource> {
    let mut found = BTreeSet::new();
    for module in root.all() {
        let blocks = module.resources.values().filter(|block| block.lifecycle.prevent_destroy.is_some());
        let configs =
            blocks.map(|block| ConfigResource { module: module.path.clone(), resource: block.resource.clone() });
        found.extend(configs.filter(|config| leaving.contains(config)));
    }
    found
}

/// The resources that set `create_before_destroy`.
fn asking(root: &Arc<CompiledModule>) -> impl Iterator<Item = ConfigResource> {
    root.all().into_iter().flat_map(|module| {
        let first = module.resources.values().filter(|block| block.lifecycle.create_before_destroy == Some(true));
        let configs =
            first.map(|block| ConfigResource { module: module.path.clone(), resource: block.resource.clone() });
        configs.collect::<Vec<_>>()
    })
}

/// The dependencies of all resources that set `create_before_destroy` and that `asks` accepts. These dependencies must
/// be replaced create-first too.
fn spread_create_first(
    root: &Arc<CompiledModule>,
    dependencies: &BTreeMap<ConfigResource, Arc<[SmolStr]>>,
    asks: &dyn Fn(&ConfigResource) -> bool,
) -> BTreeSet<SmolStr> {
    let asking = asking(root).filter(|config| asks(config));
    asking.filter_map(|config| dependencies.get(&config)).flat_map(|names| names.iter().cloned()).collect()
}

/// The paths and the workspace of a configuration.
impl Environment {
    /// Creates an environment for the configuration in `root_dir`, with the workspace `default`.
    pub fn new(root_dir: PathBuf) -> Environment {
        let cwd = std::env::current_dir().unwrap_or_else(|_| root_dir.clone());
        let (workspace, decoded) = (SmolStr::new_static("default"), Arc::default());
        Environment { root_dir, root_path: ".".into(), cwd, workspace, timestamp: String::new(), decoded }
    }
}

/// The address of the root module.
pub(crate) fn root_address() -> ModuleInstance {
    ModuleInstance::root()
}
