//! The door for `tests/simulation`: the decisions of a worker. The feature `simulation` opens it.

pub use crate::docket::{DeskAction, Docket, Now};
pub use crate::held::is_young;
pub use crate::spool::{SpoolWork, SpooledResult};
