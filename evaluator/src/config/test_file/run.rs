//! `run` blocks.

use smol_str::SmolStr;
use weft_graph_format::module_source::ModuleSource;
use weft_graph_format::source::SourceRange;
use weft_syntax::{Expression, Syntax};

use super::{ExpectedFailure, Overrides, TestCommand, TestModule, TestOptions, TestRun, object_of};
use crate::config::call::passed_providers;
use crate::config::compiling::Compiling;
use crate::config::content::rule;
use crate::config::content::{ContentRules, FoundBlock};
use crate::config::literal::optional;
use crate::config::meta::Unquoted;
use crate::config::problems;
use crate::reference::{Reference, resolve};

const RUN: ContentRules = ContentRules {
    attributes: &[optional("command"), optional("providers"), optional("expect_failures")],
    blocks: &[
        rule("plan_options", &[]),
        rule("assert", &[]),
        rule("variables", &[]),
        rule("module", &[]),
        rule("override_resource", &[]),
        rule("override_data", &[]),
        rule("override_module", &[]),
    ],
    open: false,
};

const OPTIONS: ContentRules = ContentRules {
    attributes: &[optional("mode"), optional("refresh"), optional("replace"), optional("target")],
    blocks: &[],
    open: false,
};

const MODULE: ContentRules =
    ContentRules { attributes: &[optional("source"), optional("version")], blocks: &[], open: false };

impl Compiling<'_> {
    /// Reads a `run` block. `None` if the block is invalid.
    pub(super) fn test_run(&mut self, block: &FoundBlock) -> Option<TestRun> {
        let before = self.errors();
        let content = self.content(block, &RUN);
        let name = block.labels[0].0.clone();
        self.identifier(&block.labels[0], "run block");
        let mut asserts = Vec::new();
        let mut overrides = Overrides::default();
        let mut variables = None;
        for inner in &content.blocks {
            match inner.block_type {
                "assert" => asserts.extend(self.condition(inner)),
                "variables" => self.test_variables(inner, &mut variables, "run block"),
                "plan_options" | "module" => {}
                _ => self.overriding_block(inner, &mut overrides),
            }
        }
        let options = self.only_block(&content.blocks, "plan_options", Compiling::test_options).unwrap_or_default();
        let module = self.only_block(&content.blocks, "module", Compiling::test_module);
        let command = match content.get("command") {
            None => TestCommand::Apply,
            Some(given) => match self.keyword_bare("command", given, ["apply", "plan"]) {
                Some("plan") => TestCommand::Plan,
                _ => TestCommand::Apply,
            },
        };
        let providers = content.get("providers").map(|given| passed_providers(self, given).0).unwrap_or_default();
        let expected = content.get("expect_failures").map(|given| self.expected_failures(given)).unwrap_or_default();
        let run = TestRun {
            name,
            command,
            options,
            variables: variables.map(|(_, found)| found).unwrap_or_default(),
            providers,
            module,
            asserts,
            expected,
            overrides,
            range: block.range.clone(),
        };
        (self.errors() == before).then_some(run)
    }

    /// Reads a bare keyword. In the JSON syntax, the keyword is quoted.
    fn keyword_bare(&mut self, name: &str, given: &Expression, words: [&'static str; 2]) -> Option<&'static str> {
        let quoted = given.as_string_literal().filter(|_| given.tree.syntax() == Syntax::Json);
        let word = given.as_keyword().map(SmolStr::new).or(quoted);
        let found = words.into_iter().find(|known| word.as_deref() == Some(known));
        if found.is_none() {
            self.report(problems::test_run::unknown_keyword(name, words, given.range()));
        }
        found
    }

    fn test_options(&mut self, block: &FoundBlock) -> Option<TestOptions> {
        let before = self.errors();
        let content = self.content(block, &OPTIONS);
        let mode = content.get("mode").and_then(|given| self.keyword_bare("mode", given, ["normal", "refresh-only"]));
        let options = TestOptions {
            refresh_only: mode == Some("refresh-only"),
            refresh: self.flag(content.get("refresh"), true),
            replace: content.get("replace").map(|given| self.named_objects(given)).unwrap_or_default(),
            target: content.get("target").map(|given| self.named_objects(given)).unwrap_or_default(),
        };
        if let Some(found) = content.attributes.get("refresh")
            && options.refresh_only
            && !options.refresh
        {
            self.report(problems::test_run::refresh_only_without_refresh(found.range.clone()));
        }
        (self.errors() == before).then_some(options)
    }

    /// The static references in a list. Other elements are reported.
    fn static_references(&mut self, list: &Expression) -> Vec<(Expression, SourceRange)> {
        let Some(items) = list.as_list() else {
            self.report(problems::references::not_a_list(list.range()));
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            let range = item.range();
            let named = match self.unquoted(&item) {
                Unquoted::Broken => continue,
                Unquoted::Reference(parsed) => parsed,
                Unquoted::AsWritten => item.unquoted().unwrap_or(item),
            };
            match named.as_traversal() {
                Some(_) => found.push((named, range)),
                None => self.report(problems::references::not_static(range)),
            }
        }
        found
    }

    /// The addresses in a list, as text.
    fn named_objects(&mut self, list: &Expression) -> Vec<(SmolStr, SourceRange)> {
        let found = self.static_references(list).into_iter();
        found.map(|(named, range)| (SmolStr::new(named.text()), range)).collect()
    }

    fn expected_failures(&mut self, list: &Expression) -> Vec<ExpectedFailure> {
        let found = self.static_references(list).into_iter();
        found.filter_map(|(named, range)| expected_failure(&named, range)).collect()
    }

    fn test_module(&mut self, block: &FoundBlock) -> Option<TestModule> {
        let content = self.content(block, &MODULE);
        let Some(given) = content.get("source") else {
            self.report(problems::test_run::missing_source(&block.range));
            return None;
        };
        let version = content.get("version").map(|written| (self.text(Some(written)), written.range()));
        let text = self.text(Some(given))?;
        let parsed = match version {
            Some(_) => ModuleSource::parse_registry(&text),
            None => ModuleSource::parse(&text),
        };
        let source_range = given.range();
        match parsed {
            Ok(source) => Some(TestModule {
                source,
                version: version.and_then(|(text, range)| Some((SmolStr::new(text?), range))),
                range: block.range.clone(),
                source_range,
            }),
            Err(error) => {
                self.report(problems::test_run::invalid_source(&error, version.is_some(), source_range));
                None
            }
        }
    }
}

/// The object that an entry of `expect_failures` refers to.
fn expected_failure(named: &Expression, range: SourceRange) -> Option<ExpectedFailure> {
    let reference = match resolve(&named.tree, &named.as_traversal()?) {
        Ok(reference) => Reference { range: range.clone(), ..reference },
        Err(problem) => {
            return Some(ExpectedFailure { object: SmolStr::new(named.text()), range, problem: Some(problem) });
        }
    };
    let object = object_of(&reference);
    let problem = object.is_none().then(|| problems::test_run::cannot_fail(named.text(), range.clone()));
    Some(ExpectedFailure { object: object.unwrap_or_else(|| named.text().to_owned()).into(), range, problem })
}
