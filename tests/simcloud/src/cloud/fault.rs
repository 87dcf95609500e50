//! Injected failures: rules from the configuration. The failures of a request are decided before anything is done.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::object::Kind;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// POST.
    Create,
    /// GET of one object.
    Read,
    /// GET of several objects, including a search by token or name.
    List,
    /// PATCH.
    Update,
    /// DELETE.
    Delete,
}

impl Op {
    /// The name in rules and in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Op::Create => "create",
            Op::Read => "read",
            Op::List => "list",
            Op::Update => "update",
            Op::Delete => "delete",
        }
    }
}

/// Whether a failure happens before or after the effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Before the effect, which does not happen. Only a delay lets the effect happen later.
    #[default]
    Before,
    /// After the effect, which is durable and in the ledger.
    After,
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The response is an error.
    Error,
    /// The connection is closed without a response.
    Cut,
    /// There is no response while the client waits.
    Hang,
    /// The response is delayed.
    Delay,
    /// The response has the object, and the plugin must return the object together with an error.
    Partial,
    /// The response has the object, but the plugin must return an empty message.
    Empty,
}

/// What the plugin must do with an object in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twist {
    /// Return the object together with an error.
    Partial,
    /// Return an empty message instead of the object.
    Empty,
}

impl Twist {
    /// The name in responses.
    pub fn word(self) -> &'static str {
        match self {
            Twist::Partial => "partial",
            Twist::Empty => "empty",
        }
    }
}

/// A rule for failures. It counts the requests that match `region`, `type` and `op`. An absent field matches every
/// request, and the first request has the count 1. The rule fires at the counts in `nth`, at multiples of `every`, and
/// with `probability`. A rule without these three fields fires at every count. A rule with `times` fires at most this
/// number of times.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Only this region.
    #[serde(default)]
    pub region: Option<String>,
    /// Only this kind of object.
    #[serde(default, rename = "type")]
    pub kind: Option<Kind>,
    /// Only this operation.
    #[serde(default)]
    pub op: Option<Op>,
    /// Fires at these counts.
    #[serde(default)]
    pub nth: Vec<u64>,
    /// Fires at multiples of this count.
    #[serde(default)]
    pub every: Option<u64>,
    /// Fires with this probability, derived from the seed of the configuration.
    #[serde(default)]
    pub probability: Option<f64>,
    /// Fires at most this number of times.
    #[serde(default)]
    pub times: Option<u64>,
    /// Whether the failure happens before or after the effect.
    #[serde(default)]
    pub when: When,
    /// The failure.
    pub what: What,
    /// HTTP status of an error.
    #[serde(default = "default_status")]
    pub status: u16,
    /// Text of an error.
    #[serde(default)]
    pub message: Option<String>,
    /// Length of a delay.
    #[serde(default)]
    pub delay_ms: u64,
}

fn default_status() -> u16 {
    500
}

impl Rule {
    /// Checks the rule. The error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.probability.is_some_and(|chance| !(0.0..=1.0).contains(&chance)) {
            return Err("the probability of a fault must be from 0 to 1".to_owned());
        }
        if self.every == Some(0) || self.nth.contains(&0) {
            return Err("requests are counted from 1: a fault's every and nth must be at least 1".to_owned());
        }
        if !(400..=599).contains(&self.status) {
            return Err(format!("the status of a fault must be from 400 to 599, not {}", self.status));
        }
        Ok(())
    }

    fn matches(&self, region: &str, kind: Kind, op: Op) -> bool {
        self.region.as_ref().is_none_or(|wanted| wanted == region)
            && self.kind.is_none_or(|wanted| wanted == kind)
            && self.op.is_none_or(|wanted| wanted == op)
    }

    fn fires_at(&self, count: u64, chance: f64) -> bool {
        let always = self.nth.is_empty() && self.every.is_none() && self.probability.is_none();
        always
            || self.nth.contains(&count)
            || self.every.is_some_and(|every| count.is_multiple_of(every))
            || self.probability.is_some_and(|probability| chance < probability)
    }
}

/// The failures of a request on one side of its effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trouble {
    /// The sum of all delays.
    pub delay: Duration,
    /// How the request ends early, if it does.
    pub end: Option<End>,
    /// What the plugin must do with the object.
    pub twist: Option<Twist>,
}

/// How a request ends early.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The request ends with an error response.
    Error {
        /// HTTP status.
        status: u16,
        /// Text for the user.
        message: String,
    },
    /// The request gets no response, and the connection is closed at once.
    Cut,
    /// The request gets no response, but the connection stays open.
    Hang,
}

/// The rules with their counters.
#[derive(Debug)]
pub struct Faults {
    seed: u64,
    rules: Vec<Counted>,
}

#[derive(Debug)]
struct Counted {
    rule: Rule,
    matched: u64,
    fired: u64,
}

/// A rule with the numbers of times that it matched and fired, as `GET /faults` shows it.
#[derive(Debug, Serialize)]
pub struct Seen {
    /// The rule.
    pub rule: Rule,
    /// The number of requests that matched.
    pub matched: u64,
    /// The number of times that the rule fired.
    pub fired: u64,
}

impl Faults {
    /// The rules, with all counters at 0.
    pub fn new(seed: u64, rules: Vec<Rule>) -> Faults {
        let rules = rules.into_iter().map(|rule| Counted { rule, matched: 0, fired: 0 }).collect();
        Faults { seed, rules }
    }

    /// Counts a request, and decides which failures it gets before its effect (first result) and after its effect
    /// (second result). If several rules end the request at the same point, the first rule decides how. Delays add up.
    pub fn decide(&mut self, region: &str, kind: Kind, op: Op) -> (Trouble, Trouble) {
        let (mut before, mut after) = (Trouble::default(), Trouble::default());
        for (index, counted) in self.rules.iter_mut().enumerate() {
            let rule = &counted.rule;
            if !rule.matches(region, kind, op) {
                continue;
            }
            counted.matched += 1;
            let chance = chance(self.seed, index as u64, counted.matched);
            let spent = rule.times.is_some_and(|times| counted.fired >= times);
            if spent || !rule.fires_at(counted.matched, chance) {
                continue;
            }
            counted.fired += 1;
            if let What::Partial | What::Empty = rule.what {
                let twist = if rule.what == What::Partial { Twist::Partial } else { Twist::Empty };
                after.twist = after.twist.or(Some(twist));
            }
            let side = match rule.when {
                When::Before => &mut before,
                When::After => &mut after,
            };
            side.delay += Duration::from_millis(rule.delay_ms);
            let end = match rule.what {
                What::Delay | What::Partial | What::Empty => None,
                What::Cut => Some(End::Cut),
                What::Hang => Some(End::Hang),
                What::Error => {
                    let message = rule.message.clone().unwrap_or_else(|| "injected failure".to_owned());
                    Some(End::Error { status: rule.status, message })
                }
            };
            side.end = side.end.take().or(end);
        }
        (before, after)
    }

    /// The rules and their counters.
    pub fn seen(&self) -> Vec<Seen> {
        let seen =
            |counted: &Counted| Seen { rule: counted.rule.clone(), matched: counted.matched, fired: counted.fired };
        self.rules.iter().map(seen).collect()
    }

    /// Replaces the rules, with all counters at 0.
    pub fn replace(&mut self, rules: Vec<Rule>) {
        *self = Faults::new(self.seed, rules);
    }
}

/// A pseudo-random number from 0 to below 1 that depends only on the arguments.
pub fn chance(seed: u64, stream: u64, count: u64) -> f64 {
    // The final mixing steps of SplitMix64, over a combination of the three arguments.
    let mut bits = seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ count.wrapping_mul(0xd1b5_4a32_d192_ed03);
    for multiplier in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ (bits >> 30)).wrapping_mul(multiplier);
    }
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Faults {
        Faults::new(7, serde_json::from_str(text).unwrap())
    }

    fn ends(faults: &mut Faults, requests: u64) -> Vec<u64> {
        (1..=requests).filter(|_| faults.decide("eu", Kind::Network, Op::Create).0.end.is_some()).collect()
    }

    #[test]
    fn faults_occur_at_the_configured_calls() {
        let mut rules = faults(r#"[{"what": "cut", "nth": [2], "op": "create"}, {"what": "hang", "every": 4}]"#);
        assert_eq!(ends(&mut rules, 8), [2, 4, 8]);
        assert_eq!(ends(&mut faults(r#"[{"what": "cut", "times": 2}]"#), 5), [1, 2]);
        assert_eq!(ends(&mut faults(r#"[{"what": "cut", "region": "us"}]"#), 5), [0_u64; 0]);
        assert_eq!(ends(&mut faults(r#"[{"what": "delay", "delay_ms": 9}]"#), 5), [0_u64; 0]);
    }

    #[test]
    fn random_faults_follow_the_seed() {
        let rule = r#"[{"what": "error", "probability": 0.25}]"#;
        let fired = ends(&mut faults(rule), 1000);
        assert_eq!(fired, ends(&mut faults(rule), 1000));
        assert!((200..300).contains(&fired.len()), "{}", fired.len());
    }
}
