//! Values of variables in tests.
//!
//! From low to high precedence: the environment, the standard variable files beside the configuration and in the
//! directory of tests, `-var-file` and `-var`; the `variables` block of the file; that of the run. Expressions in test
//! files see the first group as `var`, and outputs of earlier runs as `run` (reference: "Variables" of `tofu test`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use smol_str::SmolStr;
use weft_evaluator::config::test_file::{TestFile, TestRun};
use weft_evaluator::config::{CompiledModule, Condition, Sources, Variable};
use weft_evaluator::given_variables::{GivenVariable, GivenVariables};
use weft_expressions::call_context::CallContext;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert_with_defaults;
use weft_expressions::evaluate::evaluate;
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, FunctionError};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::Parameter;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{Expression, StepKind, Traversal, Tree};

use super::problems;
use crate::options::Arguments;
use crate::variables::{named_value, parsed, read_file, usual_files};

/// The prefix of variables in the environment.
const ENVIRONMENT: &str = "TF_VAR_";
/// The source of values in a test file, for messages.
const TEST_FILE: &str = "the test file";

/// A value for all tests.
#[derive(Clone, Debug)]
enum Global {
    /// As text, which is parsed by the type of the variable, and its source.
    Text(String, &'static str),
    /// From a file, or the reason why there is none.
    Value(Result<GivenVariable, Vec<Diagnostic>>),
}

/// Values for all tests.
#[derive(Clone, Debug, Default)]
pub struct Globals {
    values: BTreeMap<SmolStr, Global>,
    /// Variable files, for the source lines of problems.
    pub sources: Sources,
    /// Problems of files and options.
    pub problems: Vec<Diagnostic>,
}

impl Globals {
    /// Reads all sources of values. `tests` is the directory of tests.
    pub fn gather(arguments: &Arguments, tests: &str) -> Globals {
        let mut globals = Globals::default();
        for (name, text) in std::env::vars() {
            if let Some(name) = name.strip_prefix(ENVIRONMENT) {
                globals.values.insert(name.into(), Global::Text(text, "the environment"));
            }
        }
        for path in usual_files(Path::new(".")) {
            globals.file(&path);
        }
        for name in usual_files(Path::new(tests)) {
            globals.file(&format!("{tests}/{name}"));
        }
        for (flag, text) in arguments.in_order(&["var", "var-file"]) {
            match flag {
                "var" => match named_value(text) {
                    Ok((name, value)) => {
                        let given = Global::Text(value.to_owned(), "the -var option");
                        globals.values.insert(name.into(), given);
                    }
                    Err(problem) => globals.problems.push(problem),
                },
                _ => globals.file(text),
            }
        }
        globals
    }

    fn file(&mut self, path: &str) {
        let read = read_file(path);
        self.sources.extend(read.sources);
        self.problems.extend(read.diagnostics);
        for entry in read.entries {
            let range = entry.range;
            let source = format!("the file {path}");
            let given = entry.value.map(|value| GivenVariable { value, range, source });
            self.values.insert(entry.name, Global::Value(given));
        }
    }

    /// The value for a declared variable.
    fn for_variable(&self, variable: &Variable) -> Option<Result<GivenVariable, Vec<Diagnostic>>> {
        Some(match self.values.get(&variable.name)? {
            Global::Text(text, source) => parsed(&variable.name, variable.typed.then_some(&variable.ty), text, source),
            Global::Value(given) => given.clone(),
        })
    }

    /// The values of a module's variables, from these values only.
    pub fn of_module(&self, module: &CompiledModule) -> GivenVariables {
        let given = module.variables.values().filter_map(|variable| {
            let given = self.for_variable(variable)?.ok()?;
            Some((variable.name.clone(), given))
        });
        given.collect()
    }

    /// `var` as test files see it: all given values, unconverted, and the defaults of the tested module.
    fn as_object(&self, module: &CompiledModule) -> Value {
        let mut fields: BTreeMap<SmolStr, Value> = BTreeMap::new();
        for variable in module.variables.values() {
            fields.extend(default_of(variable).map(|value| (variable.name.clone(), value)));
        }
        for (name, global) in &self.values {
            let value = match global {
                Global::Text(text, _) => Value::string(text),
                Global::Value(Ok(given)) => given.value.clone(),
                Global::Value(Err(_)) => continue,
            };
            fields.insert(name.clone(), value);
        }
        Value::object(fields)
    }

    /// The names of all values, and their positions.
    fn names(&self) -> impl Iterator<Item = (SmolStr, SourceRange)> + '_ {
        self.values.iter().map(|(name, global)| {
            let range = match global {
                Global::Value(Ok(given)) => given.range.clone(),
                _ => None,
            };
            (name.clone(), range.unwrap_or_default())
        })
    }
}

/// The default of a variable, converted to its type.
fn default_of(variable: &Variable) -> Option<Value> {
    let (value, problems) = evaluate_constant(variable.default.as_ref()?);
    let value = convert_with_defaults(&value, &variable.ty, &variable.defaults).unwrap_or(value);
    (!has_errors(&problems)).then_some(value)
}

/// Values for the variables of a run.
#[derive(Clone, Debug, Default)]
pub struct RunValues {
    /// Those that the tested module declares.
    pub given: GivenVariables,
    /// Those that only the test declares, for assertions.
    pub own: BTreeMap<SmolStr, GivenVariable>,
    /// Problems of the latter. They are reported when an assertion uses the variable.
    own_problems: BTreeMap<SmolStr, Vec<Diagnostic>>,
}

impl RunValues {
    /// The names of the variables that only the test declares, and their positions.
    pub fn own_names(&self) -> impl Iterator<Item = (SmolStr, SourceRange)> + '_ {
        self.own.iter().map(|(name, given)| (name.clone(), given.range.clone().unwrap_or_default()))
    }

    /// The problems of variables that only the test declares and that these assertions use.
    pub fn problems_for(&self, assertions: &[Condition]) -> Vec<Diagnostic> {
        let mut named = BTreeSet::new();
        for expression in assertions.iter().flat_map(|one| [&one.condition, &one.error_message]) {
            for traversal in weft_syntax::references(expression).into_iter().filter(|found| found.root.text == "var") {
                if let Some(StepKind::Attribute(name)) = traversal.steps.first().map(|step| &step.kind) {
                    named.insert(name.clone());
                }
            }
        }
        named.iter().filter_map(|name| self.own_problems.get(name)).flatten().cloned().collect()
    }

    /// All of them.
    pub fn all(&self) -> GivenVariables {
        self.given.iter().chain(&self.own).map(|(name, given)| (name.clone(), given.clone())).collect()
    }
}

/// The values of a run. `outputs` are those of earlier runs, by run.
///
/// # Errors
/// Problems of those that the tested module declares.
pub fn values(
    module: &CompiledModule,
    file: &TestFile,
    run: &TestRun,
    globals: &Globals,
    outputs: &BTreeMap<SmolStr, Value>,
) -> Result<RunValues, Vec<Diagnostic>> {
    let scope = TestScope {
        names: BTreeMap::from([
            ("var", globals.as_object(module)),
            ("run", Value::object(outputs.iter().map(|(name, value)| (name.clone(), value.clone())))),
        ]),
        occurrences: AtomicU32::new(0),
        parameters: AtomicU32::new(0),
    };
    let mut values = RunValues::default();
    let mut problems = Vec::new();
    for variable in module.variables.values() {
        let written = run.variables.get(&variable.name).or_else(|| file.variables.get(&variable.name));
        let given = match written {
            Some(expression) => Some(scope.value(expression)),
            None => globals.for_variable(variable),
        };
        match given {
            Some(Ok(given)) => {
                values.given.insert(variable.name.clone(), given);
                continue;
            }
            Some(Err(found)) => problems.extend(found),
            None => {}
        }
        if variable.default.is_none() {
            problems.push(problems::no_value(variable.name.as_str()).at(variable.range.clone()));
        }
    }
    if has_errors(&problems) {
        return Err(problems);
    }
    let written = file.variables.iter().chain(&run.variables);
    for (name, expression) in written.filter(|(name, _)| !module.variables.contains_key(*name)) {
        match scope.value(expression) {
            Ok(given) => drop(values.own.insert(name.clone(), given)),
            Err(found) => drop(values.own_problems.insert(name.clone(), found)),
        }
    }
    for (name, range) in globals.names() {
        if module.variables.contains_key(&name) || values.own.contains_key(&name) {
            continue;
        }
        let value = match &globals.values[&name] {
            Global::Text(text, _) => Value::string(text),
            Global::Value(Ok(given)) => given.value.clone(),
            Global::Value(Err(_)) => continue,
        };
        let given = GivenVariable { value, range: Some(range), source: TEST_FILE.to_owned() };
        values.own.insert(name, given);
    }
    Ok(values)
}

/// The scope of expressions in test files.
struct TestScope {
    names: BTreeMap<&'static str, Value>,
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

impl TestScope {
    fn value(&self, expression: &Expression) -> Result<GivenVariable, Vec<Diagnostic>> {
        let (value, problems) = evaluate(expression, self);
        if has_errors(&problems) {
            return Err(problems);
        }
        Ok(GivenVariable { value, range: Some(expression.range()), source: TEST_FILE.to_owned() })
    }
}

impl Scope for TestScope {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        let name = traversal.root.text.as_str();
        match self.names.get(name) {
            Some(value) => Ok(ResolvedReference { value: value.clone(), consumed: 0 }),
            None => Err(vec![problems::unknown_name(name).at(tree.range(traversal.root.span))]),
        }
    }

    fn context(&self) -> CallContext<'_> {
        CallContext { base_directory: Path::new("."), ..CallContext::new(&self.occurrences, &self.parameters) }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(problems::provider_function(name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Ok(Value::unknown(Type::Dynamic))
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}
