//! Selects versions, and finds their packages.

use std::collections::BTreeSet;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::version::Version;
use weft_providers::checksum::Checksum;
use weft_providers::constraint::Constraints;
use weft_providers::lock_file::{Lock, LockFile};
use weft_providers::platform::Platform;

use crate::discovery::DiscoveryError;
use crate::package_error::PackageError;
use crate::problems::{self, Unresolved};
use crate::sources::{Available, Candidate, Sources};

/// The types of the built-in namespace.
const BUILT_IN: [&str; 1] = ["terraform"];

/// A provider that needs a version.
#[derive(Clone, Debug)]
pub(crate) struct RequestedProvider<'a> {
    pub(crate) source: &'a ProviderSource,
    pub(crate) constraints: &'a Constraints,
    /// The locked version, which must be kept.
    pub(crate) fixed: Option<Lock>,
}

/// A version to install.
#[derive(Clone, Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) source: &'a ProviderSource,
    pub(crate) constraints: &'a Constraints,
    pub(crate) version: Version,
    pub(crate) candidate: Candidate,
    /// The checksums in the lock file for this version.
    pub(crate) locked: BTreeSet<Checksum>,
}

/// Whether a provider is built in. Returns an error for a built-in provider that does not exist, and for a built-in
/// provider with a version constraint.
pub(crate) fn built_in(source: &ProviderSource, constraints: &Constraints) -> Result<bool, Diagnostic> {
    if !source.is_builtin() {
        return Ok(false);
    }
    if !BUILT_IN.contains(&source.type_name.as_str()) {
        return Err(problems::unknown_builtin(source));
    }
    if !constraints.is_any() {
        return Err(problems::constrained_builtin(source));
    }
    Ok(true)
}

/// The request for one provider. If `upgrade` is true, the locked version is ignored.
pub(crate) fn wanted<'a>(
    source: &'a ProviderSource,
    constraints: &'a Constraints,
    lock: &LockFile,
    upgrade: bool,
) -> Result<RequestedProvider<'a>, Diagnostic> {
    let fixed = if upgrade { None } else { lock.get(source) };
    match &fixed {
        Some(locked) if !constraints.allow(&locked.version) => {
            Err(problems::unresolved(source, Unresolved::OtherLocked(&locked.version, constraints)))
        }
        _ => Ok(RequestedProvider { source, constraints, fixed }),
    }
}

/// Selects one of the available versions.
pub(crate) fn version(wanted: &RequestedProvider<'_>, available: &Available) -> Result<Version, Diagnostic> {
    let RequestedProvider { source, constraints, fixed } = wanted;
    let Available { versions, foreign, searched, unknown, .. } = available;
    if versions.is_empty() && foreign.is_empty() {
        return Err(match unknown {
            Some(registry) => problems::not_in_registry(source, registry),
            None => problems::not_found(source, searched.iter()),
        });
    }
    match fixed {
        Some(locked) if versions.contains_key(&locked.version) => Ok(locked.version.clone()),
        Some(locked) => Err(problems::unresolved(source, Unresolved::Gone(&locked.version))),
        None => match constraints.newest(versions.keys()) {
            Some(version) => Ok(version.clone()),
            None => match constraints.newest(foreign.keys()) {
                Some(newest) => Err(protocols(source, newest, available)),
                None => Err(problems::unresolved(source, Unresolved::NoMatch(constraints))),
            },
        },
    }
}

/// Finds the package of a version.
pub(crate) async fn candidate(
    sources: &Sources,
    source: &ProviderSource,
    version: &Version,
    platform: &Platform,
    available: &Available,
) -> Result<Candidate, Diagnostic> {
    let methods = available.versions.get(version).map(Vec::as_slice).unwrap_or_default();
    match sources.package(source, version, platform, methods).await {
        Ok(Some(candidate)) => Ok(candidate),
        Ok(None) => Err(problems::no_package(source, version, platform)),
        Err(PackageError::Protocols { .. }) => Err(protocols(source, version, available)),
        Err(problem) => Err(problems::not_installed(source, version, &problem)),
    }
}

/// The diagnostic for versions that cannot be listed.
pub(crate) fn not_listed(source: &ProviderSource, problem: &PackageError) -> Diagnostic {
    use DiscoveryError::{NotOffered, OtherVersion};
    match problem {
        PackageError::Discovery { error: error @ (NotOffered { .. } | OtherVersion { .. }), .. } => {
            problems::no_registry(source, error)
        }
        problem => problems::not_resolved(source, &problem.to_string()),
    }
}

/// A diagnostic with the warnings of registries about a provider.
pub(crate) fn warning(source: &ProviderSource, available: &Available) -> Option<Diagnostic> {
    if available.warnings.is_empty() {
        return None;
    }
    Some(problems::registry_warnings(source, available.warnings.iter()))
}

fn protocols(source: &ProviderSource, version: &Version, available: &Available) -> Diagnostic {
    let spoken = available.foreign.get(version).map(|spoken| spoken.join(", ")).unwrap_or_default();
    let nearest = available.versions.keys().next_back();
    problems::foreign_protocols(source, version, &spoken, nearest)
}
