//! Values of variables in tests.
//!
//! The sources in order of increasing precedence: the environment; the standard variable files beside the
//! configuration; `-var-file` and `-var`; the standard variable files in the directory of tests; the `variables` block
//! of the file; the `variables` block of the run. In test files, expressions use `var` for the values from outside of
//! the test file, and `run` for outputs of earlier runs (reference: "Variables" of `tofu test`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use smol_str::SmolStr;
use weft_evaluator::config::test_file::{TestExpression, TestFile, TestNames, TestRun};
use weft_evaluator::config::{CompiledModule, Condition, SourceFiles, Variable};
use weft_evaluator::given_variables::{GivenVariable, GivenVariables};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

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
    /// A text and its source. The type of the variable decides how the text is parsed.
    Text(String, &'static str),
    /// A value from a file, or the problems that make the value unusable.
    Value(Result<GivenVariable, Vec<Diagnostic>>),
}

/// Values for all tests.
#[derive(Clone, Debug, Default)]
pub struct Globals {
    values: BTreeMap<SmolStr, Global>,
    /// The variable files, for the source lines of problems.
    pub sources: SourceFiles,
    /// The problems of files and options.
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
        for name in usual_files(Path::new(tests)) {
            globals.file(&format!("{tests}/{name}"));
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

    /// The value of an option or of the environment, as a string. `None` if the value is from a file.
    fn text(&self, name: &str) -> Option<Value> {
        match self.values.get(name)? {
            Global::Text(text, _) => Some(Value::string(text)),
            Global::Value(_) => None,
        }
    }

    /// The values of the variables of a module that are given for all tests.
    pub fn of_module(&self, module: &CompiledModule) -> GivenVariables {
        let given = module.variables.values().filter_map(|variable| {
            let given = self.for_variable(variable)?.ok()?;
            Some((variable.name.clone(), given))
        });
        given.collect()
    }

    /// The object `var` in test files: all given values, unconverted, and the defaults of the tested module.
    fn as_object(&self, module: &CompiledModule) -> Value {
        let mut fields: BTreeMap<SmolStr, Value> = BTreeMap::new();
        for variable in module.variables.values() {
            fields.extend(variable.default_value().map(|value| (variable.name.clone(), value)));
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

/// Values for the variables of a run.
#[derive(Clone, Debug, Default)]
pub struct RunValues {
    /// The values of variables that the tested module declares.
    pub given: GivenVariables,
    /// The values of `given` before conversion: values of options and of the environment are strings.
    pub unconverted: BTreeMap<SmolStr, Value>,
    /// The values of variables that only the test declares, for assertions.
    pub own: BTreeMap<SmolStr, GivenVariable>,
    /// The problems of the values in `own`. They are reported if an assertion uses the variable.
    own_problems: BTreeMap<SmolStr, Vec<Diagnostic>>,
}

impl RunValues {
    /// The names of the variables that only the test declares, and their positions.
    pub fn own_names(&self) -> impl Iterator<Item = (SmolStr, SourceRange)> + '_ {
        self.own.iter().map(|(name, given)| (name.clone(), given.range.clone().unwrap_or_default()))
    }

    /// The problems of the values in `own` that these assertions use.
    pub fn problems_for(&self, assertions: &[Condition]) -> Vec<Diagnostic> {
        let named: BTreeSet<SmolStr> = assertions.iter().flat_map(Condition::variables).collect();
        named.iter().filter_map(|name| self.own_problems.get(name)).flatten().cloned().collect()
    }

    /// The values of all variables.
    pub fn all(&self) -> GivenVariables {
        self.given.iter().chain(&self.own).map(|(name, given)| (name.clone(), given.clone())).collect()
    }
}

/// The values of a run. `outputs` are the outputs of earlier runs, by run.
///
/// # Errors
/// Returns the problems of the variables that the tested module declares.
pub fn values(
    module: &CompiledModule,
    file: &TestFile,
    run: &TestRun,
    globals: &Globals,
    outputs: &BTreeMap<SmolStr, Value>,
) -> Result<RunValues, Vec<Diagnostic>> {
    let outputs = Value::object(outputs.iter().map(|(name, value)| (name.clone(), value.clone())));
    let names = TestNames::new(globals.as_object(module), outputs);
    let mut values = RunValues::default();
    let mut problems = Vec::new();
    for variable in module.variables.values() {
        let written = run.variables.get(&variable.name).or_else(|| file.variables.get(&variable.name));
        let given = match written {
            Some(expression) => Some(in_test(expression, &names)),
            None => globals.for_variable(variable),
        };
        match given {
            Some(Ok(given)) => {
                let text = written.is_none().then(|| globals.text(&variable.name)).flatten();
                let unconverted = text.unwrap_or_else(|| given.value.clone());
                values.unconverted.insert(variable.name.clone(), unconverted);
                values.given.insert(variable.name.clone(), given);
                continue;
            }
            Some(Err(found)) => problems.extend(found),
            None => {}
        }
        if !variable.has_default() {
            problems.push(problems::no_value(variable.name.as_str()).at(variable.range.clone()));
        }
    }
    if has_errors(&problems) {
        return Err(problems);
    }
    let written = file.variables.iter().chain(&run.variables);
    for (name, expression) in written.filter(|(name, _)| !module.variables.contains_key(*name)) {
        match in_test(expression, &names) {
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

/// Evaluates a value in a test file.
fn in_test(expression: &TestExpression, names: &TestNames) -> Result<GivenVariable, Vec<Diagnostic>> {
    let (value, range) = (expression.value(names)?, Some(expression.range()));
    Ok(GivenVariable { value, range, source: TEST_FILE.to_owned() })
}
