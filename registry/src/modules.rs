//! Modules that are not local: finding and fetching their packages.
//!
//! [`PackageAddress`] is a parsed address. [`ModuleFetcher`] fetches packages by git, over HTTP or from OCI registries.
//! It also queries module registries for the versions of a module, and for the address of a package. [`constraint`]
//! selects one of the versions.

mod address;
mod artifact;
mod checksum;
mod directory;
mod error;
mod fetch;
mod git;
mod glob;
mod meta_tag;
mod netrc;
mod protocol;
mod web;

pub use address::{PackageAddress, shown};
pub use error::{FetchError, GitError};
pub use fetch::ModuleFetcher;
pub use glob::{GlobError, expand};
pub use protocol::{Listed, PackageLocation, RegistryError};
