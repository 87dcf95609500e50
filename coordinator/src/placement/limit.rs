//! Limits on calls: budgets of calls per second, and rules for retries of refused calls.

use std::collections::BTreeMap;

use serde::Deserialize;
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::Shard;
use weft_graph_format::limits::{CallBudget, CallLimits, CallRetry, ShardLimits};
use weft_graph_format::plan_file::PlanFile;
use weft_graph_format::value::Value;
use weft_identity::pattern::Pattern;

use super::labels_text;
use super::problems::{EntryProblem, MissingLabelValue};
use super::rule::{Known, Rule};
use crate::problems::{idle_placement_rule, label_not_known};
use crate::retry::{MOST_ATTEMPTS, MOST_SECONDS, RETRY_ATTEMPTS, RETRY_SECONDS};
use crate::rule_name::RuleName;

/// The highest rate, in calls per second. This rate exceeds the limit of every service, and bounds the number of tokens
/// in one request.
const HIGHEST_RATE: f64 = 10_000.0;
/// The lowest rate, in calls per second: one call in 100 seconds.
const LOWEST_RATE: f64 = 0.01;
/// The largest burst. A larger burst would limit nothing.
const LARGEST_BURST: u32 = 10_000;
/// The maximum number of tokens that a call takes.
const MOST_TOKENS_PER_CALL: u32 = 100;
/// The maximum number of patterns of one rule, and the maximum size of a pattern in bytes. Each error is compared with
/// all patterns.
const MOST_PATTERNS: usize = 100;
const LONGEST_PATTERN: usize = 200;
/// The minimum length of a pattern in bytes. A shorter pattern would match by chance.
const SHORTEST_PATTERN: usize = 4;

/// A limit on calls per second, with a separate budget for each combination of labels.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitRule {
    /// The source of the provider, with or without its host.
    provider: Pattern,
    /// The module instance of the provider block, as in a [`Rule`].
    module: Option<Pattern>,
    /// The alias of the provider, as in a [`Rule`].
    alias: Option<Pattern>,
    /// The key of `for_each`, as in a [`Rule`].
    key: Option<Pattern>,
    /// String arguments of the provider block, as in a [`Rule`].
    #[serde(default)]
    arguments: BTreeMap<String, Pattern>,
    /// Labels that distinguish budgets of a provider, such as `account` and `region`. Placeholders are replaced as in
    /// the labels of a [`Rule`].
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Tokens per second.
    rate: f64,
    /// The maximum number of free tokens. The default is half of the rate, but at least the tokens of two calls. With
    /// this default, a service that counts calls per second still accepts delayed calls that arrive together with later
    /// calls.
    burst: Option<u32>,
    /// The number of tokens that one call takes. The default is 1.
    tokens_per_call: Option<u32>,
}

// A checked rate is never NaN.
impl Eq for LimitRule {}

impl LimitRule {
    /// Checks the rules that deserialization does not check.
    ///
    /// # Errors
    /// Returns the first problem.
    pub(super) fn check(&self) -> Result<(), EntryProblem> {
        if !(LOWEST_RATE..=HIGHEST_RATE).contains(&self.rate) {
            return Err(EntryProblem::Rate { rate: self.rate, allowed: LOWEST_RATE..=HIGHEST_RATE });
        }
        if self.burst.is_some_and(|burst| !(1..=LARGEST_BURST).contains(&burst)) {
            return Err(EntryProblem::Burst { largest: LARGEST_BURST });
        }
        if !(1..=MOST_TOKENS_PER_CALL).contains(&self.tokens()) {
            return Err(EntryProblem::TokensPerCall { most: MOST_TOKENS_PER_CALL });
        }
        // A call and the read before it take their tokens together.
        if self.burst() < 2 * self.tokens() && self.burst.is_some() {
            return Err(EntryProblem::BurstBelowTwoCalls { burst: self.burst() });
        }
        self.rule().check_labels()
    }

    fn tokens(&self) -> u32 {
        self.tokens_per_call.unwrap_or(1)
    }

    fn burst(&self) -> u32 {
        self.burst.unwrap_or_else(|| ((self.rate / 2.0) as u32).max(2 * self.tokens()))
    }

    /// A rule that matches the same provider instances and has the same labels.
    fn rule(&self) -> Rule {
        Rule {
            provider: Some(self.provider.clone()),
            module: self.module.clone(),
            alias: self.alias.clone(),
            key: self.key.clone(),
            arguments: self.arguments.clone(),
            labels: self.labels.clone(),
            ..Rule::default()
        }
    }

    /// The budget of a provider instance.
    ///
    /// # Errors
    /// Returns the first placeholder in a label for which the instance has no value.
    fn budget(
        &self,
        instance: &ProviderInstance,
        shard: &Shard,
        known: &Known<'_>,
    ) -> Result<CallBudget, MissingLabelValue> {
        let labels = labels_text(&self.rule().labels(shard, known)?);
        let source = instance.source.for_display();
        Ok(CallBudget {
            name: if labels.is_empty() { source } else { format!("{source} {labels}") },
            interval_us: ((1_000_000.0 / self.rate).round() as u64).max(1),
            burst: self.burst(),
            tokens_per_call: self.tokens(),
        })
    }
}

/// A `[[retry]]` entry of a file of placement rules: how refused calls of a provider are retried.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryEntry {
    /// The source of the provider, with or without its host.
    provider: Pattern,
    /// The maximum number of retries. 0 disables retries.
    attempts: Option<u32>,
    /// The time in seconds after the first refusal during which retries may begin.
    seconds: Option<u32>,
    /// Strings in errors that count as refusals, in addition to the known strings.
    #[serde(default)]
    patterns: Vec<String>,
}

impl RetryEntry {
    /// Checks what deserialization does not check.
    ///
    /// # Errors
    /// Returns the first problem.
    pub(super) fn check(&self) -> Result<(), EntryProblem> {
        if self.attempts.is_some_and(|attempts| attempts > MOST_ATTEMPTS) {
            return Err(EntryProblem::Attempts { most: MOST_ATTEMPTS });
        }
        if self.seconds.is_some_and(|seconds| seconds > MOST_SECONDS) {
            return Err(EntryProblem::Seconds { most: MOST_SECONDS });
        }
        if self.patterns.len() > MOST_PATTERNS {
            return Err(EntryProblem::Patterns { most: MOST_PATTERNS });
        }
        let allowed = SHORTEST_PATTERN..=LONGEST_PATTERN;
        let fits = |pattern: &String| allowed.contains(&pattern.trim().len());
        match self.patterns.iter().find(|pattern| !fits(pattern)) {
            Some(pattern) => Err(EntryProblem::PatternLength { pattern: pattern.clone(), allowed }),
            None => Ok(()),
        }
    }

    fn retry(&self) -> CallRetry {
        CallRetry {
            attempts: self.attempts.unwrap_or(RETRY_ATTEMPTS),
            seconds: self.seconds.unwrap_or(RETRY_SECONDS),
            patterns: self.patterns.clone(),
        }
    }
}

/// The effect of limits and retry rules on the shards of a plan, and warnings about limits that match no shard. If
/// several limits define the same budget, the numbers of the first limit apply. The first retry rule that matches a
/// shard is used.
///
/// # Errors
/// Returns an error if a label has a placeholder for which a matching provider instance has no value.
pub(super) fn resolve(
    limits: &[LimitRule],
    retries: &[RetryEntry],
    plan: &PlanFile,
    file: &str,
) -> Result<(CallLimits, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut found = CallLimits { retries: retries.iter().map(RetryEntry::retry).collect(), ..CallLimits::default() };
    let mut known_budgets: BTreeMap<String, u32> = BTreeMap::new();
    let (mut used, mut wrong) = (vec![false; limits.len()], Vec::new());
    let rules: Vec<Rule> = limits.iter().map(LimitRule::rule).collect();
    let matching: Vec<Rule> =
        retries.iter().map(|retry| Rule { provider: Some(retry.provider.clone()), ..Rule::default() }).collect();
    for fragment in &plan.graph.fragments {
        let mut shard = ShardLimits::default();
        if let Shard::Provider(instance) = &fragment.shard {
            let known = Known::of(fragment);
            for (index, limit) in limits.iter().enumerate() {
                if !rules[index].matches(instance, &known) {
                    continue;
                }
                used[index] = true;
                match limit.budget(instance, &fragment.shard, &known) {
                    Ok(budget) => {
                        let next = found.budgets.len() as u32;
                        let number = *known_budgets.entry(budget.name.clone()).or_insert(next);
                        if number == next {
                            found.budgets.push(budget);
                        }
                        if !shard.budgets.contains(&number) {
                            shard.budgets.push(number);
                        }
                    }
                    Err(missing) => wrong.push(label_not_known(
                        file,
                        RuleName { table: "Limit", index },
                        &fragment.shard,
                        &missing.placeholder,
                    )),
                }
            }
            let retry = matching.iter().position(|rule| rule.matches(instance, &known));
            shard.retry = retry.map(|index| index as u32);
        }
        found.shards.push(shard);
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let idle = used.iter().enumerate().filter(|(_, used)| !**used);
    let warning = |(index, _)| idle_placement_rule(file, RuleName { table: "Limit", index });
    let warnings = idle.map(warning).collect();
    Ok((found, warnings))
}

/// The budgets of a provider instance with this configuration. If several limits define the same budget, the numbers of
/// the first limit apply.
pub(super) fn budgets_of(limits: &[LimitRule], instance: &ProviderInstance, config: &Value) -> Vec<CallBudget> {
    let (shard, known) = (Shard::Provider(instance.clone()), Known::Value(config));
    let mut found: Vec<CallBudget> = Vec::new();
    for limit in limits.iter().filter(|limit| limit.rule().matches(instance, &known)) {
        if let Ok(budget) = limit.budget(instance, &shard, &known)
            && !found.iter().any(|other| other.name == budget.name)
        {
            found.push(budget);
        }
    }
    found
}
