//! Values as MessagePack, as in cty's `msgpack` package: the wire format of provider plugins.
//!
//! - A number is an integer if it fits into `i64`, a 64-bit float if it is not whole and the conversion is exact, and
//!   decimal text otherwise.
//! - An unknown value without a refinement is the extension `d4 00 00`. With a refinement, it is an extension with the
//!   type number 12. This extension contains a map. Key 1: whether the value may be null. Key 2: the prefix. Keys 3 and
//!   4: the lower and the upper bound of a number, and whether each bound is inclusive. Keys 5 and 6: the minimum and
//!   the maximum number of elements.
//! - A set is an array in set order. Keys of maps and attributes of objects are sorted.
//! - Where the type is dynamic, a value is an array with two elements: its type as JSON, and the value itself.

mod decode;
mod encode;
mod reader;

pub use decode::decode;
pub use encode::encode;

/// The extension type of unknown values with refinements.
const REFINED_EXTENSION: i8 = 12;

/// The maximum length of an encoded refinement, in bytes. cty's decoder refuses longer refinements.
const MAX_REFINEMENT_LENGTH: usize = 1024;

/// The maximum length of an encoded prefix, in bytes. The same as in cty. With this limit, the whole refinement fits
/// into [`MAX_REFINEMENT_LENGTH`].
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
