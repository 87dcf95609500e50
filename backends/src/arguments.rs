//! Reads settings: from the configuration, or else from a variable of the environment, or else the default.

use std::path::PathBuf;

use serde_json::{Map, Value as Json};
use smol_str::SmolStr;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::schema::{Attribute, Block};
use weft_graph_format::types::Type;

use crate::problems;

/// The settings of a backend: every attribute of its schema, as in `.terraform/terraform.tfstate`. Attributes that are
/// not set are null.
pub type BackendSettings = Map<String, Json>;

/// Returns the value of a variable of the environment. Empty values count as not set.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads the settings of a backend, and collects their problems.
pub struct Arguments<'a> {
    settings: &'a BackendSettings,
    environment: Environment<'a>,
    /// The problems found so far.
    pub problems: Vec<Diagnostic>,
}

impl<'a> Arguments<'a> {
    /// Reads from these settings and this environment.
    pub fn new(settings: &'a BackendSettings, environment: Environment<'a>) -> Arguments<'a> {
        Arguments { settings, environment, problems: Vec::new() }
    }

    /// The value in the settings, unless it is null.
    pub fn written(&self, name: &str) -> Option<&'a Json> {
        self.settings.get(name).filter(|value| !value.is_null())
    }

    /// The value of the first of these variables that is set and not empty.
    pub fn variable(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| (self.environment)(name).filter(|value| !value.is_empty()))
    }

    /// Reads the setting `name` as a string. If the setting is null, reads the first environment variable in
    /// `variables` that is set and not empty. The following methods use `variables` in the same way.
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

    /// Reads a string like [`text`](Arguments::text). An empty string counts as not set.
    pub fn filled(&mut self, name: &str, variables: &[&str]) -> Option<String> {
        self.text(name, variables).filter(|text| !text.is_empty())
    }

    /// Reads a string like [`text`](Arguments::text). Reports a problem if the string is not set.
    pub fn required(&mut self, name: &str, variables: &[&str]) -> String {
        self.text(name, variables).unwrap_or_else(|| {
            self.problems.push(problems::required(name));
            String::new()
        })
    }

    /// Reads a bool.
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

    /// Reads a whole number that is not negative.
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

    /// Reads a map of strings, sorted by key.
    pub fn texts(&mut self, name: &str) -> Vec<(String, String)> {
        let Some(Json::Object(entries)) = self.written(name) else { return Vec::new() };
        let text = |value: &Json| value.as_str().map(str::to_owned);
        entries.iter().filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect()
    }

    /// Returns `read` and the warnings, if there are no errors.
    ///
    /// # Errors
    /// Returns all problems, if one of them is an error.
    pub fn finish<T>(self, read: T) -> Result<(T, Vec<Diagnostic>), Vec<Diagnostic>> {
        match has_errors(&self.problems) {
            true => Err(self.problems),
            false => Ok((read, self.problems)),
        }
    }
}

/// A path in which the home directory replaces `~`.
pub fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// A schema of attributes, which are optional unless they are in `required`. The attributes in `secret` are never
/// stored in a plan.
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
