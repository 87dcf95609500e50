//! Version numbers, as in semver 2.0.

mod constraints;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

pub use constraints::{VersionConstraintError, VersionConstraints, parse_abbreviated};

/// A version. Versions are ordered by precedence. Build metadata does not affect the precedence: it is compared, as
/// text, only if the versions are otherwise equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
    /// Third number.
    pub patch: u64,
    /// The text after `-`; empty for a release.
    pub prerelease: Box<str>,
    /// The text after `+`; may be empty.
    pub metadata: Box<str>,
}

/// A text that is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a version of the form MAJOR.MINOR.PATCH")]
pub struct VersionError(pub String);

impl Version {
    /// The release with these numbers.
    pub fn release(major: u64, minor: u64, patch: u64) -> Version {
        Version { major, minor, patch, prerelease: Box::default(), metadata: Box::default() }
    }

    /// Whether the version is a prerelease.
    pub fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }

    /// Compares the precedence of two versions, which ignores build metadata.
    pub fn precedence(&self, other: &Version) -> Ordering {
        (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch)).then_with(|| {
            match (self.is_prerelease(), other.is_prerelease()) {
                (false, false) => Ordering::Equal,
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (true, true) => compare_prereleases(&self.prerelease, &other.prerelease),
            }
        })
    }
}

/// Compares identifier by identifier. Numbers are compared by value and precede words. Words are compared by bytes. If
/// one list is the beginning of the other list, the shorter list comes first.
fn compare_prereleases(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => match (is_number(x), is_number(y)) {
                // Without leading zeros, the longer number is the greater one.
                (true, true) => x.len().cmp(&y.len()).then_with(|| x.cmp(y)),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => x.cmp(y),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Parses a decimal number without leading zeros; `None` for other texts and for numbers of more than 64 bits.
pub fn number(text: &str) -> Option<u64> {
    let canonical = is_number(text) && (text == "0" || !text.starts_with('0'));
    if canonical { text.parse().ok() } else { None }
}

/// Whether the text may follow `-` (with `prerelease`) or `+`, as in semver 2.0: words of letters, digits and `-`,
/// separated by dots.
pub fn is_extra(text: &str, prerelease: bool) -> bool {
    text.split('.').all(|part| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !(prerelease && is_number(part) && part.len() > 1 && part.starts_with('0'))
    })
}

/// Splits `1.2.3-rc1+build` into `1.2.3`, `rc1` and `build`. Missing parts are empty. The numbers are not checked;
/// `None` if the prerelease or metadata is invalid.
pub fn split_extra(text: &str) -> Option<(&str, &str, &str)> {
    let (rest, metadata) = match text.split_once('+') {
        Some((rest, metadata)) if is_extra(metadata, false) => (rest, metadata),
        Some(_) => return None,
        None => (text, ""),
    };
    match rest.split_once('-') {
        Some((numbers, prerelease)) if is_extra(prerelease, true) => Some((numbers, prerelease, metadata)),
        Some(_) => None,
        None => Some((rest, "", metadata)),
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Version, VersionError> {
        let parse = || {
            let (numbers, prerelease, metadata) = split_extra(text)?;
            let mut parts = numbers.split('.').map(number);
            let version = Version {
                major: parts.next()??,
                minor: parts.next()??,
                patch: parts.next()??,
                prerelease: prerelease.into(),
                metadata: metadata.into(),
            };
            parts.next().is_none().then_some(version)
        };
        parse().ok_or_else(|| VersionError(text.to_owned()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        self.precedence(other).then_with(|| self.metadata.cmp(&other.metadata))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_the_order_of_the_specification() {
        let ordered = [
            "0.9.9",
            "1.0.0-0",
            "1.0.0-9",
            "1.0.0-10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.10.0",
            "2.0.0",
        ];
        let versions: Vec<Version> = ordered.iter().map(|t| t.parse().unwrap()).collect();
        for (i, version) in versions.iter().enumerate() {
            assert_eq!(version.to_string(), ordered[i]);
            for (j, other) in versions.iter().enumerate() {
                assert_eq!(version.cmp(other), i.cmp(&j), "{version} {other}");
            }
        }
        let plain: Version = "1.0.0".parse().unwrap();
        assert_eq!(plain.precedence(&"1.0.0+build".parse().unwrap()), Ordering::Equal);
    }

    #[test]
    fn invalid_versions_are_refused() {
        for bad in
            ["", "1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "1.0.0-a..b", "1.0.x"]
        {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }
}
