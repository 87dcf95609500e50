//! The content of plan files, as plain data. Nothing here has effects.
//!
//! Reading order: [`source`] and [`diagnostic`] describe problems, [`explain`] their meaning, and [`nearest`] finds
//! similar names; [`number`], [`types`], [`marks`], [`value`] and [`path`] are the values of configurations, providers
//! and states, and [`codec`] encodes them; [`formula`] and [`origin`] say how a value is computed and what must happen
//! before it may be used; [`address`] names objects, and [`module_source`] the sources of modules; [`schema`] describes
//! the types of providers; [`graph`] is the work of an apply; [`changes`] is what a reviewer reads, and [`plan_file`]
//! holds everything in one file. [`placement`] says where its parts may run,
//! [`limits`] how often they may call providers, and [`lookups`] how objects are found by their names. [`stored`],
//! [`run`], [`digest`], [`shown`] and [`checks`] are data that states, runs and plans share.

pub mod address;
pub mod changes;
pub mod checked;
pub mod checks;
pub mod codec;
pub mod diagnostic;
pub mod digest;
pub mod explain;
pub mod framed;
pub mod go_duration;
pub mod graph;
pub mod limits;
pub mod lookups;
pub mod marks;
pub mod module_source;
pub mod nearest;
pub mod number;
mod operation_id;
pub mod origin;
pub mod path;
pub mod placement;
mod plain_value;
pub mod plan_file;
pub mod quoting;
mod refinement;
pub mod run;
pub mod schema;
pub mod shown;
pub mod source;
pub mod stored;
pub mod types;
pub mod value;
pub mod version;

// A formula is part of a value. The other rooms know it by this path.
pub use value::formula;
