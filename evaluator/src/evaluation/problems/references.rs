//! Diagnostics of references to names and into objects.

use weft_graph_format::address::{Module, Resource};
use weft_graph_format::diagnostic::{Diagnostic, REDUNDANT_IGNORED};
use weft_graph_format::nearest::did_you_mean;
use weft_graph_format::source::SourceRange;

const INVALID_DEPENDS_ON: &str = "Invalid depends_on reference";

/// The name of a module in messages.
fn place(module: &Module) -> String {
    if module.is_root() { String::from("the root module") } else { module.to_string() }
}

/// An undeclared variable. `known` are the declared ones.
pub(in crate::evaluation) fn undeclared_variable<'n>(
    module: &Module,
    name: &str,
    known: impl Iterator<Item = &'n str>,
    at: &SourceRange,
) -> Diagnostic {
    let hint = did_you_mean(name, known);
    let hint = if hint.is_empty() { format!(" To declare it, add a variable {name:?} {{}} block.") } else { hint };
    let detail = format!("No input variable named {name:?} is declared in {}.{hint}", place(module));
    Diagnostic::error("Reference to undeclared input variable", detail).at(at.clone())
}

/// A local value that refers to itself.
pub(in crate::evaluation) fn local_refers_to_itself(address: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{address} refers to itself, so its value cannot be computed. Remove the reference.");
    Diagnostic::error("Self-referencing local value", detail).at(at.clone())
}

/// An undeclared local value.
pub(in crate::evaluation) fn undeclared_local<'n>(
    module: &Module,
    name: &str,
    known: impl Iterator<Item = &'n str>,
    at: &SourceRange,
) -> Diagnostic {
    let hint = did_you_mean(name, known);
    let detail = format!("No local value named {name:?} is declared in {}.{hint}", place(module));
    Diagnostic::error("Reference to undeclared local value", detail).at(at.clone())
}

/// An undeclared module call.
pub(in crate::evaluation) fn undeclared_call<'n>(
    module: &Module,
    name: &str,
    known: impl Iterator<Item = &'n str>,
    at: &SourceRange,
) -> Diagnostic {
    let hint = did_you_mean(name, known);
    let detail = format!("No module call named {name:?} is declared in {}.{hint}", place(module));
    Diagnostic::error("Reference to undeclared module", detail).at(at.clone())
}

/// An undeclared resource. `known` are the declared ones of its type.
pub(in crate::evaluation) fn undeclared_resource<'n>(
    module: &Module,
    resource: &Resource,
    known: impl Iterator<Item = &'n str>,
    at: &SourceRange,
) -> Diagnostic {
    undeclared_with_hint(module, resource, &did_you_mean(&resource.name, known), at)
}

/// An undeclared resource that looks like a reference to a provider.
pub(in crate::evaluation) fn provider_as_resource(
    module: &Module,
    resource: &Resource,
    at: &SourceRange,
) -> Diagnostic {
    let hint = " To refer to providers by such names, set experiments = [provider_values] in a language block.";
    undeclared_with_hint(module, resource, hint, at)
}

fn undeclared_with_hint(module: &Module, resource: &Resource, hint: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{resource} is not declared in {}.{hint}", place(module));
    Diagnostic::error("Reference to undeclared resource", detail).at(at.clone())
}

/// An undeclared provider configuration.
pub(in crate::evaluation) fn undeclared_provider(
    module: &Module,
    name: &str,
    alias: Option<&str>,
    at: &SourceRange,
) -> Diagnostic {
    let shown = alias.map_or_else(|| name.to_string(), |alias| format!("{name}.{alias}"));
    let detail = format!(
        "There is no provider configuration {shown} in {}. Add a provider block, or declare the provider in \
         required_providers and pass the configuration from the caller.",
        place(module)
    );
    Diagnostic::error("Reference to undeclared provider configuration", detail).at(at.clone())
}

/// `depends_on` with a part of an object.
pub(in crate::evaluation) fn depends_on_part(at: SourceRange) -> Diagnostic {
    let detail = "depends_on takes whole objects, such as a resource or a module. Remove the attribute.";
    Diagnostic::error(INVALID_DEPENDS_ON, detail).at(at)
}

/// `depends_on` with a provider configuration.
pub(in crate::evaluation) fn depends_on_provider(at: &SourceRange) -> Diagnostic {
    let detail = "depends_on takes resources, modules and values, but this is a provider configuration. Use the \
                  resources that the configuration depends on.";
    Diagnostic::error(INVALID_DEPENDS_ON, detail).at(at.clone())
}

/// The attribute `count` of a resource, which old versions of the language had.
pub(in crate::evaluation) fn count_of_resource(resource: &Resource, at: SourceRange) -> Diagnostic {
    let detail = format!("Resources have no attribute \"count\". The number of instances is length({resource}).");
    Diagnostic::error("Invalid resource count attribute", detail).at(at)
}

/// `replace_triggered_by` with an undeclared resource.
pub(in crate::evaluation) fn undeclared_trigger(block: &Resource, resource: &Resource, at: &SourceRange) -> Diagnostic {
    let detail =
        format!("The replace_triggered_by of {block} refers to {resource}, which this module does not declare.");
    Diagnostic::error("Undeclared resource in replace_triggered_by", detail).at(at.clone())
}

/// `ignore_changes` with an attribute that the configuration cannot set.
pub(in crate::evaluation) fn ignored_computed(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "Only the provider sets the attribute {name:?}, so this entry of ignore_changes has no effect. Remove the \
         entry."
    );
    Diagnostic::warning("Redundant ignore_changes element", detail).at(at.clone()).code(REDUNDANT_IGNORED)
}

/// A reference without a key to an attribute of a resource with `count`.
pub(in crate::evaluation) fn key_missing_of_count(resource: &Resource, at: &SourceRange) -> Diagnostic {
    key_missing(resource, "count", "count.index", at)
}

/// A reference without a key to an attribute of a resource with `for_each`.
pub(in crate::evaluation) fn key_missing_of_for_each(resource: &Resource, at: &SourceRange) -> Diagnostic {
    key_missing(resource, "for_each", "each.key", at)
}

fn key_missing(resource: &Resource, argument: &str, key: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "{resource} has {argument:?} set, so its attributes must be accessed on specific instances, such as \
         {resource}[{key}]."
    );
    Diagnostic::error("Missing resource instance key", detail).at(at.clone())
}

/// A reference with a key to a resource without `count` and `for_each`.
pub(in crate::evaluation) fn key_unexpected(resource: &Resource, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "{resource} sets neither \"count\" nor \"for_each\", so it has no instances with keys. Remove the key."
    );
    Diagnostic::error("Unexpected resource instance key", detail).at(at.clone())
}

/// An attribute that `path` does not have.
pub(in crate::evaluation) fn no_path_attribute(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("path has no attribute {name:?}. Use path.module, path.root or path.cwd.");
    Diagnostic::error("Invalid \"path\" attribute", detail).at(at.clone())
}

/// An attribute that `terraform` or `tofu` does not have.
pub(in crate::evaluation) fn no_terraform_attribute(root: &str, name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{root} has no attribute {name:?}. Use {root}.workspace.");
    Diagnostic::error(format!("Invalid \"{root}\" attribute"), detail).at(at.clone())
}

/// An index into an object. `name` is the key, if the key can be the name of an attribute.
pub(in crate::evaluation) fn index_into_object(name: Option<&str>, at: &SourceRange) -> Diagnostic {
    let hint = match name {
        Some(name) => format!("Did you mean .{name}?"),
        None => "Use a dot and the name of an attribute.".to_owned(),
    };
    let detail = format!("This is an object, which has attributes, but no elements. {hint}");
    Diagnostic::error("Invalid index operation", detail).at(at.clone())
}

/// An attribute that an object does not have.
pub(in crate::evaluation) fn missing_attribute<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Diagnostic {
    let hint = did_you_mean(name, known);
    Diagnostic::error(
        "Unsupported attribute",
        format!("This object has no argument, nested block or exported attribute named {name:?}.{hint}"),
    )
}

/// An index into a set of blocks.
pub(in crate::evaluation) fn index_into_set(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "The blocks of type {name:?} form a set, whose elements have no keys. To select elements, use a for expression \
         with an if clause."
    );
    Diagnostic::error("Cannot index a set value", detail).at(at.clone())
}

/// An attribute of a list of blocks.
pub(in crate::evaluation) fn attribute_of_list(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The blocks of type {name:?} form a list. Select one by its index, such as .{name}[0].");
    Diagnostic::error("Invalid operation", detail).at(at.clone())
}

/// A reference to the data source of a check block from outside of this block.
pub(in crate::evaluation) fn scoped(resource: &Resource, check: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "Only the check block {check:?} can refer to {resource}, which is declared in it. Move the data source out of \
         the check block to use it elsewhere."
    );
    Diagnostic::error("Reference to scoped resource", detail).at(at.clone())
}
