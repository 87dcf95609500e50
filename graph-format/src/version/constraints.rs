//! Version constraints: those of callers on modules, and those of modules on OpenTofu (`required_version`).
//!
//! They differ from constraints on providers in three points. `~> 1` has no upper bound. A version may begin with `v`,
//! and an abbreviated version may be a prerelease. A prerelease is selected only if a constraint `= VERSION` with this
//! version is the only constraint.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::Version;

/// The operator of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// All written numbers except the last are fixed.
    Pessimistic,
}

/// The signs of operators. A sign that begins with another sign comes before that sign.
const SIGNS: [(&str, Operator); 7] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("~>", Operator::Pessimistic),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
];

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Constraint {
    operator: Operator,
    version: Version,
    /// How many of the version's numbers are written.
    written: usize,
}

/// Constraints that must all hold. If there are no constraints, every release is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionConstraints {
    parts: Vec<Constraint>,
    text: String,
}

/// A text that is not a list of constraints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version with one of = != > >= < <= ~> before it")]
pub struct VersionConstraintError(pub String);

/// Parses a version that may be abbreviated: an optional `v`, one to three numbers, and an optional prerelease and
/// build metadata.
pub fn parse_abbreviated(text: &str) -> Option<Version> {
    numbers(text).map(|(version, _)| version)
}

fn numbers(text: &str) -> Option<(Version, usize)> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let word = |text: &str| {
        text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'))
    };
    let (rest, metadata) = match text.split_once('+') {
        Some((rest, metadata)) => (rest, Some(metadata)),
        None => (text, None),
    };
    let (rest, prerelease) = match rest.split_once('-') {
        Some((rest, prerelease)) => (rest, Some(prerelease)),
        None => (rest, None),
    };
    if !prerelease.is_none_or(word) || !metadata.is_none_or(word) {
        return None;
    }
    let mut found = [0u64; 3];
    let mut written = 0;
    for part in rest.split('.') {
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *found.get_mut(written)? = part.parse().ok()?;
        written += 1;
    }
    let [major, minor, patch] = found;
    let text = |part: Option<&str>| part.unwrap_or_default().into();
    Some((Version { major, minor, patch, prerelease: text(prerelease), metadata: text(metadata) }, written))
}

impl VersionConstraints {
    /// No constraints: every release is allowed.
    pub fn any() -> VersionConstraints {
        VersionConstraints::default()
    }

    /// Whether there are no constraints.
    pub fn is_any(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether an installed version satisfies the constraints.
    pub fn allow(&self, version: &Version) -> bool {
        self.parts.iter().all(|part| part.holds(version))
    }

    /// Whether a version may be selected. A prerelease may only be selected if the constraints ask for exactly that
    /// version.
    pub fn selectable(&self, version: &Version) -> bool {
        if !version.is_prerelease() {
            return true;
        }
        matches!(&self.parts[..], [Constraint { operator: Operator::Equal, version: wanted, .. }]
            if wanted.precedence(version) == Ordering::Equal)
    }

    /// The newest version that satisfies the constraints, and the newest of all versions that may be selected.
    pub fn select<'a>(
        &self,
        versions: impl IntoIterator<Item = &'a Version>,
    ) -> (Option<&'a Version>, Option<&'a Version>) {
        let (mut matching, mut newest) = (None, None);
        for version in versions.into_iter().filter(|version| self.selectable(version)) {
            newest = newest.max(Some(version));
            if self.allow(version) {
                matching = matching.max(Some(version));
            }
        }
        (matching, newest)
    }
}

impl Constraint {
    fn holds(&self, version: &Version) -> bool {
        let wanted = &self.version;
        let order = version.precedence(wanted);
        let numbers = |v: &Version| [v.major, v.minor, v.patch];
        let comparable = match (version.is_prerelease(), wanted.is_prerelease()) {
            (true, true) => numbers(version) == numbers(wanted),
            (true, false) => false,
            (false, _) => true,
        };
        match self.operator {
            Operator::Equal => order == Ordering::Equal,
            Operator::NotEqual => order != Ordering::Equal,
            Operator::Greater => comparable && order == Ordering::Greater,
            Operator::GreaterOrEqual => comparable && order != Ordering::Less,
            Operator::Less => comparable && order == Ordering::Less,
            Operator::LessOrEqual => comparable && order != Ordering::Greater,
            Operator::Pessimistic => {
                let held = self.written - 1;
                comparable
                    && version.is_prerelease() == wanted.is_prerelease()
                    && order != Ordering::Less
                    && numbers(version)[..held] == numbers(wanted)[..held]
            }
        }
    }

    fn parse(text: &str) -> Option<Constraint> {
        let text = text.trim();
        let found = SIGNS.iter().find_map(|(sign, operator)| Some((text.strip_prefix(sign)?, *operator)));
        let (rest, operator) = found.unwrap_or((text, Operator::Equal));
        let (version, written) = numbers(rest.trim())?;
        Some(Constraint { operator, version, written })
    }
}

impl FromStr for VersionConstraints {
    type Err = VersionConstraintError;

    fn from_str(text: &str) -> Result<VersionConstraints, VersionConstraintError> {
        let parts = text
            .split(',')
            .map(|part| Constraint::parse(part).ok_or_else(|| VersionConstraintError(part.trim().to_owned())));
        Ok(VersionConstraints { parts: parts.collect::<Result<_, _>>()?, text: text.to_owned() })
    }
}

impl fmt::Display for VersionConstraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(constraints: &str, version: &str) -> bool {
        constraints.parse::<VersionConstraints>().unwrap().allow(&parse_abbreviated(version).unwrap())
    }

    #[test]
    fn each_operator_accepts_its_versions() {
        for (constraints, yes, no) in [
            ("1.2", "1.2.0", "1.2.1"),
            ("= v1.2.3", "1.2.3", "1.2.4"),
            ("!= 1.2.3", "1.2.4", "1.2.3"),
            ("> 1, < 2", "1.0.1", "2.0.0"),
            (">= 1.2, <= 1.4", "1.4.0", "1.4.1"),
            ("~> 1", "7.0.0", "0.9.0"),
            ("~> 1.2", "1.9.0", "2.0.0"),
            ("~> 1.2.3", "1.2.9", "1.3.0"),
            ("1.0.0-rc1", "1.0.0-rc1", "1.0.0"),
            (">= 1.0.0-beta", "1.0.0-rc1", "1.1.0-rc1"),
            (">= 1.0.0-beta", "1.1.0", "1.0.0-alpha"),
            ("~> 1.0.0-beta", "1.0.0-rc1", "1.0.1"),
            (">= 1.0", "1.1.0", "1.1.0-rc1"),
        ] {
            assert!(allow(constraints, yes), "{constraints} {yes}");
            assert!(!allow(constraints, no), "{constraints} {no}");
        }
    }

    #[test]
    fn invalid_constraints_are_refused() {
        for text in ["", ",", "1.0,", "latest", "=> 1", "1.2.3.4", "~ 1", "1.x", "1.0.0-", "1.0.0+", "> "] {
            assert!(text.parse::<VersionConstraints>().is_err(), "{text:?}");
        }
        for text in ["v1", "1.0.0-a.b+c.d", "01.2"] {
            assert!(parse_abbreviated(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn the_newest_matching_version_is_selected() {
        let versions: Vec<Version> =
            ["1.0.0", "1.10.0", "1.9.0", "2.0.0-rc1"].iter().filter_map(|text| parse_abbreviated(text)).collect();
        let select = |text: &str| {
            let constraints = if text.is_empty() { VersionConstraints::any() } else { text.parse().unwrap() };
            let (matching, newest) = constraints.select(&versions);
            (matching.map(ToString::to_string), newest.map(ToString::to_string))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(select(""), (some("1.10.0"), some("1.10.0")));
        assert_eq!(select("< 1.10"), (some("1.9.0"), some("1.10.0")));
        assert_eq!(select("2.0.0-rc1"), (some("2.0.0-rc1"), some("2.0.0-rc1")));
        assert_eq!(select(">= 2.0.0-rc1"), (None, some("1.10.0")));
        assert_eq!(select("2.0.0-rc1, >= 1.0"), (None, some("1.10.0")));
        assert_eq!(select("> 5"), (None, some("1.10.0")));
    }
}
