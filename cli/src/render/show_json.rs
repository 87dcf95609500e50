//! The documents of `weft show -json`, in OpenTofu's format.
//!
//! [`plan`] and [`state`] are the documents. `trees` turns values into JSON trees of their contents, their unknown and
//! their sensitive parts. `objects` puts objects into the tree of modules. `stored` decodes a state, and `checks`
//! writes the results of checks.

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

/// The version of OpenTofu that has these documents.
const TOFU_VERSION: &str = "1.12.6";
