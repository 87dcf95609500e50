//! Whether the service can use states that this version of Weft writes.

use weft_graph_format::version::{Version, VersionConstraints, parse_abbreviated};

/// The version of a workspace that accepts any version.
const LATEST: &str = "latest";
/// From this version on, and before [`LATE`], all versions share a state format. Each earlier version has its own state
/// format.
const EARLY: [u64; 3] = [0, 14, 0];
/// The first version of the range in which versions share a state format only if their major and minor numbers are
/// equal.
const LATE: [u64; 3] = [1, 3, 0];

/// The compatibility of two versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The service can use the state.
    Fits,
    /// The service may not be able to use the state. The text is the version or the constraint of the workspace.
    Differs(String),
    /// The version of the workspace cannot be parsed.
    Unknown,
}

/// The rule of the backend `remote`: both versions must share a state format.
pub(super) fn of_remote(local: &str, remote: &str) -> Fit {
    if remote == LATEST {
        return Fit::Fits;
    }
    let (Some(local), Some(found)) = (parse_abbreviated(local), parse_abbreviated(remote)) else { return Fit::Unknown };
    let fits = match (before(&local, &EARLY), before(&found, &EARLY)) {
        (false, false) => {
            before(&local, &LATE) && before(&found, &LATE) || (local.major, local.minor) == (found.major, found.minor)
        }
        _ => local.precedence(&found).is_eq(),
    };
    if fits { Fit::Fits } else { Fit::Differs(remote.to_owned()) }
}

/// The rule of `cloud` blocks, in which the version may be a constraint.
pub(super) fn of_cloud(local: &str, remote: &str) -> Fit {
    if remote == LATEST {
        return Fit::Fits;
    }
    let (Some(local), Ok(constraint)) = (parse_abbreviated(local), remote.parse::<VersionConstraints>()) else {
        return Fit::Unknown;
    };
    let text = match parse_abbreviated(remote).filter(|found| !found.is_prerelease()) {
        Some(found) if before(&found, &EARLY) => remote.to_owned(),
        Some(found) if before(&found, &LATE) => ">= 0.14.0, < 1.3.0".to_owned(),
        Some(found) => format!("~> {}.{}.0", found.major, found.minor),
        None => remote.to_owned(),
    };
    let constraint = text.parse().unwrap_or(constraint);
    if constraint.allow(&local) { Fit::Fits } else { Fit::Differs(text) }
}

fn before(version: &Version, other: &[u64; 3]) -> bool {
    version.precedence(&Version::release(other[0], other[1], other[2])).is_lt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_fit_where_the_minor_number_is_the_same() {
        for (local, remote, old, new) in [
            ("1.12.6", "1.12.6", true, true),
            ("1.12.6", "1.12.0", true, true),
            ("1.12.6", "1.11.9", false, false),
            ("1.12.6", "latest", true, true),
            ("1.2.0", "0.15.0", true, true),
            ("1.12.6", "0.13.0", false, false),
            ("1.12.6", "1.2.0", false, false),
        ] {
            assert_eq!(of_remote(local, remote) == Fit::Fits, old, "{local} {remote}");
            assert_eq!(of_cloud(local, remote) == Fit::Fits, new, "{local} {remote}");
        }
        assert_eq!(of_remote("1.12.6", "~> 1.12.0"), Fit::Unknown);
        assert_eq!(of_cloud("1.12.6", "~> 1.12.0"), Fit::Fits);
        assert_eq!(of_cloud("1.12.6", "~> 1.11.0"), Fit::Differs("~> 1.11.0".to_owned()));
        assert_eq!(of_cloud("1.12.6", "some"), Fit::Unknown);
    }
}
