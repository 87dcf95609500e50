//! Diagnostics of the reading of configurations, by subject.

pub mod backend;
pub mod body;
pub mod call;
pub mod check;
pub mod declarations;
pub mod encryption;
pub mod experiments;
pub mod import;
pub mod lifecycle;
pub mod literal;
pub mod loading;
