//! Expressions: conversion, operators, functions, evaluation, and compiled formulas.
//!
//! Every rule is written once and has two sides. For known values, it computes the result. For values that are known
//! only at apply, it returns what is known of the result and a formula that computes the rest. [`symbolic`] lists the
//! invariants. [`compile`] runs formulas with the same code, so planning and applying cannot disagree.
//!
//! The modules, in reading order: [`convert`] and [`refine`] handle types and refinements of unknown values.
//! [`operators`], [`access`], [`iteration`] and [`conditional`] handle the parts of expressions, and [`function`] and
//! [`provider_call`] handle calls. [`mod@evaluate`] combines them to evaluate syntax trees in a [`scope`], and
//! [`compile`] combines them to run formulas. [`functions`] contains the built-in functions. [`type_constraint`] reads
//! types. [`resource_rules`] contains the rules on resource objects that the planner and the executor share, and
//! [`error_message`] those on messages of conditions. [`console`] evaluates a line of text.

#![allow(clippy::result_large_err, reason = "diagnostics are the errors of evaluation; boxing each buys nothing")]

pub mod access;
pub mod call_context;
pub mod call_error;
pub mod compile;
pub mod conditional;
pub mod console;
pub mod constant;
pub mod convert;
pub mod decoded;
pub mod error_message;
pub mod evaluate;
pub mod function;
pub mod function_table;
pub mod functions;
pub mod involved;
pub mod iteration;
pub mod limits;
pub mod operator_error;
pub mod operators;
mod problems;
pub mod provider_call;
pub mod refine;
pub mod resource_rules;
pub mod scope;
mod stack;
pub mod symbolic;
pub mod terraform_functions;
pub mod type_constraint;
pub mod type_text;
