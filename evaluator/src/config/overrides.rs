//! Override files: what they say replaces what the other files of the module say.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_syntax::{Attribute, Block, Tree};

use super::BodySource;
use super::compile::Compiling;
use super::content::{FoundBlock, Layer};
use super::literal::literal_string;

/// What an override must find below it, and how the lack of it is called.
fn missing_base(block_type: &str) -> Option<&'static str> {
    Some(match block_type {
        "variable" => "Missing base variable declaration to override",
        "output" => "Missing base output definition to override",
        "module" => "Missing module call to override",
        "resource" => "Missing resource to override",
        "data" => "Missing data resource to override",
        "ephemeral" => "Missing ephemeral resource to override",
        "provider" => "Missing base provider configuration for override",
        _ => return None,
    })
}

/// The alias of a provider block.
fn alias_of(block: &FoundBlock) -> Option<SmolStr> {
    let attribute = block.tree.body(block.body).attribute("alias")?;
    literal_string(&block.tree.expression(attribute.expression))
}

impl Compiling<'_> {
    /// Lays blocks of override files over those that they are about. What comes back is about no block as a whole.
    pub(super) fn lay_over(&mut self, base: &mut Vec<FoundBlock>, above: Vec<FoundBlock>) -> Vec<FoundBlock> {
        let mut rest = Vec::new();
        let name = |block: &FoundBlock| {
            let labels: Vec<SmolStr> = block.labels.iter().map(|(text, _)| text.clone()).collect();
            let alias = if block.block_type == "provider" { alias_of(block) } else { None };
            (block.block_type, labels, alias)
        };
        let places: BTreeMap<_, usize> = base.iter().enumerate().rev().map(|(at, block)| (name(block), at)).collect();
        for block in above {
            let Some(summary) = missing_base(block.block_type) else {
                rest.push(block);
                continue;
            };
            let key = name(&block);
            match places.get(&key).and_then(|at| base.get_mut(*at)) {
                Some(below) => {
                    if let Some(found) = block.tree.body(block.body).attribute("depends_on")
                        && block.block_type != "output"
                    {
                        let at = block.tree.range(found.name.span);
                        self.error("Unsupported override", "The depends_on argument may not be overridden.", &at);
                    }
                    below.layers.push(Layer { tree: block.tree.clone(), body: block.body });
                }
                // The default configuration of a provider need not be written anywhere else.
                None if block.block_type == "provider" && key.2.is_none() => base.push(block),
                None => self.error(
                    summary,
                    format!(
                        "There is no {} block {} in the other files of this module that this could override.",
                        block.block_type,
                        key.1.join(".")
                    ),
                    &block.range,
                ),
            }
        }
        rest
    }

    /// Blocks of override files that are about parts of others.
    pub(super) fn override_rest(&mut self, rest: &[FoundBlock]) {
        for block in rest {
            match block.block_type {
                "locals" => self.override_locals(block),
                "terraform" => {
                    let body = block.tree.body(block.body);
                    if body.attribute("required_version").is_some() {
                        self.module.required_versions.clear();
                    }
                    if body.blocks.iter().any(|inner| matches!(inner.block_type.text.as_str(), "backend" | "cloud")) {
                        self.module.backend = None;
                    }
                    // Each entry is replaced for itself.
                    self.requirements = None;
                    self.block(block);
                }
                other => self.error(
                    &format!("Cannot override '{other}' blocks"),
                    format!("Blocks of type {other:?} cannot stand in override files."),
                    &block.range,
                ),
            }
        }
    }

    fn override_locals(&mut self, block: &FoundBlock) {
        let tree = &block.tree;
        for attribute in &tree.body(block.body).attributes {
            let name = &attribute.name.text;
            if self.module.locals.remove(name).is_none() {
                self.error(
                    "Missing base local value definition to override",
                    format!("There is no local value {name:?} in the other files of this module."),
                    &tree.range(attribute.span),
                );
                continue;
            }
            self.local(tree, attribute);
        }
    }
}

impl BodySource {
    /// The arguments that count, those of override files in place of what they override.
    pub fn attributes(&self) -> Vec<(Arc<Tree>, Attribute)> {
        let mut found: Vec<(Arc<Tree>, Attribute)> = Vec::new();
        for (tree, body) in self.bodies() {
            for attribute in &tree.body(body).attributes {
                if self.taken_attributes.contains(&attribute.name.text.as_str()) {
                    continue;
                }
                let below = match self.layers.is_empty() {
                    true => None,
                    false => found.iter_mut().find(|(_, below)| below.name.text == attribute.name.text),
                };
                match below {
                    Some(below) => *below = (tree.clone(), attribute.clone()),
                    None => found.push((tree.clone(), attribute.clone())),
                }
            }
        }
        found
    }

    /// The blocks that count. Blocks of a type in an override file take the place of all blocks of this type.
    pub fn blocks(&self) -> Vec<(Arc<Tree>, Block)> {
        let made = |block: &Block| match block.labels.first() {
            Some(label) if block.block_type.text == "dynamic" => label.text.clone(),
            _ => block.block_type.text.clone(),
        };
        let mut found: Vec<(Arc<Tree>, Block)> = Vec::new();
        for (tree, body) in self.bodies() {
            let here: Vec<&Block> = tree
                .body(body)
                .blocks
                .iter()
                .filter(|block| !self.taken_blocks.contains(&block.block_type.text.as_str()))
                .collect();
            if !found.is_empty() {
                found.retain(|(_, below)| !here.iter().any(|above| made(above) == made(below)));
            }
            found.extend(here.into_iter().map(|block| (tree.clone(), block.clone())));
        }
        found
    }

    fn bodies(&self) -> impl Iterator<Item = (Arc<Tree>, weft_syntax::BodyId)> {
        let base = std::iter::once((self.tree.clone(), self.body));
        base.chain(self.layers.iter().map(|layer| (layer.tree.clone(), layer.body)))
    }
}
