//! Diagnostics of `mock_provider` blocks and overrides in test files.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// An alias that is not an identifier.
pub(in crate::config) fn invalid_alias(at: SourceRange) -> Diagnostic {
    let detail = "An alias must start with a letter or an underscore, and contain only letters, digits, underscores \
                  and dashes.";
    Diagnostic::error("Invalid mock provider configuration alias", detail).at(at)
}

/// A `for_each` without an alias.
pub(in crate::config) fn for_each_without_alias(at: SourceRange) -> Diagnostic {
    let detail = "A mock provider with for_each must have an alias, because references to its instances contain it, \
                  as in aws.by_region[\"west\"].";
    Diagnostic::error("Alias required when using \"for_each\"", detail).at(at)
}

/// A second `mock_provider` block for a configuration.
pub(in crate::config) fn second_mock(at: &SourceRange) -> Diagnostic {
    let detail = "Another `mock_provider` block already mocks this provider configuration. Remove one of them.";
    Diagnostic::error("Duplicated `mock_provider` block", detail).at(at.clone())
}

/// A second `mock_resource` or `mock_data` block for a type. `mock` is the range of the mock that contains both.
pub(in crate::config) fn second_type(block_type: &str, name: &str, mock: &SourceRange) -> Diagnostic {
    let detail = format!("Another `{block_type}` block already mocks the type {name}. Remove one of them.");
    Diagnostic::error(format!("Duplicated `{block_type}` block"), detail).at(mock.clone())
}

/// A second override of a target. If the override is in a mock, `at` is the range of the mock.
pub(in crate::config) fn second_override(block_type: &str, target: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("Another block already overrides `{target}` here. Remove one of them.");
    Diagnostic::error(format!("Duplicated `{block_type}` block"), detail).at(at.clone())
}

/// A target that is not a resource.
pub(in crate::config) fn target_not_a_resource(at: &SourceRange) -> Diagnostic {
    let detail = "The target of this block is a module, but must be a resource: TYPE.NAME.";
    Diagnostic::error("Module address is not allowed", detail).at(at.clone())
}

/// A target that is not a module.
pub(in crate::config) fn target_not_a_module(at: &SourceRange) -> Diagnostic {
    Diagnostic::error("Module address expected", "The target of this block must be a module: module.NAME.")
        .at(at.clone())
}

/// A target in a single instance of a module. `example` is a valid target.
pub(in crate::config) fn target_with_module_keys(example: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("An override applies to all instances of a module. Remove the keys, as in {example}.");
    Diagnostic::error("Module instance address with keys is not allowed", detail).at(at.clone())
}

/// A target that is a single instance of a resource.
pub(in crate::config) fn target_with_resource_key(at: &SourceRange) -> Diagnostic {
    let detail = "An override applies to all instances of a resource. Remove the key, as in aws_vpc.main.";
    Diagnostic::error("Resource instance address with keys is not allowed", detail).at(at.clone())
}

/// Values that are not an object.
pub(in crate::config) fn values_not_an_object(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("The argument `{name}` must be an object of attributes and their values.");
    Diagnostic::error("Object expected", detail).at(at)
}
