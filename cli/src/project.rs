//! A configuration in the current directory: loaded, with what it requires of providers.

use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::{CompiledModule, Installed, has_configuration, load_tree};
use weft_graph_format::address::{ProviderInstance, ProviderSource};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::constraint::Constraints;
use weft_providers::packages::{Requirements, require};
use weft_state::Snapshot;

use crate::view::View;

/// A configuration.
#[derive(Debug)]
pub struct Project {
    /// The root module with all below it.
    pub root: Arc<CompiledModule>,
    /// There are no configuration files at all.
    pub empty: bool,
}

impl Project {
    /// Loads the configuration of the current directory; `view` learns its lines and shows its warnings.
    ///
    /// # Errors
    /// What is wrong with it, warnings included.
    pub fn load(view: &View) -> Result<Project, Vec<Diagnostic>> {
        let (project, problems) = Project::load_quietly(view);
        if has_errors(&problems) {
            return Err(problems);
        }
        view.diagnostics(&problems);
        Ok(project)
    }

    /// The same as far as it goes, with all that is wrong beside it.
    pub fn load_quietly(view: &View) -> (Project, Vec<Diagnostic>) {
        let directory = Path::new(".");
        let empty = !has_configuration(directory);
        let (root, sources, problems) = load_tree(directory, &Installed::new());
        view.know(&sources);
        (Project { root, empty }, problems)
    }

    /// The same, where there must be configuration files; `doing` is `Plan` or `Apply`.
    ///
    /// # Errors
    /// What is wrong with it, or that there is none.
    pub fn load_present(view: &View, doing: &str) -> Result<Project, Vec<Diagnostic>> {
        let project = Project::load(view)?;
        if project.empty {
            return Err(vec![Diagnostic::error(
                "No configuration files",
                format!(
                    "{doing} requires configuration to be present: without any, everything would be marked for \
                     destruction, which is normally not what is desired. To destroy everything, use the -destroy option \
                     or \"weft destroy\". Otherwise, create a configuration file (.tf) and try again."
                ),
            )]);
        }
        Ok(project)
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

/// What each provider's versions must satisfy, from all modules together.
fn of_configuration(root: &Arc<CompiledModule>) -> (Requirements, Vec<Diagnostic>) {
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
    for required in module.required_providers.values() {
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
