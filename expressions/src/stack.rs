//! Recursion on a stack that grows on the heap, so that deep nesting does not crash the process.

/// The minimum size of the remaining stack before another level. No recursion in this crate uses more for one level.
const RED_ZONE_BYTES: usize = 128 * 1024;

/// The size of each additional stack segment.
const PIECE_BYTES: usize = 2 * 1024 * 1024;

/// Runs `inner`, on a new stack segment if little of the current one remains.
pub fn guarded<R>(inner: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE_BYTES, PIECE_BYTES, inner)
}
