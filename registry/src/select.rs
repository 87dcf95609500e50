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
use crate::problem::Problem;
use crate::sources::{Available, Candidate, Sources};

/// The types of the built-in namespace.
const BUILT_IN: [&str; 1] = ["terraform"];

/// A provider that needs a version.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
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

/// Whether a provider is built in. Refuses unknown ones and version constraints.
pub(crate) fn built_in(source: &ProviderSource, constraints: &Constraints) -> Result<bool, Diagnostic> {
    if !source.is_builtin() {
        return Ok(false);
    }
    let refused = |reason: String| {
        let detail = format!("Cannot use {}: {reason}.", source.for_display());
        Err(Diagnostic::error("Invalid dependency on built-in provider", detail))
    };
    if !BUILT_IN.contains(&source.type_name.as_str()) {
        return refused(format!("this Weft release has no built-in provider named \"{}\"", source.type_name));
    }
    if !constraints.is_any() {
        return refused("built-in providers do not support explicit version constraints".into());
    }
    Ok(true)
}

/// The request for one provider. `upgrade` ignores the lock.
pub(crate) fn wanted<'a>(
    source: &'a ProviderSource,
    constraints: &'a Constraints,
    lock: &LockFile,
    upgrade: bool,
) -> Result<Wanted<'a>, Diagnostic> {
    let fixed = if upgrade { None } else { lock.get(source) };
    match &fixed {
        Some(locked) if !constraints.allow(&locked.version) => Err(unresolved(
            source,
            format!(
                "locked provider {} {} does not match configured version constraint {constraints}; must use weft init \
                 -upgrade to allow selection of new versions",
                source.for_display(),
                locked.version
            ),
        )),
        _ => Ok(Wanted { source, constraints, fixed }),
    }
}

/// Selects one of the available versions.
pub(crate) fn version(wanted: &Wanted<'_>, available: &Available) -> Result<Version, Diagnostic> {
    let Wanted { source, constraints, fixed } = wanted;
    let Available { versions, foreign, searched, unknown, .. } = available;
    if versions.is_empty() && foreign.is_empty() {
        let reason = match unknown {
            Some(registry) => format!(
                "provider registry {registry} does not have a provider named {source}\n\nAll modules should name the \
                 providers that they use in required_providers: \"weft providers\" shows which of them need this one"
            ),
            None => {
                let places: String = searched.iter().map(|place| format!("\n  - {place}")).collect();
                format!("provider {source} was not found in any of the search locations\n{places}")
            }
        };
        return Err(unlisted(source, &reason));
    }
    match fixed {
        Some(locked) if versions.contains_key(&locked.version) => Ok(locked.version.clone()),
        Some(locked) => {
            let version = &locked.version;
            Err(unresolved(source, format!("the previously-selected version {version} is no longer available")))
        }
        None => match constraints.newest(versions.keys()) {
            Some(version) => Ok(version.clone()),
            None => match constraints.newest(foreign.keys()) {
                Some(newest) => Err(protocols(source, newest, available)),
                None => {
                    Err(unresolved(source, format!("no available releases match the given constraints {constraints}")))
                }
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
        Ok(None) => {
            let detail = format!(
                "Provider {} v{version} does not have a package available for your current platform, {platform}. Other \
                 versions of this provider may have different platforms supported.",
                source.for_display(),
            );
            Err(Diagnostic::error("Incompatible provider version", detail))
        }
        Err(Problem::Protocols { .. }) => Err(protocols(source, version, available)),
        Err(problem) => {
            let detail = format!("Error while installing {} v{version}: {problem}", source.for_display());
            Err(Diagnostic::error("Failed to install provider", detail))
        }
    }
}

/// Why versions cannot be listed.
pub(crate) fn not_listed(source: &ProviderSource, problem: &Problem) -> Diagnostic {
    use DiscoveryError::{NotOffered, OtherVersion};
    match problem {
        Problem::Discovery { error: error @ (NotOffered { .. } | OtherVersion { .. }), .. } => Diagnostic::error(
            "Invalid provider registry host",
            format!(
                "The host \"{}\" given in the provider source address \"{source}\" does not offer a provider registry: \
                 {error}.",
                source.host
            ),
        ),
        problem => unlisted(source, &problem.to_string()),
    }
}

/// The warnings of registries about a provider.
pub(crate) fn warning(source: &ProviderSource, available: &Available) -> Option<Diagnostic> {
    if available.warnings.is_empty() {
        return None;
    }
    let lines: String = available.warnings.iter().map(|warning| format!("\n- {warning}")).collect();
    let detail = format!("The remote registry returned warnings for {}:{lines}", source.for_display());
    Some(Diagnostic::warning("Additional provider information from registry", detail))
}

fn unlisted(source: &ProviderSource, reason: &str) -> Diagnostic {
    let name = source.for_display();
    let detail = format!("Could not retrieve the list of available versions for provider {name}: {reason}");
    Diagnostic::error("Failed to query available provider packages", detail)
}

fn unresolved(source: &ProviderSource, reason: String) -> Diagnostic {
    let detail = format!("Could not resolve provider {}: {reason}", source.for_display());
    Diagnostic::error("Failed to resolve provider packages", detail)
}

fn protocols(source: &ProviderSource, version: &Version, available: &Available) -> Diagnostic {
    let spoken = available.foreign.get(version).map(|spoken| spoken.join(", ")).unwrap_or_default();
    let nearest = available.versions.keys().next_back();
    let advice = match nearest {
        Some(nearest) => format!("The latest supported version is {nearest}."),
        None => "No version of it is supported.".to_owned(),
    };
    let detail = format!(
        "Provider {} v{version} speaks only plugin protocols that Weft does not ({spoken}); Weft speaks 5 and 6. \
         {advice}",
        source.for_display(),
    );
    Diagnostic::error("Incompatible provider version", detail)
}
