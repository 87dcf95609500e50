//! Errors of the JSON syntax.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

const MISMATCHED_TYPE: &str = "Incorrect JSON value type";
const NO_COLON: &str = "Missing property value colon";
const NO_COMMA: &str = "Missing attribute seperator comma";
const UNCLOSED: &str = "Unclosed object";
const VALUES: &str = "A JSON value is an object, an array, a string, a number, true, false or null.";

/// Something after the value of the file.
pub(crate) fn more_after_value() -> Diagnostic {
    Diagnostic::error(
        "Extraneous data after value",
        "The value of this file is already complete here. Remove the text that follows.",
    )
}

/// A file that is neither an object nor an array.
pub(crate) fn no_root_object() -> Diagnostic {
    let detail = "A file in JSON syntax must be one object, or an array of objects, with the whole configuration.";
    Diagnostic::error("Root value must be object", detail)
}

/// The end of the text in place of a value.
pub(crate) fn no_value() -> Diagnostic {
    Diagnostic::error("Missing value", "A value is expected here, but the text ends.")
}

/// A closing brace in place of a value.
pub(crate) fn brace_for_value() -> Diagnostic {
    Diagnostic::error("Missing JSON value", VALUES)
}

/// A closing bracket in place of a value.
pub(crate) fn bracket_for_value() -> Diagnostic {
    Diagnostic::error("Missing array element value", VALUES)
}

/// A token that cannot begin a value, other than a closing bracket or brace.
pub(crate) fn invalid_value() -> Diagnostic {
    Diagnostic::error("Invalid start of value", VALUES)
}

/// A value that is nested more than `limit` levels deep.
pub(crate) fn too_deep(limit: usize) -> Diagnostic {
    let detail = format!("Objects and arrays can be nested at most {limit} levels deep.");
    Diagnostic::error("Nesting too deep", detail)
}

/// A comma after the last property.
pub(crate) fn trailing_comma_in_object() -> Diagnostic {
    let detail = "In JSON, no comma follows the last property of an object.";
    Diagnostic::error("Trailing comma in object", detail)
}

/// A comma after the last element.
pub(crate) fn trailing_comma_in_array() -> Diagnostic {
    let detail = "In JSON, no comma follows the last element of an array.";
    Diagnostic::error("Trailing comma in array", detail)
}

/// An object without its closing brace.
pub(crate) fn unclosed_object() -> Diagnostic {
    Diagnostic::error(UNCLOSED, "This JSON object has no closing brace.")
}

/// An array without its closing bracket.
pub(crate) fn unclosed_array() -> Diagnostic {
    Diagnostic::error(UNCLOSED, "This JSON array has no closing bracket.")
}

/// A closing bracket in place of a closing brace.
pub(crate) fn bracket_for_brace() -> Diagnostic {
    Diagnostic::error("Mismatched braces", "A JSON object ends with a brace, but this is a bracket.")
}

/// A closing brace in place of a closing bracket.
pub(crate) fn brace_for_bracket() -> Diagnostic {
    Diagnostic::error("Mismatched brackets", "A JSON array ends with a bracket, but this is a brace.")
}

/// Two properties without a comma.
pub(crate) fn no_comma_in_object() -> Diagnostic {
    let detail = "The properties of an object are separated by commas. A comma is expected here.";
    Diagnostic::error(NO_COMMA, detail)
}

/// Two elements without a comma.
pub(crate) fn no_comma_in_array() -> Diagnostic {
    let detail = "The elements of an array are separated by commas. A comma is expected here.";
    Diagnostic::error(NO_COMMA, detail)
}

/// A property whose name is not a string.
pub(crate) fn invalid_name() -> Diagnostic {
    let detail = "The name of a JSON property must be a string in double quotes.";
    Diagnostic::error("Invalid object property name", detail)
}

/// A property without a value.
pub(crate) fn no_property_value() -> Diagnostic {
    let detail = "A colon and a value must follow the name of a property. Write elements without names in an array.";
    Diagnostic::error("Missing object value", detail)
}

/// An equals sign in place of a colon.
pub(crate) fn equals_for_colon() -> Diagnostic {
    Diagnostic::error(NO_COLON, "In JSON, a name and its value are separated by a colon, not by an equals sign.")
}

/// A token other than an equals sign in place of a colon.
pub(crate) fn no_colon() -> Diagnostic {
    Diagnostic::error(NO_COLON, "A colon must follow the name of a property.")
}

/// A colon after an element.
pub(crate) fn colon_in_array() -> Diagnostic {
    let detail = "The elements of an array have no names, so a colon is not allowed here.";
    Diagnostic::error("Invalid array value", detail)
}

/// A number in a notation that JSON does not have.
pub(crate) fn invalid_number() -> Diagnostic {
    Diagnostic::error("Invalid JSON number", "This is not a valid number in JSON.")
}

/// A keyword that JSON does not have. `similar` is the keyword that was probably meant.
pub(crate) fn invalid_keyword(word: &str, similar: Option<&str>) -> Diagnostic {
    let hint = similar.map(|word| format!(" Did you mean {word:?}?")).unwrap_or_default();
    let detail = format!("{word:?} is not a keyword of JSON. The keywords are true, false and null.{hint}");
    Diagnostic::error("Invalid JSON keyword", detail)
}

/// A string without its closing quote, or with an invalid escape sequence.
pub(crate) fn invalid_string() -> Diagnostic {
    Diagnostic::error(
        "Invalid JSON string",
        "A JSON string must end with a quote on the same line. Its escape sequences are \\\" \\\\ \\/ \\b \\f \\n \\r \
         \\t and \\uXXXX.",
    )
}

/// A value in place of an object whose properties are arguments.
pub(crate) fn no_object_of_arguments() -> Diagnostic {
    let detail = "A JSON object is expected here: each of its properties is an argument.";
    Diagnostic::error(MISMATCHED_TYPE, detail)
}

/// The purpose of the properties of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Properties<'a> {
    /// The names of the properties are values of a block's label. The text is the name of the label.
    Labels(&'a str),
    /// The properties are arguments and blocks.
    Content,
}

impl Properties<'_> {
    fn shown(self) -> String {
        match self {
            Properties::Labels(label) => format!("the name of each property is the {label} label of a block"),
            Properties::Content => String::from("its properties are arguments and blocks"),
        }
    }
}

/// An element of an array that is not an object.
pub(crate) fn no_object(properties: Properties<'_>) -> Diagnostic {
    Diagnostic::error(MISMATCHED_TYPE, format!("A JSON object is expected here: {}.", properties.shown()))
}

/// A value that is neither an object nor an array of objects.
pub(crate) fn no_objects(properties: Properties<'_>) -> Diagnostic {
    let detail = format!("A JSON object or an array of objects is expected here: {}.", properties.shown());
    Diagnostic::error(MISMATCHED_TYPE, detail)
}

/// A value in place of the content of blocks.
pub(crate) fn no_block_content(block_type: &str) -> Diagnostic {
    let detail = format!(
        "A JSON object or an array of objects is expected here. Each object is the content of a {block_type:?} block."
    );
    Diagnostic::error(MISMATCHED_TYPE, detail)
}

/// A duplicate argument of a body with arguments and blocks. `first` is the range of its first occurrence.
pub(crate) fn duplicate_argument(name: &str, first: &SourceRange) -> Diagnostic {
    Diagnostic::error("Duplicate argument", set_twice(name, first))
}

/// A duplicate argument of a body that only has arguments. `first` is the range of its first occurrence.
pub(crate) fn duplicate_attribute(name: &str, first: &SourceRange) -> Diagnostic {
    Diagnostic::error("Duplicate attribute definition", set_twice(name, first))
}

fn set_twice(name: &str, first: &SourceRange) -> String {
    format!("The argument {name:?} is already set at {}:{}. It can be set only once.", first.file, first.start.line)
}

/// A block without one of its labels.
pub(crate) fn no_label(label: &str, block_type: &str) -> Diagnostic {
    let detail = format!("A {block_type:?} block needs a {label} here, as the name of a property.");
    Diagnostic::error("Missing block label", detail)
}
