//! Reads bodies whose arguments are fixed by the language. Reports missing and unsupported arguments and blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Block, BodyId, Expression, NameRole, Tree};

use super::problems;
use crate::problems::{missing_argument, unsupported_argument, unsupported_block};

/// An argument of a body.
#[derive(Clone, Copy, Debug)]
pub struct AttributeRule {
    /// Its name.
    pub name: &'static str,
    /// Whether the argument is required.
    pub required: bool,
}

/// A block type of a body.
#[derive(Clone, Copy, Debug)]
pub struct BlockRule {
    /// Its type.
    pub name: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
}

/// A block type with these labels.
pub(super) const fn rule(name: &'static str, labels: &'static [&'static str]) -> BlockRule {
    BlockRule { name, labels }
}

/// The arguments and blocks of a body.
#[derive(Clone, Copy, Debug)]
pub struct ContentRules {
    /// Arguments.
    pub attributes: &'static [AttributeRule],
    /// Block types.
    pub blocks: &'static [BlockRule],
    /// Whether other content is allowed, because another reader handles it.
    pub open: bool,
}

impl ContentRules {
    /// The role of a name in the body.
    pub(crate) fn role(&self, name: &str) -> NameRole<'static> {
        if self.attributes.iter().any(|rule| rule.name == name) {
            return NameRole::Argument;
        }
        match self.blocks.iter().find(|rule| rule.name == name) {
            Some(rule) => NameRole::Block(rule.labels),
            None if self.open => NameRole::Hidden,
            None => NameRole::Unknown,
        }
    }
}

/// A body of an override file. Its content replaces content of the overridden body.
#[derive(Clone, Debug)]
pub struct OverrideBody {
    /// The override file.
    pub(crate) tree: Arc<Tree>,
    /// The body in the override file.
    pub(crate) body: BodyId,
    /// The range of the type and the labels of its block.
    pub(crate) range: SourceRange,
}

/// A block that was read by rules.
#[derive(Clone, Debug)]
pub struct FoundBlock {
    /// The file of the block.
    pub(crate) tree: Arc<Tree>,
    /// The bodies of override files, in order.
    pub layers: Vec<OverrideBody>,
    /// Its type.
    pub block_type: &'static str,
    /// Its labels.
    pub labels: Vec<(SmolStr, SourceRange)>,
    /// Its body.
    pub(crate) body: BodyId,
    /// The range of the type and the labels.
    pub range: SourceRange,
}

impl FoundBlock {
    /// The source range for diagnostics about a missing argument.
    pub fn missing(&self) -> SourceRange {
        missing_place(&self.tree, self.body, &self.range)
    }
}

/// The source range for diagnostics about a missing argument of a body: the header of its block, unless the syntax has
/// a better position.
pub(crate) fn missing_place(tree: &Tree, body: BodyId, header: &SourceRange) -> SourceRange {
    tree.missing_span(body).map_or_else(|| header.clone(), |span| tree.range(span))
}

/// The content of a body.
#[derive(Clone, Debug)]
pub struct BlockContent {
    /// Arguments by name.
    pub attributes: BTreeMap<SmolStr, FoundAttribute>,
    /// Blocks in order.
    pub blocks: Vec<FoundBlock>,
}

/// An argument.
#[derive(Clone, Debug)]
pub struct FoundAttribute {
    /// Its value.
    pub(crate) value: Expression,
    /// The range of the name.
    pub name_range: SourceRange,
    /// The range of the definition.
    pub range: SourceRange,
}

impl BlockContent {
    /// The value of an argument.
    pub(crate) fn get(&self, name: &str) -> Option<&Expression> {
        self.attributes.get(name).map(|a| &a.value)
    }
}

/// Reads a block by its rules, with its overrides. `missing` is the source range for diagnostics about missing
/// arguments.
pub fn read_block(
    block: &FoundBlock,
    rules: &ContentRules,
    missing: &SourceRange,
    diagnostics: &mut Vec<Diagnostic>,
) -> BlockContent {
    let mut found = read_body(&block.tree, block.body, rules, diagnostics);
    for layer in &block.layers {
        let over = read_body(&layer.tree, layer.body, rules, diagnostics);
        found.attributes.extend(over.attributes.into_iter().filter(|(name, above)| overrides(name, &above.value)));
        for inner in over.blocks {
            let base = found.blocks.iter().any(|base| base.block_type == inner.block_type);
            if inner.block_type == "lifecycle" && !base {
                refuse_conditions(&inner, diagnostics);
            }
            if CONDITIONS.contains(&inner.block_type) {
                diagnostics.push(problems::body::condition_overridden(inner.block_type, inner.range));
                continue;
            }
            // Arguments of a `lifecycle` block are overridden one by one. Other blocks are replaced as a whole.
            let base =
                found.blocks.iter_mut().find(|base| base.block_type == "lifecycle" && inner.block_type == "lifecycle");
            match base {
                Some(base) => base.layers.push(OverrideBody { tree: inner.tree, body: inner.body, range: inner.range }),
                None => {
                    found
                        .blocks
                        .retain(|base| base.block_type != inner.block_type || Arc::ptr_eq(&base.tree, &layer.tree));
                    found.blocks.push(inner);
                }
            }
        }
    }
    require(&found, rules, missing, diagnostics);
    found
}

/// Blocks that are not allowed in override files.
const CONDITIONS: [&str; 3] = ["validation", "precondition", "postcondition"];

/// Reports conditions in a `lifecycle` block of an override file if the overridden block has no `lifecycle` block.
fn refuse_conditions(lifecycle: &FoundBlock, diagnostics: &mut Vec<Diagnostic>) {
    let tree = &lifecycle.tree;
    let role = |name: &str| if CONDITIONS.contains(&name) { NameRole::Block(&[]) } else { NameRole::Hidden };
    for block in &tree.content(lifecycle.body, &role).body.blocks {
        let name = block.block_type.text.as_str();
        if CONDITIONS.contains(&name) {
            diagnostics.push(problems::body::condition_overridden(name, tree.range(block.block_type.span)));
        }
    }
}

/// Whether an argument of an override file applies. As in OpenTofu, some arguments can be replaced but not emptied, and
/// some cannot be overridden.
fn overrides(name: &str, above: &Expression) -> bool {
    match name {
        "depends_on" | "ignore_changes" => above.as_list().is_none_or(|items| !items.is_empty()),
        "providers" => above.as_map().is_none_or(|entries| !entries.is_empty()),
        "replace_triggered_by" | "enabled" => false,
        _ => true,
    }
}

/// Reads a body by its rules. `missing` is the source range for diagnostics about missing arguments.
pub(crate) fn read_content(
    tree: &Arc<Tree>,
    body: BodyId,
    rules: &ContentRules,
    missing: &SourceRange,
    diagnostics: &mut Vec<Diagnostic>,
) -> BlockContent {
    let found = read_body(tree, body, rules, diagnostics);
    require(&found, rules, missing, diagnostics);
    found
}

/// Reports missing required arguments.
fn require(found: &BlockContent, rules: &ContentRules, missing: &SourceRange, diagnostics: &mut Vec<Diagnostic>) {
    for rule in rules.attributes.iter().filter(|rule| rule.required) {
        if !found.attributes.contains_key(rule.name) {
            diagnostics.push(missing_argument(rule.name, missing));
        }
    }
}

/// Reads a body in which no argument is required.
pub(super) fn read_body(
    tree: &Arc<Tree>,
    body: BodyId,
    rules: &ContentRules,
    diagnostics: &mut Vec<Diagnostic>,
) -> BlockContent {
    let mut found = BlockContent { attributes: BTreeMap::new(), blocks: Vec::new() };
    let weft_syntax::BodyView { body, problems } = tree.content(body, &|name| rules.role(name));
    diagnostics.extend(problems);
    for attribute in &body.attributes {
        let name = attribute.name.text.as_str();
        if rules.attributes.iter().any(|rule| rule.name == name) {
            found.attributes.insert(
                attribute.name.text.clone(),
                FoundAttribute {
                    value: tree.expression(attribute.expression),
                    name_range: tree.range(attribute.name.span),
                    range: tree.range(attribute.span),
                },
            );
        } else if !rules.open {
            let arguments = rules.attributes.iter().map(|a| a.name);
            diagnostics.push(unsupported_argument(tree, attribute, arguments, rules.blocks.iter().map(|b| b.name)));
        }
    }
    for block in &body.blocks {
        let name = block.block_type.text.as_str();
        match rules.blocks.iter().find(|rule| rule.name == name) {
            Some(rule) => {
                if let Some(block) = read_labels(tree, block, rule, diagnostics) {
                    found.blocks.push(block);
                }
            }
            None if rules.open => {}
            None => {
                let arguments = rules.attributes.iter().map(|a| a.name);
                let blocks = rules.blocks.iter().map(|b| b.name);
                let at = tree.range(block.block_type.span);
                diagnostics.push(unsupported_block(name, arguments, blocks, at));
            }
        }
    }
    found
}

fn read_labels(
    tree: &Arc<Tree>,
    block: &Block,
    rule: &BlockRule,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<FoundBlock> {
    let wanted = rule.labels;
    if let Some(extra) = block.labels.get(wanted.len()) {
        diagnostics.push(problems::body::extraneous_label(rule.name, wanted, tree.range(extra.span)));
        return None;
    }
    if let Some(missing) = wanted.get(block.labels.len()) {
        let (header, at) = (tree.range(block.header_span), tree.range(block.open_span));
        diagnostics.push(problems::body::missing_label((rule.name, wanted), missing, header, at));
        return None;
    }
    Some(FoundBlock {
        tree: tree.clone(),
        layers: Vec::new(),
        block_type: rule.name,
        labels: block.labels.iter().map(|l| (l.text.clone(), tree.range(l.span))).collect(),
        body: block.body,
        range: tree.range(block.header_span),
    })
}
