//! Diagnostics of `count`, `for_each` and `enabled`.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A block with more than one of these arguments. `names` are all of them.
pub(in crate::config) fn combined(names: &[&str], at: SourceRange) -> Diagnostic {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    let several = match quoted.as_slice() {
        [a, b, c] => format!("{a}, {b}, and {c}"),
        others => others.join(" and "),
    };
    let detail = format!("The arguments {several} all set the number of instances. Only one of them can be used.");
    Diagnostic::error(format!("Invalid combination of {several}"), detail).at(at)
}
