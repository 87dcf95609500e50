//! `override_resource`, `override_data` and `override_module` blocks.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_expressions::constant::evaluate_constant;
use weft_graph_format::address::{ConfigResource, InstanceKey, Module, ResourceMode};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::types::Type;
use weft_syntax::Expression;

use super::{GivenValues, OverrideModule, OverrideResource, Overrides};
use crate::config::compiling::Compiling;
use crate::config::content::{BlockContent, ContentRules, FoundBlock};
use crate::config::literal::{optional, required};
use crate::config::problems;
use crate::config::relative_address::{RelativeAddress, has_step_behind_resource, read_address, read_module};

const RESOURCE: ContentRules =
    ContentRules { attributes: &[required("target"), optional("values")], blocks: &[], open: false };

const MODULE: ContentRules =
    ContentRules { attributes: &[required("target"), optional("outputs")], blocks: &[], open: false };

/// The type of the block that overrides resources of a mode.
pub(super) fn block_type(mode: ResourceMode) -> &'static str {
    match mode {
        ResourceMode::Data => "override_data",
        ResourceMode::Managed | ResourceMode::Ephemeral => "override_resource",
    }
}

impl Compiling<'_> {
    /// Reads an override block of any of the three types.
    pub(super) fn overriding_block(&mut self, block: &FoundBlock, overrides: &mut Overrides) {
        match block.block_type {
            "override_module" => overrides.modules.extend(self.override_module(block)),
            _ => overrides.resources.extend(self.override_resource(block)),
        }
    }

    /// Reads an `override_resource` or `override_data` block. `None` if the block is invalid.
    pub(super) fn override_resource(&mut self, block: &FoundBlock) -> Option<OverrideResource> {
        let before = self.errors();
        let content = self.content(block, &RESOURCE);
        let mode = if block.block_type == "override_data" { ResourceMode::Data } else { ResourceMode::Managed };
        let address = self.target(&content);
        let values = self.given_values(&content, "values");
        let address = address?;
        let Some((resource, key)) = address.resource.clone() else {
            self.report(problems::test_mocks::target_not_a_resource(&address.range));
            return None;
        };
        if address.has_module_keys() {
            let example = "module.net.aws_vpc.main";
            self.report(problems::test_mocks::target_with_module_keys(example, &address.range));
        }
        if key != InstanceKey::None {
            self.report(problems::test_mocks::target_with_resource_key(&address.range));
        }
        let target = ConfigResource { module: address.module_from(&Module::root()), resource };
        let found = OverrideResource { target, mode, values: Arc::new(values), range: address.range };
        (self.errors() == before).then_some(found)
    }

    fn override_module(&mut self, block: &FoundBlock) -> Option<OverrideModule> {
        let before = self.errors();
        let content = self.content(block, &MODULE);
        let address = self.target_module(&content);
        let outputs = self.given_values(&content, "outputs");
        let address = address?;
        if address.has_module_keys() {
            self.report(problems::test_mocks::target_with_module_keys("module.net", &address.range));
        }
        let target = address.module_from(&Module::root());
        let found = OverrideModule { target, outputs, range: address.range };
        (self.errors() == before).then_some(found)
    }

    fn target_module(&mut self, content: &BlockContent) -> Option<RelativeAddress> {
        let given = content.get("target")?;
        let range = given.range();
        match read_module(given).unwrap_or_else(|| Err(problems::references::not_static(range.clone()))) {
            Ok(Some(module)) => return Some(RelativeAddress { module, resource: None, range }),
            Ok(None) => self.report(problems::test_mocks::target_not_a_module(&range)),
            Err(problem) => self.report(problem),
        }
        None
    }

    fn target(&mut self, content: &BlockContent) -> Option<RelativeAddress> {
        let given = content.get("target")?;
        match read_address(given).unwrap_or_else(|| Err(problems::references::not_static(given.range()))) {
            Ok(address) => Some(address),
            Err(_) if has_step_behind_resource(given) => {
                self.report(problems::test_mocks::target_with_resource_key(&given.range()));
                None
            }
            Err(problem) => {
                self.report(problem);
                None
            }
        }
    }

    /// The values of a literal object, which is the argument `name` of the block.
    pub(super) fn given_values(&mut self, content: &BlockContent, name: &str) -> GivenValues {
        let Some(found) = content.attributes.get(name) else { return GivenValues::new() };
        match self.written_object(&found.value) {
            Some(values) => values,
            None => {
                self.report(problems::test_mocks::values_not_an_object(name, found.range.clone()));
                GivenValues::new()
            }
        }
    }

    /// The values of a literal object. `None` if the value is not an object. Other problems are reported.
    fn written_object(&mut self, expression: &Expression) -> Option<GivenValues> {
        let (value, problems) = evaluate_constant(expression);
        if has_errors(&problems) {
            self.diagnostics.extend(problems);
            return Some(GivenValues::new());
        }
        match (value.ty(), value.as_fields()) {
            (Type::Object(_), Some(fields)) => Some(fields.to_map()),
            _ => None,
        }
    }
}

impl Overrides {
    /// The problems of overrides with the same target.
    pub fn duplicates(&self) -> Vec<Diagnostic> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let resources = self.resources.iter().map(|one| (one.block_type(), one.target.to_string(), &one.range));
        let modules = self.modules.iter().map(|one| ("override_module", one.target.to_string(), &one.range));
        for (block_type, target, range) in resources.chain(modules) {
            if !seen.insert(target.clone()) {
                found.push(problems::test_mocks::second_override(block_type, &target, range));
            }
        }
        found
    }
}
