//! Events of `init` during an installation.

use std::fmt;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::version::Version;
use weft_providers::constraint::Constraints;

use crate::offer::Authentication;

/// An event of an installation. Its `Display` is the line that `init` prints.
#[derive(Clone, Debug, PartialEq)]
pub enum InstallEvent {
    /// The provider is built in: nothing is installed.
    BuiltIn(ProviderSource),
    /// The version is locked.
    Reusing(ProviderSource),
    /// A version is being selected.
    Finding(ProviderSource, Constraints),
    /// A registry has a warning for users.
    Warning(Diagnostic),
    /// The package is already installed.
    AlreadyInstalled(ProviderSource, Version),
    /// The package is in the shared cache.
    FromCache(ProviderSource, Version),
    /// The package is about to be installed.
    Installing(ProviderSource, Version),
    /// The package is installed.
    Installed(ProviderSource, Version, Authentication),
}

impl InstallEvent {
    /// Whether a signature was checked. If so, users may want to read about signatures.
    pub fn is_signed(&self) -> bool {
        matches!(self, InstallEvent::Installed(_, _, Authentication::Signed { .. }))
    }
}

impl fmt::Display for InstallEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallEvent::BuiltIn(source) => write!(f, "- {} is built in to Weft", source.for_display()),
            InstallEvent::Reusing(source) => {
                write!(f, "- Reusing previous version of {} from the dependency lock file", source.for_display())
            }
            InstallEvent::Finding(source, constraints) if constraints.is_any() => {
                write!(f, "- Finding latest version of {}...", source.for_display())
            }
            InstallEvent::Finding(source, constraints) => {
                write!(f, "- Finding {} versions matching \"{constraints}\"...", source.for_display())
            }
            InstallEvent::Warning(warning) => write!(f, "{}: {}", warning.summary, warning.detail),
            InstallEvent::AlreadyInstalled(source, version) => {
                write!(f, "- Using previously-installed {} v{version}", source.for_display())
            }
            InstallEvent::FromCache(source, version) => {
                write!(f, "- Using {} v{version} from the shared cache directory", source.for_display())
            }
            InstallEvent::Installing(source, version) => {
                write!(f, "- Installing {} v{version}...", source.for_display())
            }
            InstallEvent::Installed(source, version, authentication) => {
                write!(f, "- Installed {} v{version} ({authentication})", source.for_display())
            }
        }
    }
}
