//! Compiles the files of one module.

use std::borrow::Cow;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Body, BodyId, Expression, Tree};

use super::content::{
    BlockContent, BlockRule, ContentRules, FoundBlock, OverrideBody, read_block, read_body, read_content,
};
use super::meta::references_of;
use super::{BodySource, CompiledModule, Local, problems};
use super::{call, check, import, moved, output, provider, removed, resource, terraform, variable};

pub(super) const fn rule(name: &'static str, labels: &'static [&'static str]) -> BlockRule {
    BlockRule { name, labels }
}

const TOP_LEVEL: ContentRules = ContentRules {
    attributes: &[],
    blocks: &[
        rule("terraform", &[]),
        rule("required_providers", &[]),
        rule("provider", &["name"]),
        rule("variable", &["name"]),
        rule("locals", &[]),
        rule("output", &["name"]),
        rule("module", &["name"]),
        rule("resource", &["type", "name"]),
        rule("data", &["type", "name"]),
        rule("ephemeral", &["type", "name"]),
        rule("moved", &[]),
        rule("removed", &[]),
        rule("import", &[]),
        rule("check", &["name"]),
        rule("language", &[]),
    ],
    open: false,
};

/// The module while its blocks are read.
pub(super) struct Compiling<'a> {
    pub(super) module: CompiledModule,
    /// Problems of single blocks, and of variables and local values together.
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    /// Problems of all blocks together. They do not matter to commands that only need the location of the state.
    pub(super) together: Vec<Diagnostic>,
    /// Set while an override block is read on its own. Such a block may be incomplete.
    pub(super) overriding: bool,
    /// The first `required_providers` block.
    pub(super) requirements: Option<SourceRange>,
}

/// The block types whose content has no meta-arguments.
pub(super) const ESCAPE: &str = "_";

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

    /// The body of the escaping block among these blocks. At most one is allowed.
    pub(super) fn escaped(&mut self, blocks: &[FoundBlock]) -> Vec<OverrideBody> {
        let mut escaping = blocks.iter().filter(|block| block.block_type == ESCAPE);
        let Some(first) = escaping.next() else { return Vec::new() };
        for second in escaping {
            self.report(problems::declarations::second_escape(&first.range, &second.range));
        }
        vec![OverrideBody { tree: first.tree.clone(), body: first.body }]
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

    /// The references of an expression. Invalid ones are recorded for the check of references.
    pub(super) fn references(&mut self, expression: &Expression) -> Vec<crate::reference::Reference> {
        references_of(expression, &mut self.module.invalid_references)
    }
}

/// Compiles all files of a module. The loader adds the children. The second value has the problems of all blocks
/// together.
pub(super) fn compile_module(
    path: Module,
    dir: &str,
    trees: &[Arc<Tree>],
    overrides: &[Arc<Tree>],
    diagnostics: &mut Vec<Diagnostic>,
) -> (CompiledModule, Vec<Diagnostic>) {
    let mut compiling = Compiling {
        module: CompiledModule { path, dir: dir.to_string(), ..CompiledModule::default() },
        diagnostics,
        together: Vec::new(),
        overriding: false,
        requirements: None,
    };
    let mut base: Vec<FoundBlock> = trees.iter().flat_map(|tree| compiling.top_level(tree)).collect();
    let above: Vec<FoundBlock> = overrides.iter().flat_map(|tree| compiling.top_level(tree)).collect();
    let rest = compiling.lay_over(&mut base, above);
    compiling.note_experiments(&base);
    if compiling.module.settings.experiments.provider_values {
        // Types can refer to providers.
        base.sort_by_key(|block| block.block_type != "terraform");
    }
    for block in &base {
        compiling.block(block);
    }
    compiling.override_rest(&rest);
    (compiling.module, compiling.together)
}

impl Compiling<'_> {
    fn top_level(&mut self, tree: &Arc<Tree>) -> Vec<FoundBlock> {
        let start = tree.range(weft_syntax::Span { start: 0, end: 0 });
        read_content(tree, tree.root_id(), &TOP_LEVEL, &start, self.diagnostics).blocks
    }

    pub(super) fn block(&mut self, block: &FoundBlock) {
        match block.block_type {
            "terraform" => terraform::terraform(self, block),
            "locals" => self.locals(block),
            "required_providers" => self.report(problems::declarations::required_providers_outside(&block.range)),
            "variable" => variable::variable(self, block),
            "output" => output::output(self, block),
            "module" => call::module_call(self, block),
            "provider" => provider::provider(self, block),
            "resource" | "data" | "ephemeral" => resource::resource(self, block),
            "moved" => moved::moved(self, block),
            "removed" => removed::removed(self, block),
            "import" => import::import(self, block),
            "check" => check::check(self, block),
            "language" => terraform::language(self, block),
            _ => {}
        }
    }

    fn locals(&mut self, block: &FoundBlock) {
        let tree = &block.tree;
        let body = self.arguments(tree, block.body);
        for inner in &body.blocks {
            let at = tree.range(inner.block_type.span);
            self.report(problems::declarations::block_in_locals(&inner.block_type.text, at));
        }
        for attribute in &body.attributes {
            self.local(tree, attribute);
        }
    }

    /// A body with every name as an argument.
    pub(super) fn arguments<'tree>(&mut self, tree: &'tree Tree, body: BodyId) -> Cow<'tree, Body> {
        let weft_syntax::BodyView { body, problems } = tree.arguments(body, &|_| false);
        self.diagnostics.extend(problems);
        body
    }

    /// One local value.
    pub(super) fn local(&mut self, tree: &Arc<Tree>, attribute: &weft_syntax::Attribute) {
        let name = attribute.name.text.clone();
        let range = tree.range(attribute.span);
        if !weft_syntax::is_identifier(&name) {
            let place = (name, tree.range(attribute.name.span));
            self.identifier(&place, "local value");
            return;
        }
        if let Some(first) = self.module.locals.get(&name) {
            let first = first.range.clone();
            self.duplicate_value("local value definition", &name, &first, &range);
            return;
        }
        let value = tree.expression(attribute.expression);
        let references = self.references(&value);
        self.module.locals.insert(name.clone(), Arc::new(Local { name, value, references, range }));
    }
}
