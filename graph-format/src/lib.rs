//! What can be in a plan file, as plain data: nothing here makes anything happen.
//!
//! Reading order: [`source`] and [`diagnostic`] say where and what is wrong, [`explain`] what that means, [`nearest`] what was
//! probably meant; [`number`], [`types`], [`marks`],
//! [`value`] and [`path`] are the values that configurations, providers and states speak of, and [`codec`] is how
//! those are written as bytes; [`formula`] and [`origin`] say how a value is computed and what must have happened
//! before it may be used; [`address`] names things, [`module_source`] says where modules come from; [`schema`] is what
//! a provider says of its types; [`graph`] is what an apply does; [`changes`] is what a reviewer reads of it, and
//! [`plan_file`] holds all of that in one file.

pub mod address;
pub mod changes;
pub mod checks;
pub mod codec;
pub mod diagnostic;
pub mod digest;
pub mod explain;
pub mod formula;
pub mod graph;
pub mod marks;
pub mod module_source;
pub mod nearest;
pub mod number;
pub mod origin;
pub mod path;
pub mod plan_file;
pub mod quoting;
pub mod run;
pub mod schema;
pub mod shown;
pub mod source;
pub mod stored;
pub mod types;
pub mod value;
pub mod version;
