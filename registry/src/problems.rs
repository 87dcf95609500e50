//! Constructors of the diagnostics of selecting and installing providers.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::version::Version;
use weft_providers::constraint::Constraints;
use weft_providers::platform::Platform;

/// The configuration requires a built-in provider that does not exist.
pub(crate) fn unknown_builtin(source: &ProviderSource) -> Diagnostic {
    invalid_builtin(source, &format!("this Weft release has no built-in provider named \"{}\"", source.type_name))
}

/// A built-in provider has a version constraint.
pub(crate) fn constrained_builtin(source: &ProviderSource) -> Diagnostic {
    invalid_builtin(source, "built-in providers do not support explicit version constraints")
}

fn invalid_builtin(source: &ProviderSource, reason: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid dependency on built-in provider",
        format!("Cannot use {}: {reason}.", source.for_display()),
    )
}

/// A version has no package for the platform.
pub(crate) fn no_package(source: &ProviderSource, version: &Version, platform: &Platform) -> Diagnostic {
    Diagnostic::error(
        "Incompatible provider version",
        format!(
            "Provider {} v{version} does not have a package available for your current platform, {platform}. Other \
             versions of this provider may have different platforms supported.",
            source.for_display(),
        ),
    )
}

/// A package cannot be installed.
pub(crate) fn not_installed(source: &ProviderSource, version: &Version, problem: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to install provider",
        format!("Error while installing {} v{version}: {problem}", source.for_display()),
    )
}

/// The host of a provider has no registry.
pub(crate) fn no_registry(source: &ProviderSource, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Invalid provider registry host",
        format!(
            "The host \"{}\" given in the provider source address \"{source}\" does not offer a provider registry: \
             {error}.",
            source.host
        ),
    )
}

/// A registry has warnings about a provider.
pub(crate) fn registry_warnings<Warning: Display>(
    source: &ProviderSource,
    warnings: impl Iterator<Item = Warning>,
) -> Diagnostic {
    let lines: String = warnings.map(|warning| format!("\n- {warning}")).collect();
    Diagnostic::warning(
        "Additional provider information from registry",
        format!("The remote registry returned warnings for {}:{lines}", source.for_display()),
    )
}

/// A provider does not exist where Weft looked for it.
fn nowhere(source: &ProviderSource, reason: &str) -> Diagnostic {
    let name = source.for_display();
    Diagnostic::error(
        "Failed to query available provider packages",
        format!("Could not retrieve the list of available versions for provider {name}: {reason}"),
    )
}

/// A registry does not have a provider.
pub(crate) fn not_in_registry(source: &ProviderSource, registry: &dyn Display) -> Diagnostic {
    nowhere(
        source,
        &format!(
            "provider registry {registry} does not have a provider named {source}\n\nAll modules should name the \
             providers that they use in required_providers: \"weft providers\" shows which modules need this provider"
        ),
    )
}

/// No installation method has a provider.
pub(crate) fn not_found<Place: Display>(source: &ProviderSource, searched: impl Iterator<Item = Place>) -> Diagnostic {
    let places: String = searched.map(|place| format!("\n  - {place}")).collect();
    nowhere(source, &format!("provider {source} was not found in any of the search locations\n{places}"))
}

/// Why no version of a provider can be selected.
#[derive(Clone, Copy)]
pub(crate) enum Unresolved<'a> {
    /// The locked version does not satisfy the constraints.
    OtherLocked(&'a Version, &'a Constraints),
    /// The locked version no longer exists.
    Gone(&'a Version),
    /// No version satisfies the constraints.
    NoMatch(&'a Constraints),
}

/// No version of a provider can be selected.
pub(crate) fn unresolved(source: &ProviderSource, why: Unresolved<'_>) -> Diagnostic {
    let name = source.for_display();
    let reason = match why {
        Unresolved::OtherLocked(locked, constraints) => format!(
            "locked provider {name} {locked} does not match configured version constraint {constraints}; must use weft \
             init -upgrade to allow selection of new versions"
        ),
        Unresolved::Gone(version) => format!("the previously-selected version {version} is no longer available"),
        Unresolved::NoMatch(constraints) => {
            format!("no available releases match the given constraints {constraints}")
        }
    };
    not_resolved(source, &reason)
}

/// The versions of a provider cannot be listed, or none can be selected.
pub(crate) fn not_resolved(source: &ProviderSource, reason: &str) -> Diagnostic {
    let name = source.for_display();
    Diagnostic::error("Failed to resolve provider packages", format!("Could not resolve provider {name}: {reason}"))
}

/// A version supports other protocols than Weft. `nearest` is the latest version that Weft supports.
pub(crate) fn foreign_protocols(
    source: &ProviderSource,
    version: &Version,
    spoken: &str,
    nearest: Option<&Version>,
) -> Diagnostic {
    let advice = match nearest {
        Some(nearest) => format!("The latest supported version is {nearest}."),
        None => "No version of this provider is supported.".to_owned(),
    };
    Diagnostic::error(
        "Incompatible provider version",
        format!(
            "Provider {} v{version} only supports the plugin protocols {spoken}, but Weft supports 5 and 6. {advice}",
            source.for_display(),
        ),
    )
}

/// The selected packages differ from those in a lock file that must not change.
pub(crate) fn other_packages_locked() -> Diagnostic {
    Diagnostic::warning(
        "Provider lock file not updated",
        "The selected packages differ from those in the lock file, and -lockfile=readonly does not allow changes. Run \
         \"weft init\" without -lockfile=readonly to update the lock file.",
    )
}

/// The required providers differ from those in a lock file that must not change.
pub(crate) fn other_providers_locked() -> Diagnostic {
    Diagnostic::error(
        "Provider dependency changes detected",
        "The required providers differ from those in the lock file, and -lockfile=readonly does not allow changes. Run \
         \"weft init\" without -lockfile=readonly to update the lock file.",
    )
}

/// The lock file cannot be written.
pub(crate) fn lock_file_not_saved(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to save dependency lock file",
        format!("The dependency lock file {} cannot be written: {error}.", path.display()),
    )
}

/// The lock file does not work on other platforms.
pub(crate) fn incomplete_lock_file(incomplete: &[ProviderSource], platform: &Platform) -> Diagnostic {
    let list: String = incomplete.iter().map(|source| format!("\n  - {}", source.for_display())).collect();
    Diagnostic::warning(
        "Incomplete lock file information for providers",
        format!(
            "The sources of these providers returned no checksums, so Weft computed the checksums of the installed \
             packages:{list}\n\nThe file .terraform.lock.hcl has checksums of these providers for {platform} only, so \
             Weft cannot install these providers on other platforms. To add the checksums for another platform, run:\n \
             weft providers lock -platform=linux_amd64\nReplace linux_amd64 with that platform."
        ),
    )
}

/// Development overrides are active.
pub(crate) fn overrides_active(overrides: &BTreeMap<ProviderSource, PathBuf>) -> Diagnostic {
    let list: String =
        overrides.iter().map(|(source, path)| format!("\n - {} in {}", source.for_display(), path.display())).collect();
    Diagnostic::warning(
        "Provider development overrides are in effect",
        format!(
            "The following provider development overrides are set in the CLI configuration:{list}\n\nThese providers are \
             neither installed nor locked, and their versions are not checked. Applying with them may make the state \
             incompatible with published releases."
        ),
    )
}
