//! What is said of a configuration as a whole before anything is evaluated: statements about objects that are not
//! there, and what cannot be carried out.

use std::sync::Arc;

use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::provisioners;
use crate::config::CompiledModule;
use crate::glue::{Construct, Failed, Glue, Purpose, not_supported};

/// Reports warnings and errors about statements; `Failed` when one is an error that leaves nothing to evaluate.
pub(super) fn report(root: &Arc<CompiledModule>, glue: &dyn Glue) -> Result<(), Failed> {
    let modules = root.all();
    let mut found: Vec<Diagnostic> = modules.iter().flat_map(|module| provisioners::unknown_kinds(module)).collect();
    if glue.purpose() == Purpose::Plan {
        found.extend(still_there(&modules));
        found.extend(modules.iter().flat_map(|module| unsupported(module, glue)));
    }
    let failed = found.iter().any(Diagnostic::is_error);
    found.into_iter().for_each(|problem| glue.report(problem));
    if failed { Err(Failed) } else { Ok(()) }
}

/// `removed` blocks about what is declared all the same.
fn still_there(modules: &[Arc<CompiledModule>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for block in modules.iter().flat_map(|module| &module.removed) {
        let declared = modules.iter().find(|module| module.path == block.module);
        let problem = match (&block.resource, declared) {
            (Some(resource), Some(module)) if module.resources.contains_key(resource) => {
                ("Removed resource block still exists", "resource", "its block")
            }
            (None, Some(_)) => ("Removed module block still exists", "module", "the call"),
            _ => continue,
        };
        let (summary, what, whose) = problem;
        found.push(
            Diagnostic::error(
                summary,
                format!("This says that the {what} {} is removed, but {whose} is still there.", block.address()),
            )
            .at(block.range.clone()),
        );
    }
    found
}

fn unsupported(module: &CompiledModule, glue: &dyn Glue) -> Vec<Diagnostic> {
    let mut used: Vec<(Construct, &SourceRange)> = Vec::new();
    used.extend(module.moved.iter().map(|block| (Construct::Moved, &block.range)));
    used.extend(module.removed.iter().map(|block| (Construct::Removed, &block.range)));
    used.extend(module.imports.iter().map(|block| (Construct::Import, &block.range)));
    used.extend(module.checks.values().map(|block| (Construct::Check, &block.range)));
    for block in module.resources.values() {
        if block.resource.mode == ResourceMode::Ephemeral {
            used.push((Construct::Ephemeral, &block.range));
        }
    }
    let own = module.resources.values().flat_map(|block| &block.provisioners);
    let removed = module.removed.iter().flat_map(|block| &block.provisioners);
    let others = own.chain(removed).filter(|inner| inner.kind != provisioners::LOCAL_EXEC);
    used.extend(others.map(|inner| (Construct::Provisioner, &inner.range)));
    used.into_iter()
        .filter(|(construct, _)| !glue.supports(*construct))
        .map(|(construct, range)| not_supported(construct, range))
        .collect()
}
