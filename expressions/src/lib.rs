//! What expressions do: conversion, operators, functions, evaluation, and formulas made to run.
//!
//! Every rule is written once and has two sides. With known values it computes the result. With values that only apply
//! knows, it gives what is known of the result, and the formula that computes the rest ([`symbolic`] describes such
//! values). [`compile`] runs formulas with the same code, so that planning and applying cannot disagree.
//!
//! Reading order: [`convert`] and [`refine`] deal with types and with facts about unknown values; [`operators`],
//! [`access`], [`iteration`] and [`conditional`] with the parts of expressions; then come [`functions`] and
//! [`provider_call`]. [`mod@evaluate`] combines them over syntax trees, and [`compile`] over formulas.
//! [`type_constraint`] parses types, [`resource_rules`] has the rules on objects of resources that planner and executor
//! share, and [`console`] evaluates a line of text.

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
pub mod evaluate;
pub mod functions;
pub mod involved;
pub mod iteration;
pub mod limits;
pub mod operators;
pub mod provider_call;
pub mod refine;
pub mod resource_rules;
mod stack;
pub mod symbolic;
pub mod terraform_functions;
pub mod type_constraint;
pub mod type_text;
