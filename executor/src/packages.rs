//! The source of a worker's provider packages.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::ProviderPackage;
use weft_protocol::HeldPackage;
use weft_providers::Plugin;

use crate::problems;

/// The packages of a worker's host.
pub trait Packages: Send + Sync {
    /// The available packages. If the list is empty, the worker accepts any shard.
    fn held(&self) -> Vec<HeldPackage> {
        Vec::new()
    }

    /// The plugin of the provider that was used for the plan. Called once for each provider of a shard, on a thread
    /// where blocking is allowed. The implementation of this trait must verify the checksum.
    ///
    /// # Errors
    /// Returns a diagnostic that names the missing or altered package.
    fn find(&self, wanted: &ProviderPackage) -> Result<Plugin, Diagnostic>;
}

/// No packages: only built-in providers are available.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPackages;

impl Packages for NoPackages {
    fn find(&self, wanted: &ProviderPackage) -> Result<Plugin, Diagnostic> {
        let (source, version) = (wanted.source.for_display(), &wanted.version);
        Err(problems::no_packages(&source, version))
    }
}
