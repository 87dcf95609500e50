//! One placement rule.

use std::collections::BTreeMap;

use serde::Deserialize;
use weft_graph_format::address::{InstanceKey, ProviderInstance};
use weft_graph_format::formula::FormulaOp;
use weft_graph_format::graph::{FormulaIndex, Fragment, Operation, Shard};
use weft_graph_format::value::Value;
use weft_identity::pattern::Pattern;

use super::problems::{EntryProblem, MissingLabelValue};

/// A rule. Patterns that are absent match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// The source of the provider, with or without its host: `hashicorp/aws`.
    pub(super) provider: Option<Pattern>,
    /// The module instance that contains the provider block; empty for the root module.
    pub(super) module: Option<Pattern>,
    /// The alias. A pattern does not match provider instances without alias.
    pub(super) alias: Option<Pattern>,
    /// The key of `for_each`. A pattern does not match provider instances without a key.
    pub(super) key: Option<Pattern>,
    /// String arguments of the provider block, by name. The name of an argument of a nested block begins with the
    /// block: `assume_role.role_arn`. A pattern does not match an argument that is sensitive or known only at apply.
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, Pattern>,
    /// Whether the rule is about home operations, which run on the user's machine.
    #[serde(default)]
    pub(super) home: bool,
    /// Labels that a worker must have. `{key}`, `{alias}` and `{ARGUMENT}` are replaced by values of the provider
    /// instance.
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    /// The maximum number of concurrent operations of one provider instance.
    pub(super) concurrency: Option<u32>,
    /// The maximum number of matching provider instances that are open at the same time at each worker.
    pub(super) instances: Option<u32>,
}

impl Rule {
    /// Checks the requirements for a rule that deserialization does not check.
    ///
    /// # Errors
    /// Returns the first problem.
    pub(super) fn check(&self) -> Result<(), EntryProblem> {
        let selects = [&self.provider, &self.module, &self.alias, &self.key].iter().any(|pattern| pattern.is_some())
            || !self.arguments.is_empty();
        match (self.home, selects) {
            (true, true) => return Err(EntryProblem::HomeWithPatterns),
            (false, false) => return Err(EntryProblem::MatchesNothing),
            _ => {}
        }
        match self.concurrency {
            Some(0) => return Err(EntryProblem::NoConcurrency),
            None if self.labels.is_empty() && self.instances.is_none() => {
                return Err(EntryProblem::RequiresNothing);
            }
            _ => {}
        }
        match self.instances {
            Some(0) => return Err(EntryProblem::NoInstances),
            Some(_) if self.home => return Err(EntryProblem::HomeWithInstances),
            _ => {}
        }
        self.check_labels()
    }

    /// Checks only the labels.
    ///
    /// # Errors
    /// Returns the problem of a label.
    pub(super) fn check_labels(&self) -> Result<(), EntryProblem> {
        if self.labels.keys().any(String::is_empty) {
            return Err(EntryProblem::NamelessLabel);
        }
        let is_unclosed = |value: &&String| matches!(parts(value).last(), Some(Part::Unclosed(_)));
        match self.labels.values().find(is_unclosed) {
            Some(value) => Err(EntryProblem::UnclosedBrace { value: value.clone() }),
            None => Ok(()),
        }
    }

    /// Whether the rule matches a provider instance with this configuration.
    pub(super) fn matches(&self, instance: &ProviderInstance, known: &Known<'_>) -> bool {
        let fits = |pattern: &Option<Pattern>, text: Option<&str>| match pattern {
            Some(pattern) => text.is_some_and(|text| pattern.matches(text)),
            None => true,
        };
        let source = &instance.source;
        let short = format!("{}/{}", source.namespace, source.type_name);
        let is_source = |pattern: &Pattern| pattern.matches(&short) || pattern.matches(&source.to_string());
        !self.home
            && self.provider.as_ref().is_none_or(is_source)
            && fits(&self.module, Some(&instance.module.to_string()))
            && fits(&self.alias, instance.alias.as_deref())
            && fits(&self.key, key(instance).as_deref())
            && self
                .arguments
                .iter()
                .all(|(name, pattern)| known.argument(name).is_some_and(|value| pattern.matches(value)))
    }

    /// The labels for a shard.
    ///
    /// # Errors
    /// Returns the first placeholder in the labels that has no value for the shard.
    pub(super) fn labels(
        &self,
        shard: &Shard,
        known: &Known<'_>,
    ) -> Result<BTreeMap<String, String>, MissingLabelValue> {
        let instance = match shard {
            Shard::Provider(instance) => Some(instance),
            Shard::Home | Shard::Unplaced => None,
        };
        let find = |name: &str| match (name, instance) {
            (_, None) => None,
            ("key", Some(instance)) => key(instance),
            ("alias", Some(instance)) => instance.alias.as_ref().map(ToString::to_string),
            (name, Some(_)) => known.argument(name).map(str::to_owned),
        };
        let filled = |text: &str| -> Result<String, MissingLabelValue> {
            let mut filled = String::new();
            for part in parts(text) {
                match part {
                    Part::Text(text) | Part::Unclosed(text) => filled.push_str(text),
                    Part::Name(name) => match find(name) {
                        Some(value) => filled.push_str(&value),
                        None => return Err(MissingLabelValue { placeholder: name.to_owned() }),
                    },
                }
            }
            Ok(filled)
        };
        self.labels.iter().map(|(name, value)| Ok((name.clone(), filled(value)?))).collect()
    }
}

fn key(instance: &ProviderInstance) -> Option<String> {
    match &instance.key {
        InstanceKey::None => None,
        InstanceKey::Int(number) => Some(number.to_string()),
        InstanceKey::String(text) => Some(text.to_string()),
    }
}

/// A part of the value of a label.
enum Part<'t> {
    Text(&'t str),
    /// The name of a placeholder.
    Name(&'t str),
    /// The rest of the value from a brace on that is not closed. A checked rule has no such part.
    Unclosed(&'t str),
}

/// Splits the value of a label into its parts.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            parts.extend([Part::Text(before), Part::Unclosed(&rest[before.len()..])]);
            return parts;
        };
        parts.extend([Part::Text(before), Part::Name(name)]);
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts
}

/// The known part of the configuration of a shard's provider.
pub(super) enum Known<'p> {
    /// The configuration in a plan.
    Planned {
        /// The shard's part of the plan.
        fragment: &'p Fragment,
        /// The configuration.
        config: Option<FormulaIndex>,
    },
    /// The configuration while the plan is made.
    Value(&'p Value),
}

impl<'p> Known<'p> {
    /// The configuration of the provider instance whose shard this is.
    pub(super) fn of(fragment: &'p Fragment) -> Known<'p> {
        let own = |instance: &ProviderInstance| matches!(&fragment.shard, Shard::Provider(own) if own == instance);
        let config = fragment.rows.iter().find_map(|row| match &row.operation {
            Operation::OpenProvider { instance, config } if own(instance) => Some(*config),
            _ => None,
        });
        Known::Planned { fragment, config }
    }

    /// The value of a string argument, by its path of names. `None` if the argument is absent, sensitive, not a string,
    /// or known only at apply.
    fn argument(&self, path: &str) -> Option<&'p str> {
        let mut names = path.split('.');
        let (fragment, mut at) = match self {
            Known::Value(value) => return text_in(value, names),
            Known::Planned { fragment, config } => (fragment, (*config)?),
        };
        loop {
            match &fragment.formulas.rows.get(usize::try_from(at.0).ok()?)?.op {
                FormulaOp::Constant(value) => return text_in(value, names),
                FormulaOp::Object(fields) => {
                    let name = names.next()?;
                    at = fields.iter().find(|(field, _)| field == name)?.1;
                }
                FormulaOp::Tuple(items) | FormulaOp::List(_, items) => at = *items.first()?,
                _ => return None,
            }
        }
    }
}

fn text_in<'v, 'n>(value: &'v Value, names: impl Iterator<Item = &'n str>) -> Option<&'v str> {
    let open = |value: &'v Value| (!value.marks().is_sensitive()).then_some(value);
    let mut at = open(value)?;
    for name in names {
        // A nested block is a list of objects.
        if let Some(first) = at.as_items().and_then(<[Value]>::first) {
            at = open(first)?;
        }
        at = open(at.as_fields()?.get(name)?)?;
    }
    at.as_str()
}
