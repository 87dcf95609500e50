//! Test files: what `*.tftest.hcl` and `*.tofutest.hcl` (or their JSON forms) declare, read once.
//!
//! Reading order: a [`TestFile`] is a list of [`TestRun`]s with what counts for all of them; [`overrides`] are the values
//! that stand in for single resources and modules, [`mocks`] those for whole providers; [`finding`] lists the files of a
//! directory and reads them.

mod finding;
mod mocks;
mod overrides;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, Module, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::ModuleSource;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;
use weft_syntax::{Expression, Tree};

pub use finding::{FoundTests, find_tests};

use super::compile::{Compiling, rule};
use super::content::{ContentRules, FoundBlock, read_content};
use super::{CompiledModule, Condition, PassedProvider, ProviderBlock, provider};
use crate::reference::Reference;

/// Values of attributes, by name.
pub type GivenValues = BTreeMap<SmolStr, Value>;

/// Local name and alias of a provider configuration.
pub type ProviderName = (SmolStr, Option<SmolStr>);

/// A test file.
#[derive(Clone, Debug, Default)]
pub struct TestFile {
    /// Its path, as everything names it.
    pub name: SmolStr,
    /// Values of variables for all runs.
    pub variables: BTreeMap<SmolStr, Expression>,
    /// `provider` blocks.
    pub providers: BTreeMap<ProviderName, Arc<ProviderBlock>>,
    /// `mock_provider` blocks.
    pub mocks: BTreeMap<ProviderName, Arc<MockBlock>>,
    /// What stands in for resources and modules in all runs.
    pub overrides: Overrides,
    /// `run` blocks in order.
    pub runs: Vec<Arc<TestRun>>,
}

/// What a run does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestCommand {
    /// Plans and carries the plan out.
    #[default]
    Apply,
    /// Plans only.
    Plan,
}

/// A `run` block.
#[derive(Clone, Debug)]
pub struct TestRun {
    /// Its name.
    pub name: SmolStr,
    /// `command`
    pub command: TestCommand,
    /// `plan_options`
    pub options: TestOptions,
    /// Values of variables for this run alone.
    pub variables: BTreeMap<SmolStr, Expression>,
    /// `providers`, where it says which there are.
    pub providers: Vec<PassedProvider>,
    /// `module`: what is tested in place of the configuration.
    pub module: Option<TestModule>,
    /// `assert` blocks in order.
    pub asserts: Vec<Condition>,
    /// `expect_failures`
    pub expected: Vec<ExpectedFailure>,
    /// What stands in for resources and modules in this run.
    pub overrides: Overrides,
    /// Header of the block.
    pub range: SourceRange,
}

impl TestRun {
    /// What is wrong with it beside what was said when it was read.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = self.expected.iter().filter_map(|one| one.problem.clone()).collect();
        found.extend(self.overrides.duplicates());
        found
    }
}

/// `plan_options`
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// `mode = refresh-only`
    pub refresh_only: bool,
    /// `refresh`
    pub refresh: bool,
    /// `replace`: addresses as text, and where they stand.
    pub replace: Vec<(SmolStr, SourceRange)>,
    /// `target`
    pub target: Vec<(SmolStr, SourceRange)>,
}

impl Default for TestOptions {
    fn default() -> TestOptions {
        TestOptions { refresh_only: false, refresh: true, replace: Vec::new(), target: Vec::new() }
    }
}

/// The `module` block of a run.
#[derive(Clone, Debug)]
pub struct TestModule {
    /// Where it comes from.
    pub source: ModuleSource,
    /// `version` and where it stands.
    pub version: Option<(SmolStr, SourceRange)>,
    /// Header of the block.
    pub range: SourceRange,
    /// Where `source` stands.
    pub source_range: SourceRange,
}

/// An entry of `expect_failures`: the object as text and where it stands, or what is wrong with the reference.
#[derive(Clone, Debug)]
pub struct ExpectedFailure {
    /// `var.x`, `output.x`, `check.x`, `aws_vpc.main`, `data.aws_ami.x[0]`.
    pub object: SmolStr,
    /// Where it stands.
    pub range: SourceRange,
    /// Why nothing of the kind can fail.
    pub problem: Option<Diagnostic>,
}

/// What stands in for resources and modules.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `override_resource` and `override_data`.
    pub resources: Vec<OverrideResource>,
    /// `override_module`
    pub modules: Vec<OverrideModule>,
}

/// An `override_resource` or `override_data` block.
#[derive(Clone, Debug)]
pub struct OverrideResource {
    /// The resource, as configured.
    pub target: ConfigResource,
    /// Which of the two blocks it is.
    pub mode: ResourceMode,
    /// What its computed attributes are.
    pub values: Arc<GivenValues>,
    /// Where the target stands.
    pub range: SourceRange,
}

impl OverrideResource {
    /// The type of the block.
    pub fn block_type(&self) -> &'static str {
        overrides::block_type(self.mode)
    }
}

/// An `override_module` block.
#[derive(Clone, Debug)]
pub struct OverrideModule {
    /// The module, as configured.
    pub target: Module,
    /// What its outputs are.
    pub outputs: GivenValues,
    /// Where the target stands.
    pub range: SourceRange,
}

/// A `mock_provider` block.
#[derive(Clone, Debug)]
pub struct MockBlock {
    /// The block as one of a provider: name, alias, `for_each`; nothing else.
    pub block: Arc<ProviderBlock>,
    /// What all resources of a type get: `mock_resource` and `mock_data`.
    pub types: BTreeMap<(ResourceMode, SmolStr), Arc<GivenValues>>,
    /// What single resources get in place of that.
    pub resources: Vec<OverrideResource>,
}

const FILE: ContentRules = ContentRules {
    attributes: &[],
    blocks: &[
        rule("run", &["name"]),
        rule("provider", &["name"]),
        rule("variables", &[]),
        rule("override_resource", &[]),
        rule("override_data", &[]),
        rule("override_module", &[]),
        rule("mock_provider", &["name"]),
    ],
    open: false,
};

/// Reads a test file.
pub fn read_test_file(name: &str, tree: &Arc<Tree>, diagnostics: &mut Vec<Diagnostic>) -> TestFile {
    let start = tree.range(weft_syntax::Span { start: 0, end: 0 });
    let content = read_content(tree, tree.root_id(), &FILE, &start, diagnostics);
    let mut compiling = Compiling {
        module: CompiledModule::default(),
        diagnostics,
        together: Vec::new(),
        overriding: false,
        requirements: None,
    };
    let mut file = TestFile { name: name.into(), ..TestFile::default() };
    let mut variables = None;
    for block in &content.blocks {
        match block.block_type {
            "run" => file.runs.extend(compiling.test_run(block).map(Arc::new)),
            "provider" => provider::provider(&mut compiling, block),
            "variables" => compiling.test_variables(block, &mut variables, "test file"),
            "mock_provider" => compiling.mock_provider(block, &mut file.mocks),
            _ => compiling.overriding_block(block, &mut file.overrides),
        }
    }
    file.variables = variables.map(|(_, found)| found).unwrap_or_default();
    file.providers = compiling.module.providers;
    file
}

/// The first `variables` block: where it stands, and what it gives.
type Variables = Option<(SourceRange, BTreeMap<SmolStr, Expression>)>;

impl Compiling<'_> {
    /// A `variables` block; `place` is what it stands in, which has one at most.
    fn test_variables(&mut self, block: &FoundBlock, first: &mut Variables, place: &str) {
        if let Some((first, _)) = first {
            let (file, line) = (&first.file, first.start.line);
            self.error(
                "Multiple \"variables\" blocks",
                format!("A {place} has one variables block, and it is at {file}:{line} already."),
                &block.range,
            );
            return;
        }
        let tree = &block.tree;
        let body = self.arguments(tree, block.body);
        for inner in &body.blocks {
            self.error(
                &format!("Unexpected {:?} block", inner.block_type.text.as_str()),
                "Blocks are not allowed here: variables get their values as arguments.",
                &tree.range(inner.block_type.span),
            );
        }
        let named =
            |attribute: &weft_syntax::Attribute| (attribute.name.text.clone(), tree.expression(attribute.expression));
        *first = Some((block.range.clone(), body.attributes.iter().map(named).collect()));
    }

    /// What the first sound block of its kind says; that others follow is reported.
    fn only_block<T>(
        &mut self,
        blocks: &[FoundBlock],
        block_type: &str,
        read: fn(&mut Self, &FoundBlock) -> Option<T>,
    ) -> Option<T> {
        let mut first: Option<(T, SourceRange)> = None;
        for block in blocks.iter().filter(|block| block.block_type == block_type) {
            match &first {
                None => first = read(self, block).map(|found| (found, block.range.clone())),
                Some((_, range)) => {
                    let (file, line) = (range.file.clone(), range.start.line);
                    self.error(
                        &format!("Multiple \"{block_type}\" blocks"),
                        format!("A run block has one {block_type} block, and it is at {file}:{line} already."),
                        &block.range,
                    );
                }
            }
        }
        first.map(|(found, _)| found)
    }
}

/// The name of an object that conditions belong to, as expectations name it.
fn object_of(reference: &Reference) -> Option<String> {
    use crate::reference::Subject;
    let key = reference.key.as_ref().map(ToString::to_string).unwrap_or_default();
    match &reference.subject {
        Subject::Variable(name) => Some(format!("var.{name}")),
        Subject::Resource(resource) => Some(format!("{resource}{key}")),
        _ => None,
    }
}
