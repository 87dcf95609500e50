//! The root module without the modules that it calls. It determines the location of the state and its encryption, so
//! backends, sealing and [`crate::project`] read it first.

use std::path::Path;
use std::sync::Arc;

use weft_evaluator::config::{CompiledModule, SourceFiles, StaticGiven, StaticInputs, load_early};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};

use crate::context::{Context, RootAlone, environment};
use crate::options::Arguments;
use crate::variables;

/// The environment variable with encryption settings, in addition to the configuration.
const ENCRYPTION: &str = "TF_ENCRYPTION";

/// The encryption settings in `TF_ENCRYPTION`.
pub fn encryption_from_environment() -> Option<String> {
    environment(ENCRYPTION)
}

/// A loaded module, its source files, and its problems.
pub type LoadedRoot = (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>);

/// Loads the configuration by calling the parameter `load`. Files and options with values of variables are checked
/// first, and then the name of the workspace. If one of these checks fails, the configuration is not loaded.
pub fn load(
    context: &Context,
    arguments: &Arguments,
    load: impl FnOnce(&StaticInputs<'_>) -> LoadedRoot,
) -> LoadedRoot {
    let (sources, problems) = variables::unreadable(arguments);
    if has_errors(&problems) {
        return (Arc::default(), sources, problems);
    }
    let workspace = match context.workspace() {
        Ok(workspace) => workspace,
        Err(problem) => return (Arc::default(), sources, vec![problem]),
    };
    let inputs = StaticInputs {
        given: &|root| {
            let gathered = variables::gather(root, arguments, None);
            StaticGiven { values: gathered.given, broken: gathered.broken }
        },
        workspace,
        encryption: encryption_from_environment(),
    };
    load(&inputs)
}

/// The root module of the current directory. It is loaded once.
pub fn root_alone<'a>(context: &'a Context, arguments: &Arguments) -> &'a RootAlone {
    context.root.get_or_init(|| {
        let (root, sources, problems) = load(context, arguments, |inputs| load_early(Path::new("."), inputs));
        RootAlone { root, sources, problems }
    })
}

/// Loads the module in a directory without the modules that it calls. Returns the module with its source files and
/// problems.
pub fn read_alone(
    context: &Context,
    arguments: &Arguments,
    directory: &Path,
) -> (Arc<CompiledModule>, SourceFiles, Vec<Diagnostic>) {
    load(context, arguments, |inputs| load_early(directory, inputs))
}

/// The root module of the current directory, if it has no errors.
///
/// # Errors
/// Returns the problems of the module, including warnings.
pub fn sound_root<'a>(context: &'a Context, arguments: &Arguments) -> Result<&'a RootAlone, Vec<Diagnostic>> {
    let found = root_alone(context, arguments);
    if has_errors(&found.problems) { Err(found.problems.clone()) } else { Ok(found) }
}
