//! References to names that a module does not declare.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::Resource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use crate::config::{CompiledModule, StaticGraph};
use crate::evaluation::problems::references as problems;
use crate::reference::{Reference, Referent};

/// The problem with a reference to a name that the module does not declare. As in OpenTofu, a missing output of a
/// called module is not reported here. Evaluation reports it when it reaches the reference.
pub(super) fn undeclared(module: &CompiledModule, reference: &Reference) -> Option<Diagnostic> {
    let (path, at) = (&module.path, &reference.range);
    match &reference.subject {
        Referent::Variable(name) if !module.variables.contains_key(name) => {
            Some(problems::undeclared_variable(path, name, module.variables.keys().map(|n| n.as_str()), at))
        }
        Referent::Local(name) if !module.locals.contains_key(name) => {
            Some(problems::undeclared_local(path, name, module.locals.keys().map(|n| n.as_str()), at))
        }
        Referent::Resource(resource) => match module.provider_named(reference) {
            Some((name, alias)) => undeclared_provider(module, name, alias, at),
            None => undeclared_resource(module, reference, resource),
        },
        Referent::Module(name, _) if !module.calls.contains_key(name) => {
            Some(problems::undeclared_call(path, name, module.calls.keys().map(|n| n.as_str()), at))
        }
        _ => None,
    }
}

/// The problems of references to undeclared variables in the provider blocks of a root module. Unused provider blocks
/// are skipped. The configuration must have no cycle.
pub fn undeclared_in_providers(root: &Arc<CompiledModule>) -> Vec<Diagnostic> {
    let of_variables = |reference: &&Reference| matches!(reference.subject, Referent::Variable(_));
    let problems = |references: &[Reference]| -> Vec<Diagnostic> {
        references.iter().filter(of_variables).filter_map(|reference| undeclared(root, reference)).collect()
    };
    let found = root.providers.iter().map(|(name, block)| (name, problems(&block.references)));
    let found: Vec<_> = found.filter(|(_, problems)| !problems.is_empty()).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let unused = StaticGraph::new(root).unused(root).providers;
    let is_used = |(name, alias): &(SmolStr, Option<SmolStr>)| {
        !unused.contains(&(root.path.clone(), name.clone(), alias.clone()))
    };
    found.into_iter().filter(|(name, _)| is_used(name)).flat_map(|(_, problems)| problems).collect()
}

fn undeclared_provider(
    module: &CompiledModule,
    name: SmolStr,
    alias: Option<SmolStr>,
    at: &SourceRange,
) -> Option<Diagnostic> {
    let key = (name, alias);
    let declared = module.providers.contains_key(&key)
        || match &key.1 {
            Some(alias) => module.promises(&key.0, Some(alias)),
            None => {
                module.settings.required_providers.contains_key(&key.0)
                    || module.resources.values().any(|block| block.provider_local_name() == key.0)
            }
        };
    (!declared).then(|| problems::undeclared_provider(&module.path, &key.0, key.1.as_deref(), at))
}

fn undeclared_resource(module: &CompiledModule, reference: &Reference, resource: &Resource) -> Option<Diagnostic> {
    if module.outside.contains_key(resource) || module.resources.contains_key(resource) {
        return None;
    }
    let (path, at) = (&module.path, &reference.range);
    if resource.type_name == "provider" && reference.steps == 1 {
        return Some(problems::provider_as_resource(path, resource, at));
    }
    let same_type = module.resources.keys().filter(|r| r.type_name == resource.type_name);
    Some(problems::undeclared_resource(path, resource, same_type.map(|r| r.name.as_str()), at))
}
