//! `mock_provider` blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::ResourceMode;

use super::{GivenValues, MockBlock, OverrideResource};
use crate::config::compiling::Compiling;
use crate::config::content::rule;
use crate::config::content::{ContentRules, FoundBlock};
use crate::config::literal::optional;
use crate::config::{ProviderBlock, ProviderName, problems};

const MOCK: ContentRules = ContentRules {
    attributes: &[optional("alias"), optional("for_each")],
    blocks: &[
        rule("mock_resource", &["type"]),
        rule("mock_data", &["type"]),
        rule("override_resource", &[]),
        rule("override_data", &[]),
    ],
    open: false,
};

const TYPE: ContentRules = ContentRules { attributes: &[optional("defaults")], blocks: &[], open: false };

impl Compiling<'_> {
    /// Reads a `mock_provider` block.
    pub(super) fn mock_provider(&mut self, block: &FoundBlock, mocks: &mut BTreeMap<ProviderName, Arc<MockBlock>>) {
        let before = self.errors();
        let content = self.content(block, &MOCK);
        let local_name = block.labels[0].0.clone();
        if !self.normalised_provider(&local_name, &block.range) {
            return;
        }
        let alias = content.get("alias").and_then(|given| {
            let text = self.text(Some(given)).unwrap_or_default();
            if !weft_syntax::is_identifier(&text) {
                self.report(problems::test_mocks::invalid_alias(given.range()));
            }
            Some(SmolStr::new(text)).filter(|text| !text.is_empty())
        });
        let for_each = content.get("for_each").cloned();
        if let (Some(expression), None) = (&for_each, &alias) {
            self.report(problems::test_mocks::for_each_without_alias(expression.range()));
        }
        let types = self.mocked_types(block, &content.blocks);
        let resources = self.mocked_resources(block, &content.blocks);
        if self.errors() > before {
            return;
        }
        let name = (local_name.clone(), alias.clone());
        if mocks.contains_key(&name) {
            self.report(problems::test_mocks::second_mock(&block.range));
            return;
        }
        let references = for_each.iter().flat_map(|expression| self.references(expression)).collect();
        let source = self.body_source(block, &["alias", "for_each"], &[]);
        let provider = ProviderBlock {
            local_name,
            alias,
            for_each,
            version: None,
            body: source,
            is_empty: true,
            is_mock: true,
            references,
            range: block.range.clone(),
        };
        mocks.insert(name, Arc::new(MockBlock { block: Arc::new(provider), types, resources }));
    }

    fn mocked_types(
        &mut self,
        mock: &FoundBlock,
        blocks: &[FoundBlock],
    ) -> BTreeMap<(ResourceMode, SmolStr), Arc<GivenValues>> {
        let mut types = BTreeMap::new();
        for inner in blocks {
            let mode = match inner.block_type {
                "mock_resource" => ResourceMode::Managed,
                "mock_data" => ResourceMode::Data,
                _ => continue,
            };
            let content = self.content(inner, &TYPE);
            let values = self.given_values(&content, "defaults");
            let name = inner.labels[0].0.clone();
            if types.contains_key(&(mode, name.clone())) {
                self.report(problems::test_mocks::second_type(inner.block_type, &name, &mock.range));
                continue;
            }
            types.insert((mode, name), Arc::new(values));
        }
        types
    }

    fn mocked_resources(&mut self, mock: &FoundBlock, blocks: &[FoundBlock]) -> Vec<OverrideResource> {
        let mut found: Vec<OverrideResource> = Vec::new();
        for inner in blocks.iter().filter(|inner| inner.block_type.starts_with("override_")) {
            let Some(one) = self.override_resource(inner) else { continue };
            if found.iter().any(|other| other.target == one.target) {
                let target = one.target.to_string();
                self.report(problems::test_mocks::second_override(inner.block_type, &target, &mock.range));
                continue;
            }
            found.push(one);
        }
        found
    }
}
