//! The content of plan files, as plain data. Nothing here has side effects.
//!
//! The modules, in reading order:
//!
//! - [`source`] and [`diagnostic`] describe problems. [`explain`] explains them, and [`nearest`] finds similar names.
//! - [`number`], [`types`], [`marks`], [`value`] and [`path`] are the values of configurations, providers and states.
//!   [`codec`] encodes them.
//! - [`formula`] says how a value is computed, and [`origin`] what must happen before it may be used.
//! - [`address`] names objects, and [`module_source`] the sources of modules. [`schema`] describes the types of
//!   providers.
//! - [`graph`] is the work of an apply, [`changes`] is what a reviewer reads, and [`plan_file`] is the file with both.
//! - [`placement`] says which workers may run which operations, [`limits`] how often providers may be called, and
//!   [`lookups`] by which import ids objects are found.
//! - [`stored`], [`run`], [`digest`], [`shown`] and [`checks`] are data that states, runs and plans share.

pub mod address;
pub mod bare;
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
pub mod operation_kind;
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

// Formulas are part of values. Other crates use the module under this path.
pub use value::formula;
