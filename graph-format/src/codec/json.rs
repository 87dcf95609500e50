//! Values as JSON, as cty's `json` package and, without a type, as `jsonencode` and `jsondecode`.

mod decode;
mod encode;
mod syntax;

pub use decode::{decode, decode_implied, implied_type};
pub use encode::{encode, encode_plain, write_string};
pub use syntax::SyntaxError;
pub(super) use syntax::{Json, parse};
