//! Access for `tests/simulation` to the decisions of a worker. The feature `simulation` enables it.

pub use crate::docket::{DeskAction, Docket, Now};
pub use crate::held::is_young;
pub use crate::spool::{SpoolWork, SpooledResult};
