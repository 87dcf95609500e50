//! `provider` blocks, and references to them.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Expression, Key, NameRole};

use super::BodySource;
use super::body_references::references_of_body;
use super::compiling::{Compiling, ESCAPE};
use super::content::{BlockContent, BlockRule, ContentRules, FoundBlock};
use super::literal::optional;
use super::problems;
use crate::reference::Reference;

/// Local name and alias of a provider configuration.
pub type ProviderName = (SmolStr, Option<SmolStr>);

/// A reference to a provider in a block: `aws`, `aws.west`, `aws.by_region[each.key]`.
#[derive(Clone, Debug)]
pub struct ProviderReference {
    /// Local name.
    pub local_name: SmolStr,
    /// Alias.
    pub alias: Option<SmolStr>,
    /// Key of the instance.
    pub(crate) key: Option<ProviderKey>,
    /// The range of the reference.
    pub range: SourceRange,
}

/// The key in a reference to a provider instance.
#[derive(Clone, Debug)]
pub(crate) enum ProviderKey {
    /// A literal key, as in `aws.by_region["eu-west-1"]`, with the range of the reference.
    Literal(Key, SourceRange),
    /// An expression, as in `aws.by_region[each.key]`.
    Computed(Expression),
}

impl ProviderKey {
    /// The range of the key.
    pub fn range(&self) -> SourceRange {
        match self {
            ProviderKey::Literal(_, range) => range.clone(),
            ProviderKey::Computed(expression) => expression.range(),
        }
    }
}

/// An entry of a `providers` argument.
#[derive(Clone, Debug)]
pub struct PassedProvider {
    /// Local name in the child.
    pub child_name: SmolStr,
    /// Alias in the child.
    pub child_alias: Option<SmolStr>,
    /// The range of the name in the child.
    pub child_range: SourceRange,
    /// The configuration in the caller. If `value` is set, only its range is meaningful.
    pub parent: ProviderReference,
    /// The value in the caller, if it is an expression.
    pub(crate) value: Option<Expression>,
}

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderBlock {
    /// Local name.
    pub local_name: SmolStr,
    /// The `alias` argument.
    pub alias: Option<SmolStr>,
    /// The `for_each` argument.
    pub(crate) for_each: Option<Expression>,
    /// `version`, which is deprecated.
    pub version: Option<SmolStr>,
    /// The arguments of the provider.
    pub body: BodySource,
    /// Whether the block has only meta-arguments.
    pub is_empty: bool,
    /// Whether a test mocks the provider. A mocked provider is not configured.
    pub is_mock: bool,
    /// The references of the block.
    pub references: Vec<Reference>,
    /// The header of the block.
    pub range: SourceRange,
}

const PROVIDER: ContentRules = ContentRules {
    attributes: &[
        optional("alias"),
        optional("version"),
        optional("for_each"),
        optional("count"),
        optional("depends_on"),
        optional("source"),
    ],
    blocks: &[
        BlockRule { name: "lifecycle", labels: &[] },
        BlockRule { name: "locals", labels: &[] },
        BlockRule { name: "_", labels: &[] },
    ],
    open: true,
};

const ARGUMENTS: &[&str] = &["alias", "version", "for_each", "count", "depends_on", "source"];
const BLOCKS: &[&str] = &["lifecycle", "locals", "_"];

/// Reads a `provider` block.
pub(super) fn provider(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let local_name = block.labels[0].0.clone();
    let content = compiling.content(block, &PROVIDER);
    if !compiling.normalised_provider(&local_name, &block.range) {
        return;
    }
    reserved_names(compiling, &content);
    let alias = content.get("alias").and_then(|given| alias(compiling, block, given));
    let for_each = content.get("for_each").cloned();
    if let (Some(expression), None) = (&for_each, &alias) {
        compiling.report(problems::provider::for_each_without_alias(expression.range()));
    }
    let version = version(compiling, &content);
    let key = (local_name, alias);
    if let Some(first) = compiling.module.providers.get(&key) {
        let problem = problems::provider::duplicate(&key.0, key.1.as_ref(), &first.range, &block.range);
        compiling.report_together(problem);
        return;
    }
    let mut body = compiling.body_source(block, ARGUMENTS, BLOCKS);
    body.escaped = compiling.escaped(&content.blocks);
    // All remaining names count as arguments, because the schema is not known here.
    let left = body.content(&|_| NameRole::Unknown);
    let is_empty = left.blocks.is_empty() && left.attributes.is_empty();
    let mut references = compiling.body_references(&body);
    if let Some(expression) = &for_each {
        references.extend(compiling.references(expression));
    }
    let found = ProviderBlock {
        local_name: key.0.clone(),
        alias: key.1.clone(),
        for_each,
        version,
        body,
        is_empty,
        is_mock: false,
        references,
        range: block.range.clone(),
    };
    compiling.module.providers.insert(key, Arc::new(found));
}

/// Reports reserved names of arguments and blocks.
fn reserved_names(compiling: &mut Compiling<'_>, content: &BlockContent) {
    for reserved in ["count", "depends_on", "source"] {
        if let Some(found) = content.attributes.get(reserved) {
            compiling.report(problems::provider::reserved_argument(reserved, found.name_range.clone()));
        }
    }
    for inner in content.blocks.iter().filter(|inner| inner.block_type != ESCAPE) {
        compiling.report(problems::provider::reserved_block(inner.block_type, &inner.range));
    }
}

/// The alias, which must be an identifier.
fn alias(compiling: &mut Compiling<'_>, block: &FoundBlock, expression: &Expression) -> Option<SmolStr> {
    let text = compiling.text(Some(expression)).map(SmolStr::from);
    if !text.as_ref().is_some_and(|t| weft_syntax::is_identifier(t)) {
        compiling.report(problems::provider::invalid_alias(&block.labels[0].0, &block.range.file));
    }
    text.filter(|text| !text.is_empty())
}

/// The version constraint. It is deprecated in `provider` blocks.
fn version(compiling: &mut Compiling<'_>, content: &BlockContent) -> Option<SmolStr> {
    let found = content.attributes.get("version")?;
    let version = compiling.version_text(&found.value);
    compiling.report(problems::provider::version_in_block(found.value.range()));
    version
}

impl Compiling<'_> {
    /// The references of a body. Invalid references are recorded, and reported when references are checked.
    pub(super) fn body_references(&mut self, body: &super::BodySource) -> Vec<crate::reference::Reference> {
        references_of_body(body, &mut self.module.invalid_references)
    }
}
