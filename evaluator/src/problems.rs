//! Diagnostics of references, of bodies that are read by a schema, and of `dynamic` blocks.

use weft_graph_format::diagnostic::{Cause, Diagnostic};
use weft_graph_format::nearest::did_you_mean;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Attribute, ExprKind, Expression, Syntax, Tree};

/// The arguments of a `dynamic` block.
pub(crate) const DYNAMIC_ARGUMENTS: [&str; 3] = ["for_each", "iterator", "labels"];

/// A required argument that is missing.
pub(crate) fn missing_argument(name: &str, at: &SourceRange) -> Diagnostic {
    Diagnostic::error("Missing required argument", format!("The argument {name:?} is required, but is not set."))
        .at(at.clone())
        .cause(Cause::Schema)
}

/// An argument that the body does not have. In the JSON syntax, a block may have been intended.
pub(crate) fn unsupported_argument<'n>(
    tree: &Tree,
    attribute: &Attribute,
    arguments: impl IntoIterator<Item = &'n str>,
    blocks: impl IntoIterator<Item = &'n str>,
) -> Diagnostic {
    let name = attribute.name.text.as_str();
    let place = tree.range(attribute.name.span);
    if tree.syntax() == Syntax::Json {
        let hint = did_you_mean(name, arguments.into_iter().chain(blocks));
        let detail = format!("There is no argument and no block type {name:?} here.{hint}");
        let problem = Diagnostic::error("Extraneous JSON object property", detail).at(place);
        return problem.within(tree.range(attribute.span)).cause(Cause::Schema);
    }
    let hint = if blocks.into_iter().any(|block| block == name) {
        format!(" Did you mean to define a block of type {name:?}?")
    } else {
        did_you_mean(name, arguments)
    };
    Diagnostic::error("Unsupported argument", format!("An argument named {name:?} is not expected here.{hint}"))
        .at(place)
        .cause(Cause::Schema)
}

/// A block that the body does not have. An argument may have been intended.
pub(crate) fn unsupported_block<'n>(
    name: &str,
    arguments: impl IntoIterator<Item = &'n str>,
    blocks: impl IntoIterator<Item = &'n str>,
    at: SourceRange,
) -> Diagnostic {
    let hint = if arguments.into_iter().any(|argument| argument == name) {
        format!(" Did you mean to define argument {name:?}? If so, use the equals sign to assign it a value.")
    } else {
        did_you_mean(name, blocks)
    };
    Diagnostic::error("Unsupported block type", format!("Blocks of type {name:?} are not expected here.{hint}"))
        .at(at)
        .cause(Cause::Schema)
}

/// A value that cannot be converted to the type of its argument, for the reason `why`.
pub(crate) fn wrong_type(name: &str, why: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("Inappropriate value for attribute {name:?}: {why}.");
    Diagnostic::error("Incorrect attribute value type", detail).at(at)
}

/// Fewer blocks of a type than required.
pub(crate) fn insufficient_blocks(name: &str, least: u64, at: &SourceRange) -> Diagnostic {
    Diagnostic::error(format!("Insufficient {name} blocks"), format!("At least {least} {name:?} blocks are required."))
        .at(at.clone())
}

/// More blocks of a type than allowed.
pub(crate) fn too_many_blocks(name: &str, most: u64, at: SourceRange) -> Diagnostic {
    let detail = format!("No more than {most} {name:?} blocks are allowed.");
    Diagnostic::error(format!("Too many {name} blocks"), detail).at(at)
}

/// A second block of a type that is allowed once.
pub(crate) fn second_block(name: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error(format!("Duplicate {name} block"), format!("Only one {name:?} block is allowed.")).at(at)
}

/// A second block with the same label.
pub(crate) fn repeated_label(name: &str, label: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("There is already a {name:?} block with the label {label:?}. Choose another label.");
    Diagnostic::error(format!("Duplicate {name} block"), detail).at(at)
}

/// A block with `found` labels that needs `wanted` labels.
pub(crate) fn wrong_labels(name: &str, found: usize, wanted: usize, at: SourceRange) -> Diagnostic {
    let summary = match found > wanted {
        true => format!("Extraneous label for {name}"),
        false => format!("Missing key for {name}"),
    };
    let needed = match wanted {
        0 => "no labels".to_owned(),
        1 => "one label".to_owned(),
        n => format!("{n} labels"),
    };
    Diagnostic::error(
        summary,
        format!("A {name:?} block must have {needed}, but the number of labels here is {found}."),
    )
    .at(at)
}

/// Blocks that are nested deeper than `most` levels.
pub(crate) fn nested_too_deeply(most: usize, at: &SourceRange) -> Diagnostic {
    Diagnostic::error("Blocks nested too deeply", format!("Blocks are nested more than {most} levels deep here."))
        .at(at.clone())
}

/// A `dynamic` block with `found` labels instead of one.
pub(crate) fn dynamic_label(found: usize, at: SourceRange) -> Diagnostic {
    let summary = if found == 0 { "Missing type for dynamic" } else { "Extraneous label for dynamic" };
    let detail = "A dynamic block has one label, the type of the blocks that it generates: dynamic \"TYPE\".";
    Diagnostic::error(summary, detail).at(at)
}

/// The argument `labels` in a `dynamic` block.
pub(crate) fn dynamic_labels(at: SourceRange) -> Diagnostic {
    let detail = "Nested blocks of providers have no labels, so a dynamic block cannot set \"labels\". Remove the \
                  argument.";
    Diagnostic::error("Unsupported argument", detail).at(at).cause(Cause::Schema)
}

/// An argument that `dynamic` blocks do not have.
pub(crate) fn dynamic_argument(name: &str, syntax: Syntax, at: SourceRange) -> Diagnostic {
    let summary = match syntax {
        Syntax::Native => "Unsupported argument",
        Syntax::Json => "Extraneous JSON object property",
    };
    let detail = format!(
        "A dynamic block has no argument {name:?}. It has {}; the arguments of the generated blocks belong in its \
         content block.",
        DYNAMIC_ARGUMENTS.join(", ")
    );
    Diagnostic::error(summary, detail).at(at).cause(Cause::Schema)
}

/// A `dynamic` block without `for_each`.
pub(crate) fn dynamic_without_for_each(at: SourceRange) -> Diagnostic {
    let detail = "A dynamic block needs the argument \"for_each\": the collection with an element for each block.";
    Diagnostic::error("Missing required argument", detail).at(at).cause(Cause::Schema)
}

/// An `iterator` that is not a single name. `is_path` says that the value consists of several names, like a reference.
pub(crate) fn dynamic_iterator(is_path: bool, at: SourceRange) -> Diagnostic {
    let detail = "The argument \"iterator\" must be a plain name without quotes, such as iterator = rule.";
    let summary = if is_path { "Invalid dynamic iterator name" } else { "Invalid expression" };
    Diagnostic::error(summary, detail).at(at)
}

/// A `dynamic` block without `content`.
pub(crate) fn dynamic_without_content(at: SourceRange) -> Diagnostic {
    let detail = "A dynamic block needs a nested block \"content\": the body of each generated block.";
    Diagnostic::error("Missing dynamic content block", detail).at(at)
}

/// A second `content` block.
pub(crate) fn second_dynamic_content(at: SourceRange) -> Diagnostic {
    let detail = "A dynamic block can have only one content block. Write a second dynamic block for other content.";
    Diagnostic::error("Extraneous dynamic content block", detail).at(at)
}

/// A block other than `content` in a `dynamic` block.
pub(crate) fn block_in_dynamic(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("A dynamic block contains only a content block. Move the block {name:?} into it.");
    Diagnostic::error("Unsupported block type", detail).at(at).cause(Cause::Schema)
}

/// A null `for_each` of a `dynamic` block.
pub(crate) fn null_dynamic_collection(at: &SourceRange) -> Diagnostic {
    let detail = "The for_each of a dynamic block is null. To generate no blocks, use an empty collection.";
    Diagnostic::error("Invalid dynamic for_each value", detail).at(at.clone())
}

/// A `for_each` of a `dynamic` block that is not a collection. `ty` is the name of its type.
pub(crate) fn no_dynamic_collection(ty: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The for_each of a dynamic block must be a list, set, map, tuple or object, not {ty}.");
    Diagnostic::error("Invalid dynamic for_each value", detail).at(at.clone())
}

/// A reference that starts with a reserved name.
pub(crate) fn reserved_name(root: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The name {root:?} is reserved for a future version of the language. For a resource type with this name, \
         write resource.{root}."
    );
    Diagnostic::error("Reserved symbol name", detail).at(at)
}

/// The first name of a reference, with nothing after it.
pub(crate) fn bare_root(root: &str, example: &str, at: SourceRange) -> Diagnostic {
    invalid_reference(format!("The name \"{root}\" must be followed by another name, as in {example}."), at)
}

/// An entry of `replace_triggered_by` that is not a reference to a managed resource.
pub(crate) fn invalid_trigger(at: SourceRange) -> Diagnostic {
    Diagnostic::error(
        "Invalid replace_triggered_by expression",
        "An entry of replace_triggered_by must refer to a managed resource of this module, to an instance of that \
         resource, or to an attribute of an instance.",
    )
    .at(at)
}

/// A key that no instance of a resource or module can have.
pub(crate) fn invalid_index_key(at: SourceRange) -> Diagnostic {
    let detail = "The key of an instance must be a string or a whole number that is not negative.";
    Diagnostic::error("Invalid index key", detail).at(at)
}

/// An index into an instance of a module.
pub(crate) fn index_behind_module_key(module: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("An instance of module.{module} must be followed by a dot and the name of an output.");
    invalid_reference(detail, at)
}

/// The first name of a reference, followed by something other than an attribute.
pub(crate) fn root_without_name(root: &str, example: &str, at: SourceRange) -> Diagnostic {
    invalid_reference(format!("\"{root}\" must be followed by a dot and a name, as in {example}."), at)
}

/// `data`, `ephemeral` or `resource` without a type and a name.
pub(crate) fn incomplete_resource(root: &str, at: SourceRange) -> Diagnostic {
    invalid_reference(format!("\"{root}\" must be followed by a resource type and a name: {root}.TYPE.NAME."), at)
}

/// A single word where a reference is expected.
pub(crate) fn bare_word(word: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "{word:?} is not a complete reference: a reference to a resource has the form TYPE.NAME. If this is text, \
         put it in quotes."
    );
    invalid_reference(detail, at)
}

fn invalid_reference(detail: String, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid reference", detail).at(at)
}

/// An attribute that `count` or `each` does not have. `known` are the attributes that it has.
pub(crate) fn no_repetition_attribute(root: &str, name: &str, known: &[&str], at: SourceRange) -> Diagnostic {
    let detail = format!("{root} has no attribute {name:?}. Use {}.", known.join(" or "));
    Diagnostic::error(format!("Invalid \"{root}\" attribute"), detail).at(at)
}

/// Whether the only errors of an expression are keys that a `for` produces twice. In this case, the value of the
/// expression is known, without those keys.
pub(crate) fn are_repeated_keys(problems: &[Diagnostic], expression: &Expression) -> bool {
    let repeated = |problem: &Diagnostic| problem.cause == Cause::RepeatedKey;
    matches!(expression.without_parentheses().kind(), ExprKind::For(_))
        && problems.iter().filter(|problem| problem.is_error()).all(repeated)
}
