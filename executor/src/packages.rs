//! Where a worker's provider packages come from: its host knows.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::ProviderPackage;
use weft_protocol::HeldPackage;
use weft_providers::Plugin;

/// The packages of a worker's host.
pub trait Packages: Send + Sync {
    /// What there is. An empty list says nothing: any shard may come then.
    fn held(&self) -> Vec<HeldPackage> {
        Vec::new()
    }

    /// How to start the provider that a plan was made with. Called on a thread that may block, once for each provider
    /// of a shard; the result is verified against the checksums by the host.
    ///
    /// # Errors
    /// A message that names the missing or altered package.
    fn find(&self, wanted: &ProviderPackage) -> Result<Plugin, Diagnostic>;
}

/// No package at all: only what is built in can be used.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPackages;

impl Packages for NoPackages {
    fn find(&self, wanted: &ProviderPackage) -> Result<Plugin, Diagnostic> {
        let (source, version) = (wanted.source.for_display(), &wanted.version);
        Err(Diagnostic::error(
            "Missing provider package",
            format!("This worker has no provider packages, and the plan needs {source} {version}."),
        ))
    }
}
