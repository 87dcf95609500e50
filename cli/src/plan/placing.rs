//! The file with the placement rules for a plan.

use std::fs::File;
use std::io::{ErrorKind, Read as _};

use weft_coordinator::placement::{MAX_BYTES, PLACEMENT_FILE, PlacementRules, Resolved};
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::limits::CallBudget;
use weft_graph_format::plan_file::PlanFile;
use weft_graph_format::value::Value;

use crate::options::Arguments;
use crate::plan::problems;

/// Placement rules, with the name of their file.
#[derive(Clone, Debug)]
pub struct Placing {
    rules: PlacementRules,
    file: String,
}

impl Placing {
    /// Reads the file of `-placement`, or the default file in the working directory. `None` if the option is absent and
    /// the default file does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is invalid.
    pub fn read(arguments: &Arguments) -> Result<Option<Placing>, Diagnostic> {
        let given = arguments.value("placement");
        let file = given.unwrap_or(PLACEMENT_FILE);
        let mut text = String::new();
        let read = File::open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
        match read {
            Ok(length) if length as u64 > MAX_BYTES => return Err(problems::placement_too_large(file, MAX_BYTES)),
            Ok(_) => {}
            Err(error) if given.is_none() && error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(problems::placement_unreadable(file, &error)),
        }
        let rules = PlacementRules::parse(&text).map_err(|wrong| problems::invalid_placement(file, &wrong))?;
        Ok(Some(Placing { rules, file: file.to_owned() }))
    }

    /// Whether the rules limit calls.
    pub fn has_limits(&self) -> bool {
        self.rules.has_limits()
    }

    /// The budgets of a provider instance with this configuration.
    pub fn budgets_of(&self, instance: &ProviderInstance, config: &Value) -> Vec<CallBudget> {
        self.rules.budgets_of(instance, config)
    }

    /// Adds to `plan` the labels that workers need, the limits on concurrent operations and on open provider instances,
    /// and the limits on calls. Returns warnings about rules that match nothing.
    ///
    /// # Errors
    /// Returns an error if a placeholder in a label has no value in the plan.
    pub fn place(&self, plan: &mut PlanFile) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let Resolved { placement, limits, warnings } = self.rules.resolve(plan, &self.file)?;
        plan.manifest.placement = placement;
        plan.manifest.limits = limits;
        Ok(warnings)
    }
}
