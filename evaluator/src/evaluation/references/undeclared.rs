//! References to names that a module does not declare.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::Resource;
use weft_graph_format::diagnostic::Diagnostic;

use crate::config::{CompiledModule, ModuleCall, Repetition, did_you_mean};
use crate::reference::{Reference, Subject};

/// The problem with a reference to a name that the module does not declare.
pub(super) fn undeclared(module: &CompiledModule, reference: &Reference) -> Option<Diagnostic> {
    let (summary, detail) = match &reference.subject {
        Subject::Variable(name) if !module.variables.contains_key(name) => {
            let hint = did_you_mean(name, module.variables.keys().map(|n| n.as_str()));
            let hint = if hint.is_empty() { format!(" A variable {name:?} {{}} block declares it.") } else { hint };
            (
                "Reference to undeclared input variable",
                format!("No input variable named {name:?} is declared in {}.{hint}", place(module)),
            )
        }
        Subject::Local(name) if !module.locals.contains_key(name) => {
            let hint = did_you_mean(name, module.locals.keys().map(|n| n.as_str()));
            (
                "Reference to undeclared local value",
                format!("No local value named {name:?} is declared in {}.{hint}", place(module)),
            )
        }
        Subject::Resource(resource) => match module.provider_named(reference) {
            Some((name, alias)) => undeclared_provider(module, name, alias)?,
            None => undeclared_resource(module, reference, resource)?,
        },
        Subject::Module(name, _) if !module.calls.contains_key(name) => {
            let hint = did_you_mean(name, module.calls.keys().map(|n| n.as_str()));
            (
                "Reference to undeclared module",
                format!("No module call named {name:?} is declared in {}.{hint}", place(module)),
            )
        }
        Subject::Module(name, Some(output)) => return undeclared_output(module, reference, name, output),
        _ => return None,
    };
    Some(Diagnostic::error(summary, detail).at(reference.range.clone()))
}

fn place(module: &CompiledModule) -> String {
    if module.path.is_root() { String::from("the root module") } else { module.path.to_string() }
}

fn undeclared_provider(
    module: &CompiledModule,
    name: SmolStr,
    alias: Option<SmolStr>,
) -> Option<(&'static str, String)> {
    let key = (name, alias);
    let declared = module.providers.contains_key(&key)
        || match &key.1 {
            Some(alias) => module.promises(&key.0, Some(alias)),
            None => {
                module.settings.required_providers.contains_key(&key.0)
                    || module.resources.values().any(|block| block.provider_local_name() == key.0)
            }
        };
    if declared {
        return None;
    }
    let (name, alias) = key;
    let shown = alias.as_ref().map_or_else(|| name.to_string(), |alias| format!("{name}.{alias}"));
    let detail = format!(
        "There is no provider configuration {shown} in {}: neither a block for it, nor a word in required_providers \
         that callers pass it.",
        place(module)
    );
    Some(("Reference to undeclared provider configuration", detail))
}

fn undeclared_resource(
    module: &CompiledModule,
    reference: &Reference,
    resource: &Resource,
) -> Option<(&'static str, String)> {
    if module.outside.contains_key(resource) || module.resources.contains_key(resource) {
        return None;
    }
    let same_type = module.resources.keys().filter(|r| r.type_name == resource.type_name);
    let hint = match resource.type_name == "provider" && reference.steps == 1 {
        true => String::from(
            " Modules that say experiments = [provider_values] in a language block can refer to providers so.",
        ),
        false => did_you_mean(&resource.name, same_type.map(|r| r.name.as_str())),
    };
    let detail = format!("{resource} is not declared in {}.{hint}", place(module));
    Some(("Reference to undeclared resource", detail))
}

/// Reports a missing output of the called module.
fn undeclared_output(
    module: &CompiledModule,
    reference: &Reference,
    name: &SmolStr,
    output: &SmolStr,
) -> Option<Diagnostic> {
    let child = module.children.get(name)?;
    // Without an index the name may be the key of an instance.
    let of_instance = |call: &Arc<ModuleCall>| matches!(call.repetition, Repetition::ForEach(_));
    let by_name = reference.key.is_none() && module.calls.get(name).is_some_and(of_instance);
    if by_name || child.outputs.contains_key(output) {
        return None;
    }
    let hint = did_you_mean(output, child.outputs.keys().map(|n| n.as_str()));
    let at = reference.attribute_range.clone().unwrap_or_else(|| reference.range.clone());
    let detail = format!("This object does not have an attribute named {output:?}.{hint}");
    Some(Diagnostic::error("Unsupported attribute", detail).at(at))
}
