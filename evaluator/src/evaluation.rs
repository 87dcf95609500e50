//! From compiled modules to values: everything declared is evaluated once, when first asked for, concurrently.
//!
//! Each module instance keeps a cell for every thing it declares. Whoever asks first starts a task for it, all others
//! wait for the same task, so depth of references never reaches the stack. Circles were refused before anything runs,
//! from static references; evaluation itself waits for nothing else.

mod calls;
mod cell;
mod conditions;
mod instances;
mod named;
mod provider_blocks;
mod references;
mod resources;
mod scope;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, ModuleInstance, ProviderConfig};

use crate::config::{CompiledModule, StaticGraph, missing_providers};
use crate::glue::{Failed, GivenVariables, Glue, Purpose};

pub(crate) use calls::ModuleNode;
pub use scope::Environment;

/// One evaluation of a configuration.
pub(crate) struct Evaluation {
    pub(crate) glue: Arc<dyn Glue>,
    pub(crate) environment: Environment,
    pub(crate) given: GivenVariables,
    pub(crate) dependencies: BTreeMap<ConfigResource, Arc<[SmolStr]>>,
    /// Provider configurations that state needs.
    pub(crate) wanted: Vec<ProviderConfig>,
    /// The next number for an impure call.
    pub(crate) occurrences: AtomicU32,
    /// The next number for a symbolic parameter.
    pub(crate) parameters: AtomicU32,
}

impl Evaluation {
    pub(crate) fn is_validation(&self) -> bool {
        self.glue.purpose() == Purpose::Validate
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
    let missing = missing_providers(&root, glue.purpose() == Purpose::Validate);
    if !missing.is_empty() {
        missing.into_iter().for_each(|problem| glue.report(problem));
        return Err(Failed);
    }
    let graph = StaticGraph::new(&root);
    let cycles = graph.cycles(&root);
    if !cycles.is_empty() {
        cycles.into_iter().for_each(|problem| glue.report(problem));
        return Err(Failed);
    }
    let evaluation = Arc::new(Evaluation {
        wanted: glue.wanted_providers(),
        glue,
        environment,
        given,
        dependencies: graph.dependencies(),
        occurrences: AtomicU32::new(0),
        parameters: AtomicU32::new(0),
    });
    drop(graph);
    // Planning comes after validating, which has said all this.
    let referred = match evaluation.is_validation() {
        true => references::check_references(&evaluation, &root).await,
        false => Ok(()),
    };
    let node = Arc::new(ModuleNode::root(evaluation, root));
    let outcome = node.everything().await;
    node.release();
    outcome.and(referred)
}

/// Evaluates what has to be known before anything else: which instances each provider of the configuration has.
///
/// All problems go to `glue`, of which nothing else is asked; `Failed` when one was an error.
pub async fn evaluate_static(
    root: Arc<CompiledModule>,
    glue: Arc<dyn Glue>,
    environment: Environment,
    given: GivenVariables,
) -> Result<(), Failed> {
    if root.all().iter().all(|module| module.providers.values().all(|block| block.for_each.is_none())) {
        return Ok(());
    }
    let graph = StaticGraph::new(&root);
    if !graph.cycles(&root).is_empty() {
        // Said when everything is evaluated.
        return Ok(());
    }
    let evaluation = Arc::new(Evaluation {
        wanted: Vec::new(),
        glue,
        environment,
        given,
        dependencies: BTreeMap::new(),
        occurrences: AtomicU32::new(0),
        parameters: AtomicU32::new(0),
    });
    let node = Arc::new(ModuleNode::root(evaluation, root));
    let outcome = node.provider_keys().await;
    node.release();
    outcome
}

/// Where configurations run: directories and the workspace.
impl Environment {
    /// An environment for the configuration in `root_dir`, in the workspace `default`.
    pub fn new(root_dir: PathBuf) -> Environment {
        let cwd = std::env::current_dir().unwrap_or_else(|_| root_dir.clone());
        Environment { root_dir, cwd, workspace: SmolStr::new_static("default"), timestamp: String::new() }
    }
}

/// The root module's address, for readability where one is needed.
pub(crate) fn root_address() -> ModuleInstance {
    ModuleInstance::root()
}
