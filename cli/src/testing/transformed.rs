//! The configuration that a `run` block tests. It is the loaded configuration with three changes: its providers are
//! those of the test, overridden modules have only their outputs, and variables that only the test declares are added.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::test_file::{OverrideModule, OverrideResource, TestFile, TestRun};
use weft_evaluator::config::{CompiledModule, ProviderName, ResourceBlock, Variable};
use weft_evaluator::reference::{Reference, Referent};
use weft_graph_format::address::{ConfigResource, Module, ProviderConfig, ProviderSource, Resource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use super::problems;
use super::stand_ins::TestStandIns;

/// The name by which expressions refer to outputs of runs.
const RUN: &str = "run";

/// The configuration that a run tests, with its stand-ins.
pub struct Transformed {
    /// The configuration.
    pub root: Arc<CompiledModule>,
    /// The stand-ins for providers and resources.
    pub stand_ins: TestStandIns,
    /// The diagnostics of the test file and the run.
    pub problems: Vec<Diagnostic>,
}

/// Makes the configuration that a run tests. `outputs` are the outputs of earlier runs, by run.
pub fn transformed(
    root: &Arc<CompiledModule>,
    file: &TestFile,
    run: &TestRun,
    outputs: &BTreeMap<SmolStr, Value>,
) -> Transformed {
    let mut module = (**root).clone();
    let mut stand_ins = TestStandIns::default();
    let mut problems = providers(&mut module, file, run, &mut stand_ins);
    for (name, value) in outputs {
        let run = Resource { mode: ResourceMode::Managed, type_name: RUN.into(), name: name.clone() };
        module.outside.insert(run, value.clone());
    }
    drop_early(&mut module, root);
    let (resources, said) = merged_resources(file, run);
    problems.extend(said);
    for one in resources {
        problems.extend(covered(root, one));
        stand_ins.resources.insert(one.target.clone(), one.values.clone());
    }
    let (modules, said) = merged_modules(file, run);
    problems.extend(said);
    let mut root = Arc::new(module);
    for one in modules {
        let (replaced, said) = without_module(&root, one);
        problems.extend(said);
        root = replaced.unwrap_or(root);
    }
    Transformed { root, stand_ins, problems }
}

/// Replaces providers with the providers and mocks of the test that have the same name.
fn providers(
    module: &mut CompiledModule,
    file: &TestFile,
    run: &TestRun,
    stand_ins: &mut TestStandIns,
) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut put = |name: ProviderName, from: &ProviderName, repeats: bool| -> bool {
        let config =
            ProviderConfig { module: Module::root(), source: module.provider_source(&name.0), alias: name.1.clone() };
        let block = match (file.providers.get(from), file.mocks.get(from)) {
            // As in OpenTofu, the test file's `provider` blocks have no instances with keys. Only mocks can have such
            // instances.
            (Some(block), _) => block.once(),
            (None, Some(mock)) => {
                stand_ins.providers.insert(config, mock.clone());
                if repeats { (*mock.block).clone() } else { mock.block.once() }
            }
            (None, None) => return false,
        };
        let was_keyed = module.providers.get(&name).is_some_and(|block| block.is_repeated());
        // References to the replaced provider have keys, but the mock has no instances with keys. With an empty
        // `for_each` for the mock, such references are reported as errors.
        let is_empty = block.is_mock && was_keyed && !block.is_repeated() && repeats;
        let mut block = if is_empty { block.repeated_over(&Value::empty_object()) } else { block };
        block.local_name.clone_from(&name.0);
        block.alias.clone_from(&name.1);
        module.providers.insert(name, Arc::new(block));
        true
    };
    if run.providers.is_empty() {
        for name in file.providers.keys().chain(file.mocks.keys()) {
            // If a mock and a provider have the same name, neither replaces the provider of the configuration.
            let mocked = file.mocks.contains_key(name) && file.providers.contains_key(name);
            if !mocked {
                put(name.clone(), name, true);
            }
        }
    }
    for passed in &run.providers {
        let from = (passed.parent.local_name.clone(), passed.parent.alias.clone());
        if !put((passed.child_name.clone(), passed.child_alias.clone()), &from, false) {
            let shown = match &from.1 {
                Some(alias) => format!("{}.{alias}", from.0),
                None => from.0.to_string(),
            };
            problems.push(problems::missing_provider(&shown).at(passed.parent.range.clone()));
        }
    }
    problems
}

/// Removes provider blocks that refer to unavailable outputs of runs, if the tested modules do not use these providers.
fn drop_early(module: &mut CompiledModule, root: &Arc<CompiledModule>) {
    let used: BTreeSet<ProviderSource> = root
        .all()
        .iter()
        .flat_map(|module| {
            let of = |block: &Arc<ResourceBlock>| module.provider_source(&block.provider_local_name());
            module.resources.values().map(of).collect::<Vec<_>>()
        })
        .collect();
    let early: Vec<ProviderName> = module
        .providers
        .iter()
        .filter(|(name, block)| {
            let reads = |reference: &Reference| match &reference.subject {
                Referent::Resource(resource) => resource.type_name == RUN && !module.outside.contains_key(resource),
                _ => false,
            };
            block.references.iter().any(reads) && !used.contains(&module.provider_source(&name.0))
        })
        .map(|(name, _)| name.clone())
        .collect();
    for name in early {
        module.providers.remove(&name);
    }
}

/// The overrides for a run: the overrides of the run, and the overrides of the file with other targets.
fn merged_resources<'a>(file: &'a TestFile, run: &'a TestRun) -> (Vec<&'a OverrideResource>, Vec<Diagnostic>) {
    let own: BTreeSet<&ConfigResource> = run.overrides.resources.iter().map(|one| &one.target).collect();
    let mut said = Vec::new();
    let mut merged: Vec<&OverrideResource> = run.overrides.resources.iter().collect();
    for one in &file.overrides.resources {
        match own.contains(&one.target) {
            true => {
                said.push(problems::overridden_twice(one.block_type(), &one.target.to_string()).at(one.range.clone()))
            }
            false => merged.push(one),
        }
    }
    (merged, said)
}

fn merged_modules<'a>(file: &'a TestFile, run: &'a TestRun) -> (Vec<&'a OverrideModule>, Vec<Diagnostic>) {
    let own: BTreeSet<&Module> = run.overrides.modules.iter().map(|one| &one.target).collect();
    let mut said = Vec::new();
    let mut merged: Vec<&OverrideModule> = run.overrides.modules.iter().collect();
    for one in &file.overrides.modules {
        match own.contains(&one.target) {
            true => {
                said.push(problems::overridden_twice("override_module", &one.target.to_string()).at(one.range.clone()))
            }
            false => merged.push(one),
        }
    }
    (merged, said)
}

/// The problem of an override with a wrong target.
fn covered(root: &Arc<CompiledModule>, one: &OverrideResource) -> Option<Diagnostic> {
    let Some(module) = root.all().into_iter().find(|module| module.path == one.target.module) else {
        return Some(problems::module_of_resource_not_found(&one.target.module).at(one.range.clone()));
    };
    if !module.resources.contains_key(&one.target.resource) {
        return Some(problems::resource_not_found(&one.target).at(one.range.clone()));
    }
    if one.target.resource.mode != one.mode {
        let (kind, other) = match one.mode {
            ResourceMode::Data => ("resource", "override_resource"),
            ResourceMode::Managed | ResourceMode::Ephemeral => ("data", "override_data"),
        };
        let problem = problems::wrong_override(one.block_type(), &one.target, kind, other);
        return Some(problem.at(one.range.clone()));
    }
    None
}

/// The module tree in which one module has only the outputs that the test sets.
fn without_module(root: &Arc<CompiledModule>, one: &OverrideModule) -> (Option<Arc<CompiledModule>>, Vec<Diagnostic>) {
    let mut said = Vec::new();
    let found = replaced(root, &one.target.0, &mut |module| {
        said.extend(
            one.outputs
                .keys()
                .filter(|name| !module.outputs.contains_key(*name))
                .map(|name| problems::output_not_found(name).at(one.range.clone())),
        );
        module.reduced_to_outputs(&one.outputs)
    });
    if found.is_none() {
        said.push(problems::module_not_found(&one.target).at(one.range.clone()));
    }
    (found, said)
}

/// The module tree with another module at a path. `None` if there is no module at the path.
fn replaced(
    module: &Arc<CompiledModule>,
    path: &[SmolStr],
    change: &mut dyn FnMut(&CompiledModule) -> CompiledModule,
) -> Option<Arc<CompiledModule>> {
    let Some((first, rest)) = path.split_first() else { return Some(Arc::new(change(module))) };
    let child = replaced(module.children.get(first)?, rest, change)?;
    let mut changed = (**module).clone();
    changed.children.insert(first.clone(), child);
    Some(Arc::new(changed))
}

/// Adds declarations of the variables that only the test declares, so that assertions can use them.
pub fn declare(root: &Arc<CompiledModule>, names: impl Iterator<Item = (SmolStr, SourceRange)>) -> Arc<CompiledModule> {
    let missing: Vec<(SmolStr, SourceRange)> = names.filter(|(name, _)| !root.variables.contains_key(name)).collect();
    if missing.is_empty() {
        return root.clone();
    }
    let mut module = (**root).clone();
    for (name, range) in missing {
        let variable = Variable::untyped(name.clone(), range);
        module.variables.insert(name, Arc::new(variable));
    }
    Arc::new(module)
}

/// The configuration with the evaluated `for_each` of its provider blocks. `keys` are the evaluated values.
pub fn with_settled_keys(root: &Arc<CompiledModule>, keys: &BTreeMap<ProviderName, Value>) -> Arc<CompiledModule> {
    let mut module = (**root).clone();
    for (name, value) in keys {
        if let Some(block) = module.providers.get_mut(name) {
            *block = Arc::new(block.repeated_over(value));
        }
    }
    Arc::new(module)
}
