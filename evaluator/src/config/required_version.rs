//! `required_version`: the versions that a module supports.
//!
//! Constraints are compared with the version of OpenTofu whose language Weft implements.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_graph_format::version::{Version, VersionConstraints};
use weft_syntax::Expression;

use super::literal::literal_string;
use super::problems;

/// The version of OpenTofu whose language Weft implements.
pub const LANGUAGE_VERSION: [u64; 3] = [1, 12, 6];

/// A `required_version` argument.
#[derive(Clone, Debug)]
pub struct RequiredVersion {
    /// The constraint.
    pub(crate) constraint: Expression,
    /// The range of the definition.
    pub range: SourceRange,
}

/// The problem of a constraint that is invalid, or that excludes the implemented version.
pub(super) fn unmet(required: &RequiredVersion) -> Option<Diagnostic> {
    let Some(text) = literal_string(&required.constraint) else {
        return Some(problems::versions::not_a_string(required.constraint.range()));
    };
    match allows(&text, LANGUAGE_VERSION) {
        Some(true) => None,
        Some(false) => Some(problems::versions::unmet(&text, LANGUAGE_VERSION, required.range.clone())),
        None => Some(problems::versions::not_a_constraint(&text, required.constraint.range())),
    }
}

/// Whether comma-separated constraints allow a version; `None` for an invalid constraint.
pub(super) fn allows(text: &str, version: [u64; 3]) -> Option<bool> {
    let [major, minor, patch] = version;
    let constraints: VersionConstraints = text.parse().ok()?;
    Some(constraints.allow(&Version::release(major, minor, patch)))
}

#[cfg(test)]
mod tests {
    use super::allows;

    #[test]
    fn the_required_version_is_compared_with_ours() {
        for (text, expected) in [
            (">= 1.0", Some(true)),
            ("~> 0.15.0", Some(false)),
            ("~> 1.2", Some(true)),
            ("~> 1.12.0", Some(true)),
            ("~> 1.11.0", Some(false)),
            ("~> 1", Some(true)),
            (">= 1.6, < 2.0.0", Some(true)),
            ("1.12.6", Some(true)),
            ("= 1.12", Some(false)),
            ("!= 1.12.6", Some(false)),
            ("< 1.12.6-rc1", Some(false)),
            ("> 1.12.6-rc1", Some(true)),
            ("latest", None),
            ("1.2.3.4", None),
            ("", None),
        ] {
            assert_eq!(allows(text, [1, 12, 6]), expected, "{text}");
        }
    }
}
