//! `prevent_destroy`: objects that must stay.

use std::collections::BTreeSet;

use weft_evaluator::glue::Protection;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::types::Type;

use super::Planning;

impl Planning {
    /// Reports an error when the resource of an object that is to go says that it must stay, or does not say it
    /// clearly. The change stays in the plan, which shows what would have happened.
    pub(crate) fn heed_protection(&self, address: &ResourceInstance, what: &str) {
        let Some(protection) = self.protection(address) else { return };
        let problem = match prevents(&protection) {
            Ok(false) => return,
            Ok(true) => Diagnostic::error(
                "Resource instance cannot be destroyed",
                format!(
                    "Resource instance {address} has prevent_destroy set, but the plan calls for it to be {what}. Take \
                     prevent_destroy out of its lifecycle block, or leave the object as it is."
                ),
            ),
            Err(found) => Diagnostic::error(
                "Invalid value for prevent_destroy",
                format!("The plan calls for {address} to be {what}, and its prevent_destroy {found}."),
            ),
        };
        self.refused.lock().push((address.clone(), problem.at(protection.range)));
    }

    /// In a plan to destroy, nothing is planned for what an object depends on that must stay: its turn never comes.
    pub(crate) fn stop_at_protected(&self, changes: &mut Vec<ResourceChange>) {
        let mut refused = self.refused.lock();
        if !self.options.destroy || refused.is_empty() {
            return;
        }
        let names = |address: &ResourceInstance| {
            let stored = self.stored(address);
            stored.into_iter().flat_map(|stored| stored.record.dependencies()).map(str::to_owned).collect::<Vec<_>>()
        };
        let kept: BTreeSet<String> = refused.iter().flat_map(|(address, _)| names(address)).collect();
        let goes_on = |address: &ResourceInstance| !kept.contains(&address.config().to_string());
        refused.retain(|(address, _)| goes_on(address));
        changes.retain(|change| goes_on(&change.address));
    }

    /// What protects an instance. Where its module instance is not there any more, what protects the same resource in
    /// another instance of the module does, or what the block says without any value.
    fn protection(&self, address: &ResourceInstance) -> Option<Protection> {
        let config = address.config();
        let protected = self.protected.lock();
        if let Some(found) = protected.get(&address.all()) {
            return Some(found.clone());
        }
        if self.resources.lock().contains_key(&address.all()) {
            return None;
        }
        let elsewhere = protected.iter().find(|(resource, _)| resource.config() == config);
        if let Some((_, found)) = elsewhere {
            return Some(found.clone());
        }
        let block = self.blocks.get(&config)?;
        let (value, problems) = evaluate_constant(block.lifecycle.prevent_destroy.as_ref()?);
        (!has_errors(&problems)).then(|| Protection { value, range: block.range.clone() })
    }
}

fn prevents(protection: &Protection) -> Result<bool, &'static str> {
    let (marks, _) = protection.value.open();
    if !marks.is_empty() {
        return Err("is sensitive or ephemeral, which would show in whether the object stays");
    }
    if !protection.value.is_wholly_known() {
        return Err("is not known yet. Give it a value that is known when planning");
    }
    let value = convert(&protection.value, &Type::Bool).map_err(|_| "is neither true nor false")?;
    value.as_bool().ok_or("is null, and must be true or false")
}
