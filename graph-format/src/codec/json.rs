//! Values as JSON, as cty's `json` package and, without a type, as `jsonencode` and `jsondecode`.

mod decode;
mod encode;

pub use decode::{decode, decode_implied, implied_type};
pub use encode::{encode, encode_plain};

pub use super::json_syntax::{SyntaxError, write_string};
