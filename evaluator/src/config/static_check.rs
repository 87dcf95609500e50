//! What can be said of references without values: do they lead to something, and do they go in circles?

use weft_graph_format::diagnostic::Diagnostic;

use super::CompiledModule;
use super::content::did_you_mean;
use crate::reference::{Reference, Subject};

/// Where references stand decides what else may be named there.
#[derive(Clone, Copy)]
struct Allowed {
    count: bool,
    each: bool,
    self_object: bool,
}

const NOTHING: Allowed = Allowed { count: false, each: false, self_object: false };

/// Reports references of a module that lead nowhere.
pub(super) fn check_module(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    let mut check = |references: &[Reference], allowed: Allowed| {
        for reference in references {
            if let Some(problem) = problem(module, reference, allowed) {
                diagnostics.push(problem);
            }
        }
    };
    for local in module.locals.values() {
        check(&local.references, NOTHING);
    }
    for output in module.outputs.values() {
        check(&output.references, NOTHING);
    }
    for provider in module.providers.values() {
        check(&provider.references, Allowed { each: true, ..NOTHING });
    }
    for resource in module.resources.values() {
        check(&resource.references, Allowed { count: true, each: true, self_object: true });
    }
    for call in module.calls.values() {
        check(&call.references, Allowed { count: true, each: true, self_object: false });
    }
}

fn place(module: &CompiledModule) -> String {
    if module.path.is_root() { String::from("the root module") } else { module.path.to_string() }
}

fn problem(module: &CompiledModule, reference: &Reference, allowed: Allowed) -> Option<Diagnostic> {
    let error = |summary: &str, detail: String| Some(Diagnostic::error(summary, detail).at(reference.range.clone()));
    match &reference.subject {
        Subject::Variable(name) if !module.variables.contains_key(name) => {
            let hint = did_you_mean(name, module.variables.keys().map(|n| n.as_str()));
            let hint = if hint.is_empty() { format!(" Declare it with a variable {name:?} {{}} block.") } else { hint };
            error(
                "Reference to undeclared input variable",
                format!("{} has no input variable named {name:?}.{hint}", place(module)),
            )
        }
        Subject::Local(name) if !module.locals.contains_key(name) => {
            let hint = did_you_mean(name, module.locals.keys().map(|n| n.as_str()));
            error(
                "Reference to undeclared local value",
                format!("{} has no local value named {name:?}.{hint}", place(module)),
            )
        }
        Subject::Resource(resource) if !module.resources.contains_key(resource) => {
            let same_type = module.resources.keys().filter(|r| r.type_name == resource.type_name);
            let hint = did_you_mean(&resource.name, same_type.map(|r| r.name.as_str()));
            error("Reference to undeclared resource", format!("{resource} is not declared in {}.{hint}", place(module)))
        }
        Subject::Module(name, _) if !module.calls.contains_key(name) => {
            let hint = did_you_mean(name, module.calls.keys().map(|n| n.as_str()));
            error(
                "Reference to undeclared module",
                format!("No module call named {name:?} is declared in {}.{hint}", place(module)),
            )
        }
        Subject::CountIndex if !allowed.count => error(
            "Reference to \"count\" in non-counted context",
            String::from("count.index has a value only inside resource, data and module blocks that set count."),
        ),
        Subject::EachKey | Subject::EachValue if !allowed.each => error(
            "Reference to \"each\" in context without for_each",
            String::from("each.key and each.value have values only inside blocks that set for_each."),
        ),
        Subject::SelfObject if !allowed.self_object => error(
            "Invalid \"self\" reference",
            String::from("self has a value only in provisioner, connection and postcondition blocks of a resource."),
        ),
        Subject::Path(name) if !matches!(name.as_str(), "module" | "root" | "cwd") => error(
            "Invalid \"path\" attribute",
            format!("path has no attribute {name:?}; there are path.module, path.root and path.cwd."),
        ),
        Subject::Terraform(name) if !matches!(name.as_str(), "workspace" | "applying") => error(
            "Invalid \"terraform\" attribute",
            format!("terraform has no attribute {name:?}; there is terraform.workspace."),
        ),
        _ => None,
    }
}
