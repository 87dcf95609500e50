//! Recursion that grows the stack in pieces on the heap, so that no depth of nesting ends the process.

/// Stack that must be left before going deeper: more than one level of any recursion in this crate uses.
const RED_ZONE_BYTES: usize = 128 * 1024;

/// Size of each further piece of stack.
const PIECE_BYTES: usize = 2 * 1024 * 1024;

/// Runs `inner`, on a new piece of stack when little is left of this one.
pub fn guarded<R>(inner: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE_BYTES, PIECE_BYTES, inner)
}
