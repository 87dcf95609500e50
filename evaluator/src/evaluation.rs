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
mod resources;
mod scope;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, ModuleInstance, ProviderConfig};

use crate::config::{CompiledModule, StaticGraph};
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
    let graph = StaticGraph::new(&root);
    let cycles = graph.cycles();
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
    let node = Arc::new(ModuleNode::root(evaluation, root));
    let outcome = node.everything().await;
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
