//! The output for users and scripts: pure functions that turn data into text or JSON objects. [`crate::view`] prints
//! the results.
//!
//! - [`style`]: colors and width. [`quoting`]: quoted strings. [`natural`]: the sort order of names.
//! - [`diagnostics`]: problems with their source lines.
//! - [`difference`]: the difference of two values. [`plan`]: the changes of a plan, and the lines about an apply.
//!   [`state`]: a state. [`values`]: values as `output` prints them.
//! - [`progress`]: the progress of each provider instance.
//! - [`events`]: the objects of the event stream. [`show_json`]: the documents of `show -json`.
//! - [`schemas`]: finds the schemas for objects. [`schema_json`]: schemas as documents.
//! - [`statuses`] and [`times`]: texts about runs. [`counted`]: a number with its noun.

pub mod counted;
mod counts;
pub mod diagnostics;
mod difference;
pub mod events;
mod hook;
mod hook_messages;
pub mod natural;
pub mod plan;
mod problems;
pub mod progress;
mod quoting;
#[cfg(test)]
mod sample;
pub mod schema_json;
pub mod schemas;
pub mod show_json;
pub mod state;
pub mod statuses;
pub mod style;
pub mod times;
pub mod values;
