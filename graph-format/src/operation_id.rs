//! The numbers of operations, by which values and formulas refer to them.

use serde::{Deserialize, Serialize};

/// An operation. Planning numbers operations in the order of creation, and the finished graph renumbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OperationId(pub u32);
