//! Bodies that are decoded later, by a schema, with their overrides.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::source::SourceRange;
use weft_syntax::{Attribute, Block, Body, BodyId, BodyView, Expression, NameRole, Tree};

use super::content::{OverrideBody, missing_place};
use super::problems;

/// A body that is decoded later, without the arguments and blocks that have already been read.
#[derive(Clone, Debug)]
pub struct BodySource {
    /// The file.
    pub(crate) tree: Arc<Tree>,
    /// The body.
    pub(crate) body: BodyId,
    /// The bodies of override files, in order.
    pub layers: Vec<OverrideBody>,
    /// The bodies of escaping blocks (`_`). All their content belongs to the body, even names of meta-arguments.
    pub escaped: Vec<OverrideBody>,
    /// Arguments that have already been read.
    pub taken_attributes: &'static [&'static str],
    /// Block types that have already been read.
    pub taken_blocks: &'static [&'static str],
    /// The header of the block.
    pub range: SourceRange,
}

/// The content of a body.
#[derive(Debug, Default)]
pub struct BodyContent {
    /// The arguments. Arguments of override files replace those of the other files.
    pub(crate) attributes: Vec<(Arc<Tree>, Attribute)>,
    /// The blocks. Blocks of an override file replace all blocks of the same type.
    pub(crate) blocks: Vec<(Arc<Tree>, Block)>,
    /// Syntax problems of the body.
    pub problems: Vec<Diagnostic>,
}

impl BodySource {
    /// A nested body. Override files do not apply to it.
    pub(crate) fn inner(tree: &Arc<Tree>, body: BodyId, range: SourceRange) -> BodySource {
        let (layers, tree) = (Vec::new(), tree.clone());
        BodySource { tree, body, layers, escaped: Vec::new(), taken_attributes: &[], taken_blocks: &[], range }
    }

    /// This body, overridden by the content of `above`, as if `above` were in an override file.
    pub(crate) fn below(&self, above: &BodySource) -> BodySource {
        let own = OverrideBody { tree: above.tree.clone(), body: above.body, range: above.range.clone() };
        let layers = self.layers.iter().cloned().chain([own]).chain(above.layers.iter().cloned()).collect();
        let escaped = self.escaped.iter().chain(&above.escaped).cloned().collect();
        BodySource { layers, escaped, ..self.clone() }
    }

    /// The source range for diagnostics about missing content.
    pub fn missing(&self) -> SourceRange {
        missing_place(&self.tree, self.body, &self.range)
    }

    /// The range of the body, including its braces.
    pub fn whole(&self) -> SourceRange {
        self.tree.range(self.tree.body(self.body).span)
    }

    /// The content of the body. `role` returns the roles of its names.
    pub(crate) fn content(&self, role: &dyn Fn(&str) -> NameRole<'static>) -> BodyContent {
        let left = |name: &str| if self.is_taken(name) { NameRole::Hidden } else { role(name) };
        self.merged(&|tree, body, escaped| if escaped { tree.content(body, role) } else { tree.content(body, &left) })
    }

    /// The content of the body, with every name as an argument.
    pub fn arguments(&self) -> BodyContent {
        self.merged(&|tree, body, escaped| tree.arguments(body, &|name| !escaped && self.is_taken(name)))
    }

    /// The source range of a path in the decoded body: the value of an attribute, or the header of the block that
    /// contains the path.
    pub fn locate(&self, path: &Path) -> SourceRange {
        let tree = &self.tree;
        if let Some(value) = tree.body_value(self.body) {
            return locate_value(value, path, &self.missing());
        }
        let mut here = tree.body(self.body);
        let mut range = self.range.clone();
        let mut steps = path.0.iter().peekable();
        while let Some(step) = steps.next() {
            let ValueStep::Attribute(name) = step else { break };
            if let Some(attribute) = here.attribute(name) {
                let value = tree.expression(attribute.expression);
                let rest: Vec<&ValueStep> = steps.collect();
                let named =
                    |name: &SmolStr| here.attribute(name).map(|found| tree.expression(found.expression).range());
                return match rest.as_slice() {
                    [] => value.range(),
                    [ValueStep::Attribute(_), .., ValueStep::Attribute(last)] | [ValueStep::Attribute(last)] => {
                        // Like OpenTofu, treat all names but the last as blocks.
                        named(last).unwrap_or(range)
                    }
                    [step] => element(&value, step).unwrap_or(value).range(),
                    _ => range,
                };
            }
            let escaped =
                self.escaped.iter().find_map(|layer| Some((layer, layer.tree.body(layer.body).attribute(name)?)));
            if let Some((layer, attribute)) = escaped {
                return layer.tree.expression(attribute.expression).range();
            }
            let index = match steps.peek() {
                Some(ValueStep::Index(i)) => usize::try_from(*i).unwrap_or(usize::MAX),
                _ => 0,
            };
            let Some(block) = here.blocks_of(name).nth(index) else { break };
            if matches!(steps.peek(), Some(ValueStep::Index(_) | ValueStep::Key(_))) {
                steps.next();
            }
            // As in OpenTofu, a problem of a whole block is reported at the header of the surrounding body.
            if steps.peek().is_none() {
                break;
            }
            range = tree.range(block.header_span);
            here = tree.body(block.body);
        }
        range
    }

    fn is_taken(&self, name: &str) -> bool {
        self.taken_attributes.contains(&name) || self.taken_blocks.contains(&name)
    }

    fn merged(&self, read: &dyn for<'tree> Fn(&'tree Tree, BodyId, bool) -> BodyView<'tree>) -> BodyContent {
        let mut found = BodyContent::default();
        for (tree, id) in self.bodies() {
            let BodyView { body, problems } = read(tree, id, false);
            found.problems.extend(problems);
            self.add_attributes(&mut found, tree, &body);
            self.add_blocks(&mut found, tree, &body);
        }
        for OverrideBody { tree, body, .. } in &self.escaped {
            let BodyView { body, problems } = read(tree, *body, true);
            found.problems.extend(problems);
            add_escaped(&mut found, tree, &body);
        }
        found
    }

    fn add_attributes(&self, found: &mut BodyContent, tree: &Arc<Tree>, body: &Body) {
        for attribute in &body.attributes {
            if self.taken_attributes.contains(&attribute.name.text.as_str()) {
                continue;
            }
            let below = match self.layers.is_empty() {
                true => None,
                false => found.attributes.iter_mut().find(|(_, below)| below.name.text == attribute.name.text),
            };
            match below {
                Some(below) => *below = (tree.clone(), attribute.clone()),
                None => found.attributes.push((tree.clone(), attribute.clone())),
            }
        }
    }

    fn add_blocks(&self, found: &mut BodyContent, tree: &Arc<Tree>, body: &Body) {
        let made = |block: &Block| match block.labels.first() {
            Some(label) if block.block_type.text == "dynamic" => label.text.clone(),
            _ => block.block_type.text.clone(),
        };
        let taken = |block: &Block| self.taken_blocks.contains(&block.block_type.text.as_str());
        let here: Vec<&Block> = body.blocks.iter().filter(|block| !taken(block)).collect();
        if !found.blocks.is_empty() {
            found.blocks.retain(|(_, below)| !here.iter().any(|above| made(above) == made(below)));
        }
        found.blocks.extend(here.into_iter().map(|block| (tree.clone(), block.clone())));
    }

    fn bodies(&self) -> impl Iterator<Item = (&Arc<Tree>, BodyId)> {
        let base = std::iter::once((&self.tree, self.body));
        base.chain(self.layers.iter().map(|layer| (&layer.tree, layer.body)))
    }
}

/// An element of a list or object constructor.
fn element(value: &Expression, step: &ValueStep) -> Option<Expression> {
    match step {
        ValueStep::Index(index) => value.as_list()?.into_iter().nth(usize::try_from(*index).ok()?),
        ValueStep::Key(wanted) | ValueStep::Attribute(wanted) => {
            let mut entries = value.as_map()?.into_iter();
            entries
                .find(|(key, _)| key.text() == wanted || key.as_string_literal().as_ref() == Some(wanted))
                .map(|(_, v)| v)
        }
    }
}

/// Adds the content of an escaping block. Arguments that are already present are reported as duplicates.
fn add_escaped(found: &mut BodyContent, tree: &Arc<Tree>, body: &Body) {
    for attribute in &body.attributes {
        match found.attributes.iter().find(|(_, first)| first.name.text == attribute.name.text) {
            Some((other, first)) => {
                let place = other.range(first.name.span);
                let at = tree.range(attribute.name.span);
                found.problems.push(problems::body::duplicate_argument(&first.name.text, &place, at));
            }
            None => found.attributes.push((tree.clone(), attribute.clone())),
        }
    }
    found.blocks.extend(body.blocks.iter().map(|block| (tree.clone(), block.clone())));
}

/// The source range of the value at a path in a body of the JSON syntax. If part of the path is not written literally,
/// the range of the last literal part.
fn locate_value(body: Expression, path: &Path, whole: &SourceRange) -> SourceRange {
    let mut here = body;
    let mut range = whole.clone();
    for step in &path.0 {
        let next = match step {
            ValueStep::Attribute(name) | ValueStep::Key(name) => here
                .as_map()
                .and_then(|entries| entries.into_iter().find(|(key, _)| key.as_json_string().as_ref() == Some(name)))
                .map(|(_, value)| value),
            ValueStep::Index(index) => match here.as_list() {
                Some(items) => usize::try_from(*index).ok().and_then(|index| items.into_iter().nth(index)),
                // In the JSON syntax, a single block needs no array.
                None => Some(here.clone()),
            },
        };
        let Some(next) = next else { break };
        here = next;
        range = here.range();
    }
    range
}
