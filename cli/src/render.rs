//! What people and scripts see: pure functions from data to text or JSON objects. Who prints them, and where, is
//! [`crate::view`]'s business.
//!
//! [`style`] is how text may look, [`quoting`] how strings are written; [`diagnostics`] problems with their source lines;
//! [`difference`] what is different between two values, [`plan`] the difference that a plan makes and the lines about
//! an apply, [`state`] a state as text; [`values`] values as `output` writes them; [`progress`] how far
//! each provider instance is; [`events`] the objects of the event stream; [`show_json`] the documents of `show -json`,
//! [`schemas`] the schemas by which objects are read, [`schema_json`] schemas as documents.

pub mod diagnostics;
mod difference;
pub mod events;
pub mod plan;
pub mod progress;
mod quoting;
#[cfg(test)]
mod sample;
pub mod schema_json;
pub mod schemas;
pub mod show_json;
pub mod state;
pub mod style;
pub mod values;
