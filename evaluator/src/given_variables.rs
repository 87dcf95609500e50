//! The values that the user gives to the variables of the root module.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

/// A given value of a root variable, before conversion.
#[derive(Clone, Debug)]
pub struct GivenVariable {
    /// The value.
    pub value: Value,
    /// The source range of the value: in a file, or in an option such as `-var`.
    pub range: Option<SourceRange>,
    /// A description of where the value comes from, for messages.
    pub source: String,
}

/// Given root variables by name.
pub type GivenVariables = BTreeMap<SmolStr, GivenVariable>;
