//! Values as JSON: with a type as in cty's `json` package, without a type as in `jsonencode` and `jsondecode`.

mod decode;
mod encode;
mod same;

pub use decode::{decode, decode_implied, implied_type};
pub use encode::{encode, encode_plain};
pub use same::same;

pub use super::json_syntax::{SyntaxError, write_string};
