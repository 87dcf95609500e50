//! Applying a plan, in this process or by a coordinator elsewhere, and showing its progress.

pub mod checks;
mod elsewhere;
mod here;
mod observed;
mod problems;
mod progress;

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_executor::encode_value;
use weft_expressions::convert::convert_with_defaults;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::{Manifest, PlanFile};
use weft_graph_format::value::Value;
use weft_state::{Digest, Revision, Snapshot, Subject};

pub use elsewhere::{coordinator, resume as resume_elsewhere, submit};
pub use here::{Place, begin, resume};
pub use problems::{applied_a_part, client as client_problem, run as run_problem, stale_plan as stale_problem};

use crate::options::Arguments;
use crate::render::events::Counts;
use crate::variables;

/// A plan that is about to be applied.
#[derive(Debug)]
pub struct Work {
    /// The plan.
    pub plan: PlanFile,
    /// The bytes of its file.
    pub bytes: Vec<u8>,
    /// Its digest.
    pub digest: Digest,
    /// Values that the plan does not hold.
    pub inputs: Inputs,
}

/// Values of variables that a plan does not hold, encoded for workers.
pub type Inputs = BTreeMap<String, Vec<u8>>;

/// How applying ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The run's id.
    pub run: String,
    /// The exit code: 0 for done, 1 for errors or an unfinished run, 3 for operations in doubt.
    pub code: u8,
    /// It ended before everything was done.
    pub stopped: bool,
    /// What was done.
    pub counts: Counts,
}

/// Changes since the plan was made, to the instances that it changes or reads.
pub fn stale(manifest: &Manifest, snapshot: &Snapshot) -> Vec<String> {
    let changed = manifest.claims.iter().filter(|claim| {
        let subject = match claim.address.strip_prefix("output.") {
            Some(name) if !name.contains('.') => Subject::Output(name.to_owned()),
            _ => Subject::Instance(claim.address.clone()),
        };
        snapshot.revision(&subject) != Revision(claim.revision)
    });
    changed.map(|claim| claim.address.clone()).collect()
}

/// Values for the variables that the plan does not hold, from the same sources that planning uses.
///
/// # Errors
/// Variables without a value, or with a value of the wrong type.
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
/// A value that is nested too deeply.
pub fn encoded(name: &SmolStr, value: &Value) -> Result<Vec<u8>, Vec<Diagnostic>> {
    encode_value(value).map_err(|error| vec![problems::value_not_encoded(name, &error)])
}
