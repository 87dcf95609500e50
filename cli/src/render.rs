//! The output for people and scripts: pure functions from data to text or JSON objects. [`crate::view`] prints
//! them.
//!
//! [`style`] has colors and width, [`quoting`] quotes strings, [`diagnostics`] shows problems with their source lines.
//! [`difference`] compares two values. [`plan`] shows the changes of a plan, and the lines about an apply. [`state`]
//! shows a state. [`values`] writes values as `output` does. [`progress`] shows the progress of each provider instance.
//! [`events`] has the objects of the event stream, and [`show_json`] the documents of `show -json`. [`schemas`] finds
//! the schemas that objects are read with, and [`schema_json`] writes schemas as documents. [`statuses`] and [`times`] have
//! the words for runs, and [`natural`] is the order of names.

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
