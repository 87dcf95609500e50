//! Diagnostics of `run` blocks in test files.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::ModuleSourceError;
use weft_graph_format::source::SourceRange;

/// A second block of a type that a run can have only once.
pub(in crate::config) fn second_block(block_type: &str, first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A run block can have only one {block_type} block. The first one is at {}:{}. Remove one of them.",
        first.file, first.start.line
    );
    Diagnostic::error(format!("Multiple \"{block_type}\" blocks"), detail).at(at.clone())
}

/// An argument that is none of the keywords `words`.
pub(in crate::config) fn unknown_keyword(name: &str, words: [&str; 2], at: SourceRange) -> Diagnostic {
    let detail =
        format!("The argument {name:?} must be one of these keywords, without quotes: {} or {}.", words[0], words[1]);
    Diagnostic::error(format!("Invalid \"{name}\" keyword"), detail).at(at)
}

/// `refresh = false` in a run that only refreshes.
pub(in crate::config) fn refresh_only_without_refresh(at: SourceRange) -> Diagnostic {
    let detail = "In the mode \"refresh-only\" a run only refreshes objects, so \"refresh\" cannot be false.";
    Diagnostic::error("Incompatible plan options", detail).at(at)
}

/// A `module` block without a source.
pub(in crate::config) fn missing_source(at: &SourceRange) -> Diagnostic {
    let detail = "A module block must have a source, such as source = \"./path\".";
    Diagnostic::error("Missing \"source\" attribute for module block", detail).at(at.clone())
}

/// A `module` block with an invalid source. If `versioned` is set, the block has a version, so the source must be in a
/// registry.
pub(in crate::config) fn invalid_source(error: &ModuleSourceError, versioned: bool, at: SourceRange) -> Diagnostic {
    let summary = match versioned && !matches!(error, ModuleSourceError::Relative(_)) {
        true => "Invalid registry module source address",
        false => "Invalid module source address",
    };
    let detail = format!("This cannot be the source of a module: {error}. Local paths begin with ./ or ../.");
    Diagnostic::error(summary, detail).at(at)
}

/// An entry of `expect_failures` for an object without conditions.
pub(in crate::config) fn cannot_fail(object: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "{object} cannot be expected to fail. Only variables, outputs, check blocks, resources and data sources of the \
         tested module have conditions."
    );
    Diagnostic::error("Invalid `expect_failures` reference", detail).at(at)
}
