//! The documents of `weft show -json`, in OpenTofu's format.
//!
//! [`plan`] and [`state`] are the documents. `trees` converts values to JSON trees: their contents, and their unknown
//! and sensitive parts. `objects` builds the tree of modules with their objects. `stored` decodes a state, and `checks`
//! converts the results of checks.

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

/// The version of OpenTofu with this format.
const TOFU_VERSION: &str = "1.12.6";
