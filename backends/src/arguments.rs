//! Reading settings: what is written, else a variable of the environment, else the default.

use std::path::PathBuf;

use serde_json::{Map, Value as Json};
use smol_str::SmolStr;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::schema::{Attribute, Block};
use weft_graph_format::types::Type;

use crate::problems;

/// The settings of a backend: every attribute of its schema, null where nothing is written, as in
/// `.terraform/terraform.tfstate`.
pub type BackendSettings = Map<String, Json>;

/// The variables of the environment by name. Empty ones count as absent.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The settings of a backend while they are read, with the problems found.
pub struct Arguments<'a> {
    settings: &'a BackendSettings,
    environment: Environment<'a>,
    /// The problems found so far.
    pub problems: Vec<Diagnostic>,
}

impl<'a> Arguments<'a> {
    /// The arguments in these settings.
    pub fn new(settings: &'a BackendSettings, environment: Environment<'a>) -> Arguments<'a> {
        Arguments { settings, environment, problems: Vec::new() }
    }

    /// The value as written, unless it is null.
    pub fn written(&self, name: &str) -> Option<&'a Json> {
        self.settings.get(name).filter(|value| !value.is_null())
    }

    /// The first of these variables that is set and not empty.
    pub fn variable(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| (self.environment)(name).filter(|value| !value.is_empty()))
    }

    /// A string.
    pub fn text(&mut self, name: &str, variables: &[&str]) -> Option<String> {
        match self.written(name) {
            Some(Json::String(text)) => Some(text.clone()),
            Some(other) => {
                self.problems.push(problems::wrong_type(name, "a string", other));
                None
            }
            None => self.variable(variables),
        }
    }

    /// A string that is not empty.
    pub fn filled(&mut self, name: &str, variables: &[&str]) -> Option<String> {
        self.text(name, variables).filter(|text| !text.is_empty())
    }

    /// A string that must be given.
    pub fn required(&mut self, name: &str, variables: &[&str]) -> String {
        self.text(name, variables).unwrap_or_else(|| {
            self.problems.push(problems::required(name));
            String::new()
        })
    }

    /// A bool.
    pub fn flag(&mut self, name: &str, variables: &[&str]) -> Option<bool> {
        match self.written(name) {
            Some(Json::Bool(flag)) => Some(*flag),
            Some(other) => {
                self.problems.push(problems::wrong_type(name, "a bool", other));
                None
            }
            None => {
                let text = self.variable(variables)?;
                let flag = match text.as_str() {
                    "true" | "1" => Some(true),
                    "false" | "0" => Some(false),
                    _ => None,
                };
                if flag.is_none() {
                    self.problems.push(problems::wrong_variable(name, "a bool"));
                }
                flag
            }
        }
    }

    /// A whole number that is not negative.
    pub fn number(&mut self, name: &str, variables: &[&str]) -> Option<u64> {
        match self.written(name) {
            Some(value) => {
                let number = value.as_u64();
                if number.is_none() {
                    self.problems.push(problems::wrong_type(name, "a whole number", value));
                }
                number
            }
            None => {
                let number = self.variable(variables)?.parse().ok();
                if number.is_none() {
                    self.problems.push(problems::wrong_variable(name, "a whole number"));
                }
                number
            }
        }
    }

    /// A map of strings, in the order of its keys.
    pub fn texts(&mut self, name: &str) -> Vec<(String, String)> {
        let Some(Json::Object(entries)) = self.written(name) else { return Vec::new() };
        let text = |value: &Json| value.as_str().map(str::to_owned);
        entries.iter().filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect()
    }

    /// What was read, unless there were errors. The warnings come with it.
    ///
    /// # Errors
    /// All problems, if one of them is an error.
    pub fn finish<T>(self, read: T) -> Result<(T, Vec<Diagnostic>), Vec<Diagnostic>> {
        match has_errors(&self.problems) {
            true => Err(self.problems),
            false => Ok((read, self.problems)),
        }
    }
}

/// A path with the home directory in place of `~`.
pub fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// A schema of optional attributes. `secret` attributes are never stored in a plan.
pub fn schema(attributes: &[(&str, Type)], required: &[&str], secret: &[&str]) -> Block {
    let mut block = Block::default();
    for (name, ty) in attributes {
        let mut attribute = Attribute::new(ty.clone());
        attribute.required = required.contains(name);
        attribute.optional = !attribute.required;
        attribute.sensitive = secret.contains(name);
        block.attributes.insert(SmolStr::new(name), attribute);
    }
    block
}
