//! Checks of the configuration as a whole before evaluation: `removed` blocks for resources and modules that are still
//! declared, and unknown provisioners.

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;

use super::provisioners;
use crate::config::CompiledModule;
use crate::evaluation::problems::blocks as problems;
use crate::glue::{Failed, Glue};
use crate::purpose::Purpose;

/// Reports the problems of these checks. Returns `Failed` if an error prevents evaluation.
pub(super) fn report(root: &Arc<CompiledModule>, purpose: Purpose, glue: &dyn Glue) -> Result<(), Failed> {
    let mut found = provisioners::unknown_provisioners(root);
    if purpose.reports_statements() {
        found.extend(still_there(&root.all()));
    }
    let failed = found.iter().any(Diagnostic::is_error);
    found.into_iter().for_each(|problem| glue.report(problem));
    if failed { Err(Failed) } else { Ok(()) }
}

/// Reports `removed` blocks for objects that are still declared.
fn still_there(modules: &[Arc<CompiledModule>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for block in modules.iter().flat_map(|module| &module.statements.removed) {
        let declared = modules.iter().find(|module| module.path == block.module);
        match (&block.resource, declared) {
            (Some(resource), Some(module)) if module.resources.contains_key(resource) => {
                found.push(problems::resource_still_declared(block));
            }
            (None, Some(_)) => found.push(problems::module_still_called(block)),
            _ => {}
        }
    }
    found
}
