//! Values of the variables of the root module: from the environment, files, the command line, and the user.
//!
//! The sources in order of increasing precedence: `TF_VAR_NAME`; `terraform.tfvars`; `terraform.tfvars.json`;
//! `*.auto.tfvars` and `*.auto.tfvars.json` by name; `-var` and `-var-file` in the order of the arguments (reference:
//! OpenTofu, "Input Variables").

mod file;
mod problems;

pub use file::{content as file_content, read as read_file};

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::{CompiledModule, SourceFiles, Variable};
use weft_evaluator::given_variables::{GivenVariable, GivenVariables};
use weft_evaluator::variable_file::{FileValue, value_of_text};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::options::Arguments;
use crate::prompt::Prompt;

/// The maximum number of warnings about undeclared variables. The others are only counted.
const UNDECLARED_SHOWN: usize = 2;

/// The values of variables, and the problems of reading them.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The values of declared variables.
    pub given: GivenVariables,
    /// The variable files, for the source lines of problems.
    pub sources: SourceFiles,
    /// Problems.
    pub diagnostics: Vec<Diagnostic>,
    /// The problems of invalid values, by variable.
    pub broken: BTreeMap<SmolStr, Vec<Diagnostic>>,
}

/// The source of a value for an undeclared variable. The source decides how the value is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueSource {
    File,
    Option,
}

struct Reader<'a> {
    root: &'a CompiledModule,
    gathered: Gathered,
    /// The last value of each undeclared variable: its position among all such values, its source, and its file.
    undeclared: BTreeMap<SmolStr, (usize, ValueSource, String)>,
    /// The number of values for undeclared variables so far.
    seen: usize,
}

/// Reads all sources of values. If there is a `prompt`, it asks for missing values. Otherwise missing values are
/// errors.
pub fn gather(root: &CompiledModule, arguments: &Arguments, prompt: Option<&Prompt>) -> Gathered {
    let mut reader = given(root, arguments);
    if reader.is_whole() {
        reader.missing(prompt);
    }
    reader.gathered
}

/// The problems of invalid options, and of variable files that cannot be read, with the sources that the problems point
/// into. These problems are reported before the configuration is checked.
pub fn unreadable(arguments: &Arguments) -> (SourceFiles, Vec<Diagnostic>) {
    let mut sources = SourceFiles::default();
    let mut problems = Vec::new();
    let mut file = |path: &str, problems: &mut Vec<Diagnostic>| {
        let read = file::read(path);
        if has_errors(&read.diagnostics) {
            sources.extend(read.sources);
            problems.extend(read.diagnostics);
        }
    };
    for path in usual_files(Path::new(".")) {
        file(&path, &mut problems);
    }
    for (flag, text) in arguments.in_order(&["var", "var-file"]) {
        match flag {
            "var" => problems.extend(named_value(text).err()),
            _ => file(text, &mut problems),
        }
    }
    (sources, problems)
}

/// The name and the value in a `-var` option.
pub fn named_value(text: &str) -> Result<(&str, &str), Diagnostic> {
    let Some((name, value)) = text.split_once('=') else { return Err(bad_option(text)) };
    if name.ends_with(' ') {
        return Err(problems::trailing_space(name, value));
    }
    Ok((name, value))
}

/// Like [`gather`], for commands that allow missing values.
pub fn gather_given(root: &CompiledModule, arguments: &Arguments) -> Gathered {
    given(root, arguments).gathered
}

fn given<'a>(root: &'a CompiledModule, arguments: &Arguments) -> Reader<'a> {
    let mut reader = Reader { root, gathered: Gathered::default(), undeclared: BTreeMap::new(), seen: 0 };
    reader.environment();
    for name in usual_files(Path::new(".")) {
        reader.file(&name);
    }
    for (flag, text) in arguments.in_order(&["var", "var-file"]) {
        if flag == "var" { reader.option(text) } else { reader.file(text) }
    }
    reader.tell_undeclared();
    reader.tell_broken();
    reader
}

/// Receives each value of a file: the name of the variable, and its value or the problems of the value.
type Taken<'a> = dyn FnMut(&str, Result<GivenVariable, Vec<Diagnostic>>) + 'a;

/// The values of variables for a plan file, from the sources of [`gather`]. The types of the variables are known, but
/// the configuration is not.
pub fn given_again<'a>(
    types: &dyn Fn(&str) -> Option<Type>,
    names: impl Iterator<Item = &'a SmolStr>,
    arguments: &Arguments,
) -> (GivenVariables, Vec<Diagnostic>) {
    let mut given = GivenVariables::new();
    let mut problems = Vec::new();
    let mut take = |name: &str, answer: Result<GivenVariable, Vec<Diagnostic>>| match answer {
        Ok(value) => drop(given.insert(name.into(), value)),
        Err(found) => problems.extend(found),
    };
    // If a plan file has the type `any` for a variable, either `any` was declared, or no type was. With a declared
    // `any`, the text is an expression. Without a type, the text is a string. The two cases look the same here, so the
    // text is read as an expression, and is used literally if it is not one.
    let parsed = |name: &str, text: &str, source: &str| match types(name) {
        Some(Type::Dynamic) => {
            parsed(name, Some(&Type::Dynamic), text, source).or_else(|_| parsed(name, None, text, source))
        }
        ty => parsed(name, ty.as_ref(), text, source),
    };
    for name in names {
        if let Ok(text) = std::env::var(format!("TF_VAR_{name}")) {
            take(name, parsed(name, &text, "the environment"));
        }
    }
    let from_file = |path: &str, take: &mut Taken<'_>| {
        let read = file::read(path);
        if has_errors(&read.diagnostics) {
            take("", Err(read.diagnostics));
            return;
        }
        for FileValue { name, value, range } in read.entries {
            if types(&name).is_some() {
                take(&name, value.map(|value| GivenVariable { value, range, source: format!("the file {path}") }));
            }
        }
    };
    for path in usual_files(Path::new(".")) {
        from_file(&path, &mut take);
    }
    for (flag, text) in arguments.in_order(&["var", "var-file"]) {
        match (flag, text.split_once('=')) {
            ("var-file", _) => from_file(text, &mut take),
            (_, Some((name, _))) if types(name).is_none() => {}
            (_, Some((name, value))) => take(name, parsed(name, value, "the -var option")),
            (_, None) => take("", Err(vec![bad_option(text)])),
        }
    }
    (given, problems)
}

/// The code of problems of files that could not be read.
const WHOLE_FILE: &str = "variables-file";

fn is_about_a_whole_file(problem: &Diagnostic) -> bool {
    problem.is_error() && problem.code == WHOLE_FILE
}

/// The files that are read automatically.
pub fn usual_files(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = names
        .filter(|entry| !entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json"))
        .collect();
    names.sort();
    let first = ["terraform.tfvars", "terraform.tfvars.json"].into_iter().filter(|name| directory.join(name).is_file());
    first.map(str::to_owned).chain(names).collect()
}

/// The warning that counts the undeclared variables without their own warning.
fn more_undeclared(all: usize) -> Option<Diagnostic> {
    let more = all.checked_sub(UNDECLARED_SHOWN).filter(|more| *more > 0)?;
    Some(problems::more_undeclared_values(more))
}

/// Warnings about values in variable files for undeclared variables. For a caller that has the names of the declared
/// variables, but no configuration. This function ignores files that cannot be read.
pub fn undeclared_again(is_declared: &dyn Fn(&str) -> bool, arguments: &Arguments) -> Vec<Diagnostic> {
    let given = arguments.in_order(&["var-file"]).into_iter().map(|(_, path)| path.to_owned());
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for path in usual_files(Path::new(".")).into_iter().chain(given) {
        for entry in file::read(&path).entries {
            if is_declared(&entry.name) || !seen.insert(entry.name.clone()) {
                continue;
            }
            if seen.len() <= UNDECLARED_SHOWN {
                found.push(problems::undeclared_in_file(&path, &entry.name));
            }
        }
    }
    found.extend(more_undeclared(seen.len()));
    found
}

/// Errors about `-var` options for undeclared variables. For a caller that has the names of the declared variables, but
/// no configuration.
pub fn undeclared_options(is_declared: &dyn Fn(&str) -> bool, arguments: &Arguments) -> Vec<Diagnostic> {
    let names: BTreeSet<&str> = arguments.values("var").filter_map(|text| Some(text.split_once('=')?.0)).collect();
    names.into_iter().filter(|name| !is_declared(name)).map(problems::undeclared_in_option).collect()
}

fn bad_option(text: &str) -> Diagnostic {
    problems::invalid_var_option(text)
}

/// Converts a value that was given as text. For strings, numbers, booleans and variables without a type, the text is
/// used literally. For other types, the text is parsed as an expression.
pub fn parsed(name: &str, ty: Option<&Type>, text: &str, source: &str) -> Result<GivenVariable, Vec<Diagnostic>> {
    let literal = match ty {
        None => true,
        Some(ty) => matches!(ty, Type::String | Type::Number | Type::Bool),
    };
    let value = if literal { Value::string(text) } else { value_of_text(name, text)? };
    Ok(GivenVariable { value, range: None, source: source.to_owned() })
}

/// The declared type of a variable, if it has one.
fn literal_type(variable: &Variable) -> Option<&Type> {
    variable.typed.then_some(&variable.ty)
}

impl Reader<'_> {
    /// Whether all files could be read. If not, it is unknown which values are missing.
    fn is_whole(&self) -> bool {
        !self.gathered.diagnostics.iter().any(is_about_a_whole_file)
    }

    fn environment(&mut self) {
        for variable in self.root.variables.values() {
            let name = format!("TF_VAR_{}", variable.name);
            let Some(text) = std::env::var_os(&name) else { continue };
            let Ok(text) = text.into_string() else {
                self.gathered.diagnostics.push(problems::value_not_utf8(&name));
                continue;
            };
            let source = format!("the environment variable {name}");
            self.take_text(variable, &text, &source);
        }
    }

    fn option(&mut self, text: &str) {
        let (name, value) = match named_value(text) {
            Ok(found) => found,
            Err(problem) => {
                self.gathered.diagnostics.push(problem);
                return;
            }
        };
        match self.root.variables.get(name).cloned() {
            Some(variable) => self.take_text(&variable, value, "the -var option"),
            None => self.undeclared(name, ValueSource::Option, "-var"),
        }
    }

    fn take_text(&mut self, variable: &Variable, text: &str, source: &str) {
        match parsed(&variable.name, literal_type(variable), text, source) {
            Ok(given) => {
                self.gathered.broken.remove(&variable.name);
                self.gathered.given.insert(variable.name.clone(), given);
            }
            // The earlier value of the variable is overridden, even if the new one is invalid.
            Err(problems) => {
                self.gathered.given.remove(&variable.name);
                self.gathered.broken.insert(variable.name.clone(), problems);
            }
        }
    }

    fn file(&mut self, path: &str) {
        let read = file::read(path);
        self.gathered.sources.extend(read.sources);
        let failed = has_errors(&read.diagnostics);
        self.gathered.diagnostics.extend(read.diagnostics.into_iter().map(|problem| problem.code(WHOLE_FILE)));
        if failed {
            return;
        }
        for FileValue { name, value, range } in read.entries {
            if !self.root.variables.contains_key(&name) {
                self.undeclared(&name, ValueSource::File, path);
                continue;
            }
            match value {
                Ok(value) => {
                    let given = GivenVariable { value, range, source: format!("the file {path}") };
                    self.gathered.broken.remove(&name);
                    self.gathered.given.insert(name, given);
                }
                Err(problems) => {
                    self.gathered.given.remove(&name);
                    self.gathered.broken.insert(name, problems);
                }
            }
        }
    }

    /// Records a value for an undeclared variable. Only the last one counts.
    fn undeclared(&mut self, name: &str, place: ValueSource, source: &str) {
        self.seen += 1;
        self.undeclared.insert(name.into(), (self.seen, place, source.to_owned()));
    }

    fn tell_undeclared(&mut self) {
        let whole = self.is_whole();
        let mut in_files = 0;
        let mut undeclared: Vec<_> = std::mem::take(&mut self.undeclared).into_iter().collect();
        undeclared.sort_by_key(|(_, (position, ..))| *position);
        for (name, (_, place, source)) in undeclared {
            if place == ValueSource::Option {
                self.gathered.diagnostics.push(problems::undeclared_in_option(&name));
                continue;
            }
            in_files += 1;
            if in_files <= UNDECLARED_SHOWN {
                self.gathered.diagnostics.push(problems::undeclared_in_file(&source, &name));
            }
        }
        if whole {
            self.gathered.diagnostics.extend(more_undeclared(in_files));
        }
    }

    /// Reports invalid values. Only the last value of each variable counts.
    fn tell_broken(&mut self) {
        self.gathered.diagnostics.extend(self.gathered.broken.values().flatten().cloned());
    }

    fn missing(&mut self, prompt: Option<&Prompt>) {
        let root = self.root;
        for variable in root.variables.values() {
            if variable.has_default() || self.gathered.given.contains_key(&variable.name) {
                continue;
            }
            let broken = has_errors(&self.gathered.diagnostics);
            if let Some(prompt) = prompt.filter(|_| !broken) {
                let answer = prompt.variable(&variable.name, variable.description.as_deref(), variable.sensitive);
                if let Some(text) = answer {
                    self.take_text(variable, &text, "the answer that was typed");
                    let broken = self.gathered.broken.get(&variable.name).into_iter().flatten().cloned();
                    self.gathered.diagnostics.extend(broken);
                    continue;
                }
            }
            let problem = problems::no_value(variable.name.as_str());
            self.gathered.diagnostics.push(problem.at(variable.range.clone()));
        }
    }
}

/// The ephemeral variables of a module. Their values are not in the plan file.
pub fn ephemeral(root: &CompiledModule) -> impl Iterator<Item = (&SmolStr, &Arc<Variable>)> {
    root.variables.iter().filter(|(_, variable)| variable.ephemeral)
}
