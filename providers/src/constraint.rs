//! Version constraints: `~> 1.2, != 1.2.5`.
//!
//! They differ from the constraints of other package systems. Versions may be abbreviated: missing numbers count as 0.
//! `~> 1.2` fixes the first number, and `~> 1.2.3` fixes the first two. A prerelease matches only an exact `= VERSION`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use weft_graph_format::version::{self, Version};

/// How versions are compared, in the order in which constraints with equal versions are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `=`, or nothing.
    Equal,
    /// `~> 1.2.3`: at least this version, with the same first two numbers.
    SameMinor,
    /// `~> 1.2`: at least this version, with the same first number.
    SameMajor,
    /// `<=`
    LessOrEqual,
    /// `<`
    Less,
    /// `!=`
    NotEqual,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Constraint {
    /// The version to compare with. It comes first because constraints are sorted by it.
    pub version: Version,
    /// The operator.
    pub operator: Operator,
}

/// Comparisons that must all hold. An empty list matches any release. There are no duplicates, and the order is the
/// order of printing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constraints(Vec<Constraint>);

/// A text that is not a list of constraints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// An empty constraint between commas.
    #[error("a version constraint is empty")]
    Empty,
    /// An unknown operator.
    #[error("\"{0}\" does not begin with one of = != > >= < <= ~> or a version")]
    Operator(String),
    /// A missing version after the operator.
    #[error("\"{0}\" is not a version number")]
    Version(String),
}

impl Constraints {
    /// Any release.
    pub fn any() -> Constraints {
        Constraints::default()
    }

    /// Whether any release matches.
    pub fn is_any(&self) -> bool {
        self.0.is_empty()
    }

    /// The comparisons.
    pub fn iter(&self) -> impl Iterator<Item = &Constraint> {
        self.0.iter()
    }

    /// All comparisons of two lists of constraints.
    #[must_use]
    pub fn and(&self, other: &Constraints) -> Constraints {
        self.0.iter().chain(&other.0).cloned().collect()
    }

    /// Whether a version matches.
    pub fn allow(&self, version: &Version) -> bool {
        let named = |c: &Constraint| c.operator == Operator::Equal && c.version.precedence(version) == Ordering::Equal;
        (!version.is_prerelease() || self.0.iter().any(named)) && self.0.iter().all(|c| c.holds(version))
    }

    /// The newest matching version.
    pub fn newest<'a>(&self, versions: impl IntoIterator<Item = &'a Version>) -> Option<&'a Version> {
        versions.into_iter().filter(|version| self.allow(version)).max()
    }
}

impl Constraint {
    fn holds(&self, version: &Version) -> bool {
        let order = version.precedence(&self.version);
        match self.operator {
            Operator::Greater => order == Ordering::Greater,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::Equal => order == Ordering::Equal,
            Operator::SameMinor => {
                order != Ordering::Less && (version.major, version.minor) == (self.version.major, self.version.minor)
            }
            Operator::SameMajor => order != Ordering::Less && version.major == self.version.major,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Less => order == Ordering::Less,
            Operator::NotEqual => order != Ordering::Equal,
        }
    }

    fn parse(text: &str) -> Result<Constraint, ConstraintError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ConstraintError::Empty);
        }
        let end = text.find(|c: char| !"=!<>~".contains(c)).unwrap_or(text.len());
        let (operator, rest) = text.split_at(end);
        let (version, numbers) =
            abbreviated(rest.trim()).ok_or_else(|| ConstraintError::Version(rest.trim().into()))?;
        let operator = match operator {
            "" | "=" => Operator::Equal,
            "!=" => Operator::NotEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            "~>" if numbers == 3 => Operator::SameMinor,
            "~>" => Operator::SameMajor,
            _ => return Err(ConstraintError::Operator(text.to_owned())),
        };
        Ok(Constraint { version, operator })
    }
}

/// A version of one to three numbers, and how many numbers it has. Only a version with three numbers may have a
/// prerelease or build metadata.
fn abbreviated(text: &str) -> Option<(Version, usize)> {
    let (numbers, prerelease, metadata) = version::split_extra(text)?;
    let numbers = numbers.split('.').map(version::number).collect::<Option<Vec<u64>>>()?;
    let (major, minor, patch) = match numbers.as_slice() {
        [major] => (*major, 0, 0),
        [major, minor] => (*major, *minor, 0),
        [major, minor, patch] => (*major, *minor, *patch),
        _ => return None,
    };
    if numbers.len() < 3 && !(prerelease.is_empty() && metadata.is_empty()) {
        return None;
    }
    let (prerelease, metadata) = (prerelease.into(), metadata.into());
    Some((Version { major, minor, patch, prerelease, metadata }, numbers.len()))
}

impl FromIterator<Constraint> for Constraints {
    fn from_iter<I: IntoIterator<Item = Constraint>>(constraints: I) -> Constraints {
        let mut list: Vec<Constraint> = constraints.into_iter().collect();
        list.sort();
        list.dedup();
        Constraints(list)
    }
}

impl FromStr for Constraints {
    type Err = ConstraintError;

    fn from_str(text: &str) -> Result<Constraints, ConstraintError> {
        if text.trim().is_empty() {
            return Ok(Constraints::any());
        }
        text.split(',').map(Constraint::parse).collect()
    }
}

/// The form of lock files: sorted by version, `=` omitted, versions in full except for `~> 1.2`.
impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Constraint { operator, version }) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let sign = match operator {
                Operator::Greater => "> ",
                Operator::GreaterOrEqual => ">= ",
                Operator::Equal => "",
                Operator::SameMinor | Operator::SameMajor => "~> ",
                Operator::LessOrEqual => "<= ",
                Operator::Less => "< ",
                Operator::NotEqual => "!= ",
            };
            match operator {
                Operator::SameMajor => write!(f, "{comma}{sign}{}.{}", version.major, version.minor)?,
                _ => write!(f, "{comma}{sign}{version}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(constraints: &str, version: &str) -> bool {
        constraints.parse::<Constraints>().unwrap().allow(&version.parse().unwrap())
    }

    #[test]
    fn each_operator_accepts_its_versions() {
        for (constraints, yes, no) in [
            ("", "7.0.0", "7.0.0-rc1"),
            ("1.2", "1.2.0", "1.2.1"),
            ("= 1.2.3", "1.2.3", "1.2.4"),
            ("!= 1.2.3", "1.2.4", "1.2.3"),
            ("> 1", "1.0.1", "1.0.0"),
            (">= 1", "1.0.0", "0.9.9"),
            ("< 2", "1.9.9", "2.0.0"),
            ("<= 2", "2.0.0", "2.0.1"),
            ("~> 1", "1.9.0", "2.0.0"),
            ("~> 1.2", "1.9.0", "1.1.9"),
            ("~> 1.2", "1.2.0", "2.0.0"),
            ("~> 1.2.3", "1.2.9", "1.3.0"),
            ("~> 1.0, != 1.2.0", "1.1.5", "1.2.0"),
            (">= 1.1.0-beta1", "1.1.0", "1.1.0-beta2"),
            ("1.1.0-beta2", "1.1.0-beta2", "1.1.0"),
            ("1.1.0-beta2, >= 1.0", "1.1.0-beta2", "1.1.0"),
        ] {
            assert!(allow(constraints, yes), "{constraints} {yes}");
            assert!(!allow(constraints, no), "{constraints} {no}");
        }
    }

    #[test]
    fn the_printed_form_is_that_of_lock_files() {
        for (given, printed) in [
            ("~> 1.0, != 1.2.0", "~> 1.0, != 1.2.0"),
            ("< 2.0, >= 1.0", ">= 1.0.0, < 2.0.0"),
            ("= 1.1.0-beta2", "1.1.0-beta2"),
            ("~> 2, >=2.0.0,>= 2", ">= 2.0.0, ~> 2.0"),
            ("~> 1.2.3", "~> 1.2.3"),
            ("", ""),
        ] {
            let constraints: Constraints = given.parse().unwrap();
            assert_eq!(constraints.to_string(), printed);
            assert_eq!(printed.parse::<Constraints>().unwrap(), constraints);
        }
        for bad in [",", "1.0,", "~ 1.0", "=> 1.0", "1.0.0.0", "> x", "~> 1.0-beta", "1 0"] {
            assert!(bad.parse::<Constraints>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_newest_version_is_selected() {
        let versions: Vec<Version> =
            ["1.0.0", "1.10.0", "1.9.0", "2.0.0-rc1"].iter().map(|t| t.parse().unwrap()).collect();
        let newest = |text: &str| text.parse::<Constraints>().unwrap().newest(&versions).map(ToString::to_string);
        assert_eq!(newest(""), Some("1.10.0".into()));
        assert_eq!(newest("< 1.10"), Some("1.9.0".into()));
        assert_eq!(newest("2.0.0-rc1"), Some("2.0.0-rc1".into()));
        assert_eq!(newest("> 2"), None);
    }
}
