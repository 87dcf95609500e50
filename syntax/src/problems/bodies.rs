//! Errors of arguments and blocks.

use weft_graph_format::diagnostic::Diagnostic;

const ITEM_REQUIRED: &str = "Argument or block definition required";
const INVALID_BLOCK: &str = "Invalid block definition";
const INVALID_LINE: &str = "Invalid single-argument block definition";

/// A name in quotes.
pub(crate) fn quoted_name() -> Diagnostic {
    Diagnostic::error("Invalid argument name", "Names of arguments are written without quotes.")
}

/// A token that begins no item.
pub(crate) fn no_item() -> Diagnostic {
    Diagnostic::error(ITEM_REQUIRED, "An argument (name = value) or a block (type { ... }) is expected here.")
}

/// A name that begins neither an argument nor a block.
pub(crate) fn lone_name() -> Diagnostic {
    Diagnostic::error(
        ITEM_REQUIRED,
        "An argument (name = value) or a block (type { ... }) is expected here. For an argument, write an equals sign \
         after the name.",
    )
}

/// A block without its closing brace.
pub(crate) fn unclosed_block() -> Diagnostic {
    Diagnostic::error(
        "Unclosed configuration block",
        "The opening brace of this block has no closing brace before the end of the file. The missing brace may be \
         that of a block inside it.",
    )
}

/// A token on the same line after a closing brace.
pub(crate) fn no_newline_after_block() -> Diagnostic {
    let detail = "A line break must follow the closing brace of a block.";
    Diagnostic::error("Missing newline after block definition", detail)
}

/// A comma after an argument.
pub(crate) fn comma_after_argument() -> Diagnostic {
    let detail = "Arguments are separated by line breaks, not by commas.";
    Diagnostic::error("Unexpected comma after argument", detail)
}

/// A token other than a comma or a line end after an argument.
pub(crate) fn no_newline_after_argument() -> Diagnostic {
    Diagnostic::error("Missing newline after argument", "A line break must follow the value of an argument.")
}

/// A second definition of an argument. The first definition is on line `line`.
pub(crate) fn duplicate_argument(name: &str, line: u32) -> Diagnostic {
    let detail = format!("The argument \"{name}\" is already set on line {line}. It can be set only once.");
    Diagnostic::error("Attribute redefined", detail)
}

/// An equals sign after labels.
pub(crate) fn labels_of_argument() -> Diagnostic {
    Diagnostic::error(
        INVALID_BLOCK,
        "An argument (name = value) has no labels, and a block has no equals sign. Remove the labels or the equals \
         sign.",
    )
}

/// A line break in place of an opening brace.
pub(crate) fn newline_before_brace() -> Diagnostic {
    let detail = "The opening brace of a block must be on the same line as its type and labels.";
    Diagnostic::error(INVALID_BLOCK, detail)
}

/// A token other than a line break in place of an opening brace.
pub(crate) fn no_brace() -> Diagnostic {
    let detail = "A label in quotes or the opening brace of the block is expected here.";
    Diagnostic::error(INVALID_BLOCK, detail)
}

/// A comma after the argument of a block on one line.
pub(crate) fn second_argument_on_line() -> Diagnostic {
    let detail = "A block on one line can have only one argument. Write each argument on its own line.";
    Diagnostic::error(INVALID_LINE, detail)
}

/// A line break after the argument of a block on one line.
pub(crate) fn newline_after_single_argument() -> Diagnostic {
    Diagnostic::error(
        INVALID_LINE,
        "If the argument of a block is on the line of the opening brace, the closing brace must be on that line too.",
    )
}

/// A token other than a comma or a line break after the argument of a block on one line.
pub(crate) fn more_after_single_argument() -> Diagnostic {
    Diagnostic::error(INVALID_LINE, "A block on one line has only one argument, and the closing brace must follow it.")
}

/// A block on one line that does not begin with a name.
pub(crate) fn no_argument_on_line() -> Diagnostic {
    Diagnostic::error(ITEM_REQUIRED, "An argument (name = value) is expected here.")
}

/// A block within a block on one line.
pub(crate) fn block_on_line() -> Diagnostic {
    Diagnostic::error(
        "Argument definition required",
        "A block on one line can have only one argument, and no nested blocks. Write nested blocks on their own lines. \
         For an argument, write an equals sign after the name.",
    )
}

/// A name without an equals sign in a block on one line.
pub(crate) fn no_equals_on_line() -> Diagnostic {
    Diagnostic::error(ITEM_REQUIRED, "An equals sign must follow the name of an argument.")
}
