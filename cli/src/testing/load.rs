//! The tests of a configuration: its test files, and the modules that some runs test instead of the configuration.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::test_file::{TestFile, TestModule, TestRun, find_tests};
use weft_evaluator::config::{
    CompiledModule, ModulePlaces, ModuleRequest, SourceFiles, StaticGiven, StaticInputs, load_tree_under,
};
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::constraint::Constraints;
use weft_providers::packages::{Requirements, require};

use crate::command::Invocation;
use crate::context::DEFAULT_WORKSPACE;
use crate::modules::{FromManifest, ModuleManifest};
use crate::project::{Project, of_configuration};

/// The default directory of tests.
const DIRECTORY: &str = "tests";

/// The first part of the keys of all modules that tests call, in the manifest of installed modules.
const TESTED: &str = "test";

/// The tests of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Tests {
    /// The test files by name.
    pub files: Vec<Arc<TestFile>>,
    /// The modules that runs test instead of the configuration, by file and by index of the run.
    pub modules: BTreeMap<(SmolStr, usize), Arc<CompiledModule>>,
}

impl Tests {
    /// Reads the test files, and gives their source lines to the view.
    pub fn read(invocation: &Invocation<'_>) -> (Tests, Vec<Diagnostic>) {
        Tests::read_in(invocation, ".")
    }

    /// Like [`Tests::read`], for a configuration in another directory.
    pub fn read_in(invocation: &Invocation<'_>, root: &str) -> (Tests, Vec<Diagnostic>) {
        let directory = invocation.arguments.value("test-directory").unwrap_or(DIRECTORY);
        let found = find_tests(root, directory);
        invocation.view.know(&found.sources);
        (Tests { files: found.files, modules: BTreeMap::new() }, found.diagnostics)
    }

    /// Whether any run tests another module.
    pub fn call_modules(&self) -> bool {
        self.files.iter().any(|file| file.runs.iter().any(|run| run.module.is_some()))
    }

    /// Loads the modules that runs test, with `places` to find or install them.
    pub fn load_modules(&mut self, invocation: &Invocation<'_>, places: &mut dyn ModulePlaces) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for file in &self.files {
            for (number, run) in file.runs.iter().enumerate() {
                let Some(called) = &run.module else { continue };
                let (module, sources, said) = load(file, run, called, places, invocation);
                invocation.view.know(&sources);
                problems.extend(said);
                if let Some(module) = module {
                    self.modules.insert((file.name.clone(), number), module);
                }
            }
        }
        problems
    }

    /// Loads the modules that runs test, from the installed modules.
    pub fn load_installed(&mut self, invocation: &Invocation<'_>) -> Vec<Diagnostic> {
        match ModuleManifest::read_to_load(&invocation.context.data_directory) {
            Ok(manifest) => self.load_modules(invocation, &mut FromManifest { manifest: &manifest, root: ".".into() }),
            Err(problem) => vec![problem],
        }
    }

    /// The root modules that are tested: the configuration, and each module that a run tests instead.
    pub fn roots(&self, root: &Arc<CompiledModule>) -> Vec<Arc<CompiledModule>> {
        let mut roots = vec![root.clone()];
        for module in self.modules.values() {
            if roots.iter().all(|known| known.dir != module.dir) {
                roots.push(module.clone());
            }
        }
        roots
    }

    /// The problems of the test files, apart from the problems of parsing.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for file in &self.files {
            found.extend(file.overrides.duplicates());
            for run in &file.runs {
                found.extend(run.problems());
            }
        }
        found
    }

    /// The provider requirements of a configuration and its tests.
    ///
    /// # Errors
    /// Returns an error if a version constraint cannot be parsed.
    pub fn all_requirements(&self, project: &Project) -> Result<Requirements, Vec<Diagnostic>> {
        let mut all = project.requirements(None)?;
        for (source, constraints) in self.requirements(&project.root)? {
            require(&mut all, source, &constraints);
        }
        Ok(all)
    }

    /// The provider requirements of the tests, without those of the configuration.
    ///
    /// # Errors
    /// Returns an error if a version constraint cannot be parsed.
    pub fn requirements(&self, root: &CompiledModule) -> Result<Requirements, Vec<Diagnostic>> {
        let mut all = Requirements::new();
        let mut problems = Vec::new();
        for module in self.modules.values() {
            let (requirements, said) = of_configuration(module);
            problems.extend(said);
            for (source, constraints) in requirements {
                require(&mut all, source, &constraints);
            }
        }
        for file in &self.files {
            // Mocks add no requirements: they replace providers that the configuration already requires.
            for (local_name, _) in file.providers.keys() {
                require(&mut all, root.provider_source(local_name), &Constraints::any());
            }
        }
        if has_errors(&problems) { Err(problems) } else { Ok(all) }
    }
}

/// The key of a run's module: `test.tests.main.setup` for the run `setup` in `tests/main.tftest.hcl`.
fn known_as(file: &str, run: &str) -> Module {
    let stem = file.strip_suffix(".tftest.hcl").unwrap_or(file);
    let steps = std::iter::once(TESTED).chain(stem.split('/')).chain([run]);
    Module(steps.map(SmolStr::new).collect())
}

/// The module of a run, if it was found, with its files and problems.
type LoadedModule = (Option<Arc<CompiledModule>>, SourceFiles, Vec<Diagnostic>);

fn load(
    file: &TestFile,
    run: &TestRun,
    called: &TestModule,
    places: &mut dyn ModulePlaces,
    invocation: &Invocation<'_>,
) -> LoadedModule {
    let path = known_as(&file.name, &run.name);
    let version = called.version.as_ref().map(|(text, range)| (text.as_str(), range.clone()));
    let request = ModuleRequest {
        path: &path,
        caller_dir: ".",
        source: &called.source,
        version,
        call_range: &called.range,
        source_range: called.source_range.clone(),
    };
    let mut problems = Vec::new();
    let Some(dir) = places.place(&request, &mut problems) else { return (None, SourceFiles::default(), problems) };
    let workspace = invocation.context.workspace().unwrap_or_else(|_| DEFAULT_WORKSPACE.into());
    let inputs = StaticInputs { given: &|_| StaticGiven::default(), workspace, encryption: None };
    let (module, sources, said) = load_tree_under(Path::new("."), &dir, &path, places, &inputs);
    problems.extend(said);
    (Some(module), sources, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_its_own_module_name() {
        let name = |file: &str, run: &str| known_as(file, run).0.join(".");
        assert_eq!(name("main.tftest.hcl", "setup"), "test.main.setup");
        assert_eq!(name("tests/main.tftest.hcl", "setup"), "test.tests.main.setup");
        assert_eq!(name("a.tofutest.hcl", "x"), "test.a.tofutest.hcl.x");
    }
}
