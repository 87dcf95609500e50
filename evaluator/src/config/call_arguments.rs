//! Checks the arguments of module calls against the variables of the module.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;
use weft_syntax::Expression;

use super::call::MODULE_ARGUMENTS;
use super::{CompiledModule, ModuleCall, problems};
use crate::problems::{missing_argument, unsupported_block};

/// The problems of the arguments of all calls in a tree of modules.
pub(crate) fn argument_problems(root: &Arc<CompiledModule>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for module in root.all() {
        for call in module.calls.values() {
            if let Some(child) = module.children.get(&call.name) {
                check_arguments(call, child, &mut found);
            }
        }
    }
    found
}

/// Warns about attributes of a literal object that the type of the variable does not have.
pub(super) fn check_ignored(name: &str, value: &Expression, ty: &Type, diagnostics: &mut Vec<Diagnostic>) {
    let mut pending = vec![(value.without_parentheses(), ty.clone())];
    while let Some((value, ty)) = pending.pop() {
        match &ty {
            Type::Object(object) => {
                for (key, inner) in value.as_map().unwrap_or_default() {
                    let text = key.as_keyword().map(SmolStr::new).or_else(|| key.as_string_literal());
                    let Some(text) = text else { continue };
                    match object.attributes.get(&text) {
                        Some(ty) => pending.push((inner.without_parentheses(), ty.clone())),
                        None => {
                            let known = object.attributes.keys().map(|n| n.as_str());
                            diagnostics.push(problems::call::ignored_attribute(name, &text, known, key.range()));
                        }
                    }
                }
            }
            Type::List(element) | Type::Set(element) => {
                let items = value.as_list().unwrap_or_default();
                pending.extend(items.into_iter().map(|item| (item.without_parentheses(), (**element).clone())));
            }
            Type::Map(element) => {
                let items = value.as_map().unwrap_or_default();
                pending.extend(items.into_iter().map(|(_, item)| (item.without_parentheses(), (**element).clone())));
            }
            _ => {}
        }
    }
}

/// Reports arguments without a variable, and required variables without an argument.
fn check_arguments(call: &ModuleCall, child: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    for (name, (value, range)) in &call.arguments {
        if let Some(variable) = child.variables.get(name) {
            check_ignored(name, value, &variable.ty, diagnostics);
        }
        if !child.variables.contains_key(name) {
            let known = child.variables.keys().map(|n| n.as_str());
            diagnostics.push(problems::call::unsupported_argument(name, known, value.tree.syntax(), range));
        }
    }
    for (block_type, range) in &call.unexpected_blocks {
        diagnostics.push(unsupported_block(block_type, [], [], range.clone()));
    }
    for variable in child.variables.values() {
        let reserved = MODULE_ARGUMENTS.contains(&variable.name.as_str());
        if variable.default.is_none() && !reserved && !call.arguments.contains_key(&variable.name) {
            diagnostics.push(missing_argument(&variable.name, &call.missing));
        }
    }
}
