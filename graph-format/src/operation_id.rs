//! The numbers of operations. Values and formulas refer to operations by these numbers.

use serde::{Deserialize, Serialize};

/// The number of an operation. Planning numbers operations in the order of creation; the finished graph renumbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OperationId(pub u32);
