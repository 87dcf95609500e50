//! Values of ephemeral variables. A plan does not contain them, so they must be given again for a run.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_executor::encode_value;
use weft_expressions::convert::convert_with_defaults;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::Manifest;
use weft_graph_format::value::Value;

use super::problems;
use crate::options::Arguments;
use crate::variables;

/// Values of variables that a plan does not contain, encoded for workers.
pub type Inputs = BTreeMap<String, Vec<u8>>;

/// The values of the ephemeral variables. The plan does not contain these values, so they come from the sources that
/// planning uses, or from the defaults of the variables.
///
/// # Errors
/// Returns an error for each variable without a value, or with a value of the wrong type.
pub fn inputs(manifest: &Manifest, arguments: &Arguments) -> Result<Inputs, Vec<Diagnostic>> {
    let mut inputs = Inputs::new();
    let mut problems = Vec::new();
    let types = |name: &str| manifest.ephemeral_variables.get(name).map(|variable| variable.ty.clone());
    let (given, found) = variables::given_again(&types, manifest.ephemeral_variables.keys(), arguments);
    problems.extend(found);
    for (name, variable) in &manifest.ephemeral_variables {
        let value: Value = match (given.get(name), &variable.default) {
            (Some(given), _) => given.value.clone(),
            (None, Some(default)) => default.clone().into(),
            (None, None) => {
                let problem = problems::no_ephemeral_value(name);
                problems.push(match manifest.places.get(&format!("var.{name}")) {
                    Some(place) => problem.at(place.clone()),
                    None => problem,
                });
                continue;
            }
        };
        match convert_with_defaults(&value, &variable.ty, &variable.defaults) {
            Ok(value) => drop(inputs.insert(name.to_string(), encoded(name, &value)?)),
            Err(error) => problems.push(problems::unsuitable_value(name, &error.with_path())),
        }
    }
    if has_errors(&problems) { Err(problems) } else { Ok(inputs) }
}

/// One value, encoded for workers.
///
/// # Errors
/// Returns an error if the value is nested too deeply.
pub fn encoded(name: &SmolStr, value: &Value) -> Result<Vec<u8>, Vec<Diagnostic>> {
    encode_value(value).map_err(|error| vec![problems::value_not_encoded(name, &error)])
}
