//! A limit on the evaluation time of one expression, so that a short text cannot run forever.
//!
//! Time is counted in steps, so that the result is the same on every machine. The maximum size of values, which keeps a
//! short text from exhausting memory, is defined by [`weft_graph_format::value`].

use weft_graph_format::value::Value;

/// The maximum number of steps of one expression, including the steps of templates that the expression evaluates. An
/// expression with this number of steps takes a few minutes. One step reads about one part of a value.
pub const MOST_STEPS: u64 = 1 << 32;

/// The number of steps of one round of a `for` or splat, in addition to the steps of calls in the round.
pub const STEPS_A_ROUND: u64 = 64;

/// The number of bytes of text that count as one step.
const TEXT_A_STEP: u64 = 64;

/// The number of steps that reading the whole value takes.
pub fn steps_over(value: &Value) -> u64 {
    let extent = value.extent();
    u64::from(extent.parts) + u64::from(extent.text) / TEXT_A_STEP
}
