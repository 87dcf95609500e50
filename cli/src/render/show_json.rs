//! The documents of `weft show -json`, in OpenTofu's format.
//!
//! [`plan`] and [`state`] are the documents; `trees` turns values into what they hold, what is unknown in them and what
//! is sensitive; `objects` puts objects into the tree of modules; `stored` reads a state, `checks` the results of
//! checks.

pub mod checks;
mod objects;
mod plan;
mod stored;
#[cfg(test)]
mod tests;
mod trees;

pub use plan::{importing, plan};
pub use stored::state;
pub use trees::compared;

/// The version of OpenTofu whose documents these are.
const TOFU_VERSION: &str = "1.12.6";
