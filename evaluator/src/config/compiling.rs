//! The state of a module while its blocks are read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Body, BodyId, Expression, Tree};

use super::content::{BlockContent, ContentRules, FoundBlock, OverrideBody, read_block, read_body};
use super::{BodySource, CompiledModule, problems};
use crate::reference::{Reference, references_of};

/// The type of escaping blocks: names in them are arguments of the provider, not meta-arguments.
pub(super) const ESCAPE: &str = "_";

/// A module while its blocks are read.
pub(super) struct Compiling<'a> {
    pub(super) module: CompiledModule,
    /// Problems of single blocks, and of all variables and local values.
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    /// Problems that only appear when all blocks are combined. Commands that only need the location of the state ignore
    /// these problems.
    pub(super) together: Vec<Diagnostic>,
    /// Whether an override block is read on its own. Such a block may be incomplete.
    pub(super) overriding: bool,
    /// The first `required_providers` block.
    pub(super) requirements: Option<SourceRange>,
    /// Blocks that are not part of the module because a required argument is missing. Their names still count as used.
    pub(super) unfinished: BTreeMap<(&'static str, SmolStr), SourceRange>,
}

impl Compiling<'_> {
    /// Adds a problem of one block.
    pub(super) fn report(&mut self, problem: Diagnostic) {
        self.diagnostics.push(problem);
    }

    /// Adds a problem that only appears when the blocks of all files are combined.
    pub(super) fn report_together(&mut self, problem: Diagnostic) {
        self.together.push(problem);
    }

    /// The number of errors so far.
    pub(super) fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|problem| problem.is_error()).count()
    }

    pub(super) fn content(&mut self, block: &FoundBlock, rules: &ContentRules) -> BlockContent {
        match self.overriding {
            true => read_body(&block.tree, block.body, rules, self.diagnostics),
            false => read_block(block, rules, &block.missing(), self.diagnostics),
        }
    }

    pub(super) fn body_source(
        &self,
        block: &FoundBlock,
        taken_attributes: &'static [&'static str],
        taken_blocks: &'static [&'static str],
    ) -> BodySource {
        BodySource {
            tree: block.tree.clone(),
            body: block.body,
            layers: block.layers.clone(),
            escaped: Vec::new(),
            taken_attributes,
            taken_blocks,
            range: block.range.clone(),
        }
    }

    /// The body of the escaping block among these blocks. At most one escaping block is allowed.
    pub(super) fn escaped(&mut self, blocks: &[FoundBlock]) -> Vec<OverrideBody> {
        let mut escaping = blocks.iter().filter(|block| block.block_type == ESCAPE);
        let Some(first) = escaping.next() else { return Vec::new() };
        for second in escaping {
            self.report(problems::declarations::second_escape(&first.range, &second.range));
        }
        vec![OverrideBody { tree: first.tree.clone(), body: first.body, range: first.range.clone() }]
    }

    /// Checks that a name is an identifier.
    pub(super) fn identifier(&mut self, label: &(SmolStr, SourceRange), what: &str) -> bool {
        let valid = weft_syntax::is_identifier(&label.0);
        if !valid {
            self.report(problems::declarations::invalid_name(what, &label.1));
        }
        valid
    }

    /// Reports a second declaration of a variable or local value.
    pub(super) fn duplicate_value(&mut self, what: &str, name: &str, first: &SourceRange, second: &SourceRange) {
        self.report(problems::declarations::duplicate(what, name, first, second));
    }

    /// Reports a second declaration of a name.
    pub(super) fn duplicate(&mut self, what: &str, name: &str, first: &SourceRange, second: &SourceRange) {
        self.report_together(problems::declarations::duplicate(what, name, first, second));
    }

    /// Records a block that lacks a required argument.
    pub(super) fn unfinished(&mut self, what: &'static str, name: SmolStr, at: &SourceRange) {
        self.unfinished.entry((what, name)).or_insert_with(|| at.clone());
    }

    /// The range of an earlier block with this name that lacks a required argument.
    pub(super) fn unfinished_before(&self, what: &'static str, name: &SmolStr) -> Option<SourceRange> {
        self.unfinished.get(&(what, name.clone())).cloned()
    }

    /// The references of an expression. Invalid references are recorded, and reported when references are checked.
    pub(super) fn references(&mut self, expression: &Expression) -> Vec<Reference> {
        references_of(expression, &mut self.module.invalid_references)
    }

    /// Reads a body with every name as an argument.
    pub(super) fn arguments<'tree>(&mut self, tree: &'tree Tree, body: BodyId) -> Cow<'tree, Body> {
        let weft_syntax::BodyView { body, problems } = tree.arguments(body, &|_| false);
        self.diagnostics.extend(problems);
        body
    }

    /// Like [`Compiling::arguments`], for a body that cannot have nested blocks. As in OpenTofu, only the first nested
    /// block is reported. `owner` is the type of the block that has the body.
    pub(super) fn only_arguments<'tree>(&mut self, tree: &'tree Tree, body: BodyId, owner: &str) -> Cow<'tree, Body> {
        let body = self.arguments(tree, body);
        if let Some(inner) = body.blocks.first() {
            let at = tree.range(inner.block_type.span);
            self.report(problems::declarations::nested_block(&inner.block_type.text, owner, at));
        }
        body
    }
}
