//! Test files: `*.tftest.hcl` and `*.tofutest.hcl` files, and their JSON forms.
//!
//! A [`TestFile`] is a list of [`TestRun`]s with shared settings. The module [`overrides`] reads replacements of single
//! resources and modules, and [`mocks`] replacements of whole providers. [`finding`] lists and reads the files of a
//! directory.

mod finding;
mod mocks;
mod overrides;
mod run;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, Module, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::ModuleSource;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;
use weft_syntax::Tree;

pub use finding::{FoundTests, find_tests};
pub use values::{TestExpression, TestNames};

use super::compiling::Compiling;
use super::content::rule;
use super::content::{ContentRules, FoundBlock, read_content};
use super::{CompiledModule, Condition, PassedProvider, ProviderBlock, ProviderName, problems, provider};
use crate::reference::Reference;

/// Values of attributes, by name.
pub type GivenValues = BTreeMap<SmolStr, Value>;

/// A test file.
#[derive(Clone, Debug, Default)]
pub struct TestFile {
    /// Its path.
    pub name: SmolStr,
    /// Values of variables for all runs.
    pub variables: BTreeMap<SmolStr, TestExpression>,
    /// `provider` blocks.
    pub providers: BTreeMap<ProviderName, Arc<ProviderBlock>>,
    /// `mock_provider` blocks.
    pub mocks: BTreeMap<ProviderName, Arc<MockBlock>>,
    /// Overrides for all runs.
    pub overrides: Overrides,
    /// `run` blocks in order.
    pub runs: Vec<Arc<TestRun>>,
}

/// The command of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestCommand {
    /// Plans and applies.
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
    /// The `command` argument.
    pub command: TestCommand,
    /// The `plan_options` block.
    pub options: TestOptions,
    /// Values of variables for this run.
    pub variables: BTreeMap<SmolStr, TestExpression>,
    /// The `providers` argument. Empty if the block does not have it.
    pub providers: Vec<PassedProvider>,
    /// The `module` block: a module that is tested instead of the configuration.
    pub module: Option<TestModule>,
    /// `assert` blocks in order.
    pub asserts: Vec<Condition>,
    /// The `expect_failures` argument.
    pub expected: Vec<ExpectedFailure>,
    /// Overrides for this run.
    pub overrides: Overrides,
    /// The header of the block.
    pub range: SourceRange,
}

impl TestRun {
    /// Problems that are reported when the run starts.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = self.expected.iter().filter_map(|one| one.problem.clone()).collect();
        found.extend(self.overrides.duplicates());
        found
    }
}

/// The content of a `plan_options` block.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// Whether the block has `mode = refresh-only`.
    pub refresh_only: bool,
    /// The `refresh` argument.
    pub refresh: bool,
    /// The `replace` argument: addresses as text, with their ranges.
    pub replace: Vec<(SmolStr, SourceRange)>,
    /// The `target` argument.
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
    /// The source.
    pub source: ModuleSource,
    /// The `version` argument with its range.
    pub version: Option<(SmolStr, SourceRange)>,
    /// The header of the block.
    pub range: SourceRange,
    /// The range of `source`.
    pub source_range: SourceRange,
}

/// An entry of `expect_failures`: a checkable object, and the problem if the object cannot fail.
#[derive(Clone, Debug)]
pub struct ExpectedFailure {
    /// The address of the object: `var.x`, `output.x`, `check.x`, `aws_vpc.main`, `data.aws_ami.x[0]`.
    pub object: SmolStr,
    /// The range of the reference.
    pub range: SourceRange,
    /// The reason why the object cannot fail.
    pub problem: Option<Diagnostic>,
}

/// Overrides of resources and modules.
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
    /// The configured resource.
    pub target: ConfigResource,
    /// The mode of the resource, which determines the type of the block.
    pub mode: ResourceMode,
    /// The values of its computed attributes.
    pub values: Arc<GivenValues>,
    /// The range of the target.
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
    /// The configured module.
    pub target: Module,
    /// The values of its outputs.
    pub outputs: GivenValues,
    /// The range of the target.
    pub range: SourceRange,
}

/// A `mock_provider` block.
#[derive(Clone, Debug)]
pub struct MockBlock {
    /// The block as a `provider` block that has only a name, an alias and `for_each`.
    pub block: Arc<ProviderBlock>,
    /// Values for all resources of a type: `mock_resource` and `mock_data`.
    pub types: BTreeMap<(ResourceMode, SmolStr), Arc<GivenValues>>,
    /// Values for single resources.
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
pub(crate) fn read_test_file(name: &str, tree: &Arc<Tree>, diagnostics: &mut Vec<Diagnostic>) -> TestFile {
    let start = tree.range(weft_syntax::Span { start: 0, end: 0 });
    let content = read_content(tree, tree.root_id(), &FILE, &start, diagnostics);
    let mut compiling = Compiling {
        module: CompiledModule::default(),
        diagnostics,
        together: Vec::new(),
        overriding: false,
        requirements: None,
        unfinished: BTreeMap::new(),
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

/// The first `variables` block: its range and values.
type Variables = Option<(SourceRange, BTreeMap<SmolStr, TestExpression>)>;

impl Compiling<'_> {
    /// Reads a `variables` block. `first` is the first `variables` block of the same parent. A second block is
    /// reported. `place` names the parent in messages.
    fn test_variables(&mut self, block: &FoundBlock, first: &mut Variables, place: &str) {
        if let Some((first, _)) = first {
            self.report(problems::test_file::second_variables(place, first, &block.range));
            return;
        }
        let tree = &block.tree;
        let body = self.only_arguments(tree, block.body, "variables");
        let named = |attribute: &weft_syntax::Attribute| {
            let expression = tree.expression(attribute.expression);
            (attribute.name.text.clone(), TestExpression::new(expression))
        };
        *first = Some((block.range.clone(), body.attributes.iter().map(named).collect()));
    }

    /// The first valid block of a type. Further blocks of the type are reported.
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
                    self.report(problems::test_run::second_block(block_type, range, &block.range));
                }
            }
        }
        first.map(|(found, _)| found)
    }
}

/// The address of a checkable object, in the notation of `expect_failures`.
fn object_of(reference: &Reference) -> Option<String> {
    use crate::reference::Referent;
    let key = reference.key.as_ref().map(ToString::to_string).unwrap_or_default();
    match &reference.subject {
        Referent::Variable(name) => Some(format!("var.{name}")),
        Referent::Resource(resource) => Some(format!("{resource}{key}")),
        _ => None,
    }
}
