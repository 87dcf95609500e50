//! Values as MessagePack, as cty's `msgpack` package: the wire format of provider plugins.
//!
//! - Numbers are integers when they are ones of 64 bits, 64-bit floats when exactly that, otherwise decimal text.
//! - An unknown value of which nothing is known is the extension `d4 00 00`. Otherwise it is an extension of type 12
//!   over a map: 1 may be null, 2 prefix, 3 and 4 least and greatest number with whether it is included, 5 and 6 least
//!   and greatest number of elements.
//! - Sets are arrays in set order; keys of maps and attributes of objects are in order.
//! - Where the type is dynamic: an array of the type's JSON and the value.

mod decode;
mod encode;
mod reader;

pub use decode::decode;
pub use encode::encode;

/// Extension type of unknown values with refinements.
const REFINED_EXTENSION: i8 = 12;

/// The longest refinement that is read or written, in bytes: what cty's decoder accepts.
const MAX_REFINEMENT_LENGTH: usize = 1024;

/// The longest prefix that is written, in bytes: leaves room for the rest within [`MAX_REFINEMENT_LENGTH`]. As cty's.
const MAX_PREFIX_LENGTH: usize = 256;

const _: () = assert!(MAX_PREFIX_LENGTH + 16 <= MAX_REFINEMENT_LENGTH);

/// Keys of the refinement map.
mod key {
    pub(super) const NULLNESS: i64 = 1;
    pub(super) const PREFIX: i64 = 2;
    pub(super) const NUMBER_MIN: i64 = 3;
    pub(super) const NUMBER_MAX: i64 = 4;
    pub(super) const LENGTH_MIN: i64 = 5;
    pub(super) const LENGTH_MAX: i64 = 6;
}
