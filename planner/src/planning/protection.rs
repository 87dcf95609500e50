//! `prevent_destroy`: objects that must stay.

use std::collections::BTreeSet;

use weft_evaluator::glue::Protection;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::Planning;

/// The summary where it is nothing that it can be.
const UNFIT: &str = "Invalid value for prevent_destroy";

impl Planning {
    /// Reports what can be told to be wrong with the `prevent_destroy` of a resource whatever happens to its objects.
    pub(crate) fn check_protection(&self, protection: &Protection) {
        let problem = match &protection.of_instances {
            Some((name, at)) => Diagnostic::error(
                "Invalid reference in prevent_destroy",
                format!(
                    "prevent_destroy holds for objects too whose instance is gone, so it cannot depend on {name}, which \
                     only instances have."
                ),
            )
            .at(at.clone()),
            None => match unfit(&protection.value) {
                Some(detail) => Diagnostic::error(UNFIT, detail).at(protection.at.clone()),
                None => return,
            },
        };
        let mut said = self.diagnostics.lock();
        if !said.contains(&problem) {
            said.push(problem);
        }
    }

    /// Reports an error when the resource of an object that is to go says that it must stay, or does not say it
    /// clearly. The change stays in the plan, which shows what would have happened.
    pub(crate) fn heed_protection(&self, address: &ResourceInstance, what: &str) {
        let Some(protection) = self.protection(address) else { return };
        if protection.of_instances.is_some() || unfit(&protection.value).is_some() {
            return self.check_protection(&protection);
        }
        let problem = match prevents(&protection) {
            Ok(false) => return,
            Ok(true) => Diagnostic::error(
                "Resource instance cannot be destroyed",
                format!(
                    "Resource instance {address} has prevent_destroy set, but the plan calls for it to be {what}. Take \
                     prevent_destroy out of its lifecycle block, or leave the object as it is."
                ),
            )
            .at(protection.range),
            Err(found) => {
                let detail = format!("The plan calls for {address} to be {what}, and its prevent_destroy {found}.");
                Diagnostic::error(UNFIT, detail).at(protection.at)
            }
        };
        self.refused.lock().push((address.clone(), problem));
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
        let at = block.lifecycle.prevent_destroy.as_ref()?.range();
        let found = || Protection { value, at, range: block.range.clone(), of_instances: None };
        (!has_errors(&problems)).then(found)
    }
}

/// Why a value cannot say whether objects must stay, known or not.
fn unfit(value: &Value) -> Option<&'static str> {
    let (marks, _) = value.open();
    if !marks.is_empty() {
        return Some("The value is sensitive or ephemeral, which would show in whether the object stays.");
    }
    convert(value, &Type::Bool).err().map(|_| "The value is neither true nor false.")
}

fn prevents(protection: &Protection) -> Result<bool, &'static str> {
    if !protection.value.is_wholly_known() {
        return Err("is not known yet. Give it a value that is known when planning");
    }
    let value = convert(&protection.value, &Type::Bool).map_err(|_| "is neither true nor false")?;
    value.as_bool().ok_or("is null, and must be true or false")
}
