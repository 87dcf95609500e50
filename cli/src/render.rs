//! What people and scripts see: pure functions from data to text or JSON objects. Who prints them, and where, is
//! [`crate::view`]'s business.
//!
//! [`style`] is how text may look; [`diagnostics`] problems with their source lines; [`plan`] the difference that a
//! plan makes, and the lines about an apply; [`values`] values as `output` and `show` write them; [`events`] the objects of the event stream;
//! [`state`] a state as text; [`show_json`] the documents of `show -json`.

pub mod diagnostics;
pub mod events;
pub mod plan;
pub mod show_json;
pub mod state;
pub mod style;
pub mod values;
