//! The door for `tests/simulation`: what a worker decides. The feature `simulation` opens it.

pub use crate::docket::{Action, Docket, Now};
pub use crate::held::is_young;
