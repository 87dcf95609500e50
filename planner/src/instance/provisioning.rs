//! Provisioners, which run after a create and before a delete.

use weft_evaluator::glue::Provision;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::graph::ProvisionWhen;
use weft_graph_format::origin::Origin;

use crate::agenda::planned::PlannedProvision;
use crate::planner::Planner;
use crate::prior::Prior;
use crate::problems::Problems;

impl Planner {
    /// Adds the provisioners of a created instance to the plan. Readers wait for the last one.
    pub(crate) fn take_provisions(&self, address: &ResourceInstance, provisions: Vec<Provision>) -> Option<Origin> {
        let last = provisions.len().checked_sub(1)?;
        let mut planned = Vec::with_capacity(provisions.len());
        for (place, provision) in provisions.into_iter().enumerate() {
            let when = if place == last { ProvisionWhen::Completed } else { ProvisionWhen::Created };
            planned.push(self.planned_provision(address, provision, when));
        }
        let mut agenda = self.agenda();
        let result = agenda.reserve();
        planned[last].result = Some(result);
        agenda.provisions.insert(address.clone(), planned);
        Some(Origin::after(result))
    }

    /// The provisioners that run before a delete, in order. As in OpenTofu, a tainted object has none, because its
    /// creation may not have finished.
    ///
    /// # Errors
    /// Returns an error for each provisioner that does not exist.
    pub(crate) fn farewell(
        &self,
        address: &ResourceInstance,
        prior: &Prior,
    ) -> Result<Vec<PlannedProvision>, Problems> {
        if prior.tainted {
            return Ok(Vec::new());
        }
        let facts = &self.facts;
        let found =
            facts.declared.provisions_before_destroy(address, &prior.value, &facts.environment, &facts.counters)?;
        Ok(found.into_iter().map(|one| self.planned_provision(address, one, ProvisionWhen::Deleting)).collect())
    }

    fn planned_provision(
        &self,
        address: &ResourceInstance,
        provision: Provision,
        when: ProvisionWhen,
    ) -> PlannedProvision {
        let Provision { kind, continues, config, range } = provision;
        let config = self.impure_apart(address, config);
        let waits = config.deep_origin();
        PlannedProvision { result: None, kind, when, continues, config: config.to_formula(), range, waits }
    }
}
