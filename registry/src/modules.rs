//! Modules that are not local: how their packages are found and fetched.
//!
//! [`PackageAddress`] is an address taken apart; [`ModuleFetcher`] fetches packages by git, over HTTP or from OCI
//! registries, and asks registries for the versions of modules ([`constraint`] says which of them are meant) and where
//! these are.

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
