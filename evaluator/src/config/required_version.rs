//! `required_version`: which versions a module works with.
//!
//! What counts is the version of OpenTofu whose language Weft reads.

use weft_graph_format::diagnostic::Diagnostic;

use super::RequiredVersion;
use super::literal::literal_string;

/// The version of OpenTofu whose language this is.
pub const LANGUAGE_VERSION: [u64; 3] = [1, 12, 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// The last number that is written may grow, those before it may not.
    Pessimistic,
}

/// Operators, longer ones before those that they begin with.
const OPERATORS: [(&str, Operator); 7] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("~>", Operator::Pessimistic),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
];

/// What is wrong with a constraint, if anything.
pub(super) fn unmet(required: &RequiredVersion) -> Option<Diagnostic> {
    let Some(text) = literal_string(&required.constraint) else {
        return Some(
            Diagnostic::error("Invalid version constraint", "A version constraint is a quoted string.")
                .at(required.constraint.range()),
        );
    };
    match allows(&text, LANGUAGE_VERSION) {
        Some(true) => None,
        Some(false) => Some(
            Diagnostic::error(
                "Incompatible module",
                format!(
                    "The module demands version {text:?} of OpenTofu, whose language this version of Weft reads as of \
                     {}.{}.{}.",
                    LANGUAGE_VERSION[0], LANGUAGE_VERSION[1], LANGUAGE_VERSION[2]
                ),
            )
            .at(required.range.clone()),
        ),
        None => Some(
            Diagnostic::error("Invalid version constraint", format!("{text:?} is no version constraint."))
                .at(required.constraint.range()),
        ),
    }
}

/// Whether constraints, separated by commas, allow a version; none for text that is none.
pub(super) fn allows(text: &str, version: [u64; 3]) -> Option<bool> {
    let mut all = true;
    for part in text.split(',') {
        all &= allowed_by(part.trim(), version)?;
    }
    Some(all)
}

fn allowed_by(part: &str, version: [u64; 3]) -> Option<bool> {
    let found = OPERATORS.iter().find_map(|(sign, operator)| Some((part.strip_prefix(sign)?, *operator)));
    let (rest, operator) = found.unwrap_or((part, Operator::Equal));
    let rest = rest.trim().trim_start_matches('v');
    // A prerelease comes before its release, and is only meant where it is named exactly.
    let (numbers, prerelease) = match rest.split_once('-') {
        Some((numbers, _)) => (numbers, true),
        None => (rest, false),
    };
    let numbers = numbers.split('+').next()?;
    let mut wanted = [0; 3];
    let mut written = 0;
    for number in numbers.split('.') {
        *wanted.get_mut(written)? = number.parse().ok()?;
        written += 1;
    }
    let fixed = written.saturating_sub(1).max(1);
    Some(match operator {
        Operator::Equal => version == wanted && !prerelease,
        Operator::NotEqual => version != wanted || prerelease,
        Operator::Greater => version > wanted || (prerelease && version == wanted),
        Operator::GreaterOrEqual => version >= wanted,
        Operator::Less => version < wanted,
        Operator::LessOrEqual => version <= wanted && !(prerelease && version == wanted),
        Operator::Pessimistic => version >= wanted && version[..fixed] == wanted[..fixed],
    })
}

#[cfg(test)]
mod tests {
    use super::allows;

    #[test]
    fn constraints() {
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
