//! Retries of operations whose calls the provider refused temporarily: which errors count, how many retries to make,
//! and how long to wait before each retry. Plain functions over data.
//!
//! A retry is a new attempt, as after a resume: the FAIL of the previous attempt is durable before the retry begins,
//! and the retry has its own intent. Only errors that a provider returned count. A create that left an object is not
//! repeated.

use std::sync::LazyLock;

use serde::Deserialize;
use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_graph_format::limits::CallRetry;
use weft_identity::pattern::Pattern;

/// The maximum number of retries of an operation, if no rule says otherwise. With the pauses below, the last retry
/// begins a few minutes after the first refusal.
pub const RETRY_ATTEMPTS: u32 = 10;
/// The time in seconds after the first refusal during which retries may begin, if no rule says otherwise. Quotas of
/// services are per second or per minute; a quota that is exhausted for longer needs an operator.
pub const RETRY_SECONDS: u32 = 600;
/// The maximum number of retries that a rule may allow.
pub const MOST_ATTEMPTS: u32 = 100;
/// The maximum time in seconds that a rule may allow: a day.
pub const MOST_SECONDS: u32 = 86_400;

/// The longest pause before the second attempt, in milliseconds. The longest pause doubles with each attempt.
const FIRST_PAUSE_MS: u64 = 1_000;
/// The longest pause before any attempt, in milliseconds.
const LONGEST_PAUSE_MS: u64 = 60_000;

/// The known errors, as shipped.
const KNOWN: &str = include_str!("retry/patterns.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownErrors {
    /// Strings in error messages that name a step after the create has taken effect.
    after_create: Vec<String>,
    provider: Vec<ProviderErrors>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderErrors {
    /// A pattern for provider sources without their host, or `any`.
    source: Pattern,
    patterns: Vec<String>,
}

/// `None` if the file is invalid. A test reads the file.
static ERRORS: LazyLock<Option<KnownErrors>> = LazyLock::new(|| toml::from_str(KNOWN).ok());

/// The rule for retries of the operations of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryRule {
    attempts: u32,
    milliseconds: u64,
    /// Strings in lower case that mark an error as a temporary refusal.
    patterns: Vec<String>,
}

impl RetryRule {
    /// The rule for a provider, by its source without host, such as `hashicorp/aws`. `own` is the rule of the placement
    /// file for this provider.
    pub fn new(source: &str, own: Option<&CallRetry>) -> RetryRule {
        let usual = CallRetry { attempts: RETRY_ATTEMPTS, seconds: RETRY_SECONDS, patterns: Vec::new() };
        let own = own.unwrap_or(&usual);
        let shipped = ERRORS.iter().flat_map(|known| &known.provider);
        let matching = shipped.filter(|errors| errors.source.matches(source) || errors.source.matches("any"));
        let known = matching.flat_map(|errors| &errors.patterns).chain(&own.patterns);
        RetryRule {
            attempts: own.attempts.min(MOST_ATTEMPTS),
            milliseconds: u64::from(own.seconds.min(MOST_SECONDS)) * 1_000,
            patterns: known.map(|pattern| pattern.trim().to_lowercase()).collect(),
        }
    }

    /// Whether every error says that the request was refused temporarily.
    pub fn is_refusal(&self, diagnostics: &[Diagnostic]) -> bool {
        let mut errors = diagnostics.iter().filter(|problem| problem.severity == Severity::Error).peekable();
        errors.peek().is_some() && errors.all(|problem| self.matches(&problem.summary) || self.matches(&problem.detail))
    }

    /// Whether errors of a create name a step that runs after the create has taken effect.
    pub fn is_after_create(diagnostics: &[Diagnostic]) -> bool {
        let words = || ERRORS.iter().flat_map(|known| &known.after_create);
        let names_one = |text: &str| {
            let text = text.to_lowercase();
            words().any(|word| has_word(&text, word))
        };
        diagnostics.iter().any(|problem| names_one(&problem.summary) || names_one(&problem.detail))
    }

    fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.patterns.iter().any(|pattern| has_word(&text, pattern))
    }

    /// The pause in milliseconds before the next attempt, or `None` if there is no further attempt. `refusals` is the
    /// number of refusals so far. The first refusal was `since` milliseconds ago. `spread` is any number; different
    /// numbers give different pauses.
    pub fn pause(&self, refusals: u32, since: u64, spread: u64) -> Option<u64> {
        if refusals == 0 || refusals > self.attempts {
            return None;
        }
        let longest = FIRST_PAUSE_MS.saturating_mul(1 << (refusals - 1).min(30)).min(LONGEST_PAUSE_MS);
        // Half of the longest pause is fixed, and the other half depends on the spread.
        let pause = longest / 2 + spread % (longest / 2 + 1);
        (since.saturating_add(pause) <= self.milliseconds).then_some(pause)
    }
}

/// Whether a string contains a pattern that is not followed by a letter or digit.
fn has_word(text: &str, pattern: &str) -> bool {
    let ends = |neighbour: Option<char>| !neighbour.is_some_and(char::is_alphanumeric);
    !pattern.is_empty()
        && text
            .match_indices(pattern)
            .any(|(at, found)| ends(text[..at].chars().next_back()) && ends(text[at + found.len()..].chars().next()))
}

/// A number for `spread` in [`RetryRule::pause`]. It depends only on the arguments.
pub fn spread(seed: u64, operation: u32, attempt: u32) -> u64 {
    // The last steps of SplitMix64.
    let mut bits = seed ^ ((u64::from(operation) << 32) | u64::from(attempt)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for multiplier in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ (bits >> 30)).wrapping_mul(multiplier);
    }
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(source: &str, detail: &str) -> bool {
        RetryRule::new(source, None).is_refusal(&[Diagnostic::error("creating a thing", detail)])
    }

    #[test]
    fn the_file_of_known_errors_is_valid() {
        let known: KnownErrors = toml::from_str(KNOWN).unwrap();
        assert!(known.provider.iter().all(|errors| errors.patterns.iter().all(|pattern| pattern.len() >= 4)));
    }

    #[test]
    fn errors_of_providers_are_distinguished() {
        for (source, detail, expected) in [
            ("hashicorp/aws", "api error ThrottlingException: Rate exceeded", true),
            ("hashicorp/aws", "RequestLimitExceeded: Request limit exceeded.", true),
            ("hashicorp/aws", "AccessDenied: policy throttling-rule", false),
            ("hashicorp/aws", "creating Policy(ThrottlingPolicy): AccessDenied", false),
            ("hashicorp/aws", "timeout while waiting for state to become 'ready'", false),
            ("hashicorp/azurerm", "unexpected status 429 (429 Too Many Requests)", true),
            ("hashicorp/google", "googleapi: Error 429: Quota exceeded, rateLimitExceeded", true),
            ("hashicorp/google", "googleapi: Error 4290", false),
            ("me/mine", "the cloud answered HTTP 429.", true),
            ("me/mine", "SlowDown", false),
            ("me/mine", "connection reset by peer", false),
        ] {
            assert_eq!(refused(source, detail), expected, "{source}: {detail}");
        }
    }

    #[test]
    fn a_create_may_have_taken_effect_before_its_error() {
        for (detail, expected) in [
            ("creating Thing: ThrottlingException: Rate exceeded", false),
            ("waiting for Thing (t-1) to be created: ThrottlingException: Rate exceeded", true),
            ("reading Thing (t-1) after create: Rate exceeded", true),
            ("setting Tags of Thing: Rate exceeded", true),
            ("creating StagesReadingRoom: Rate exceeded", false),
        ] {
            assert_eq!(RetryRule::is_after_create(&[Diagnostic::error("", detail)]), expected, "{detail}");
        }
    }

    #[test]
    fn an_error_of_another_kind_beside_it_counts() {
        let rule = RetryRule::new("hashicorp/aws", None);
        let throttled = Diagnostic::error("Throttling: Rate exceeded", "");
        assert!(rule.is_refusal(&[throttled.clone(), Diagnostic::warning("Deprecated", "")]));
        assert!(!rule.is_refusal(&[throttled, Diagnostic::error("AccessDenied", "")]));
        assert!(!rule.is_refusal(&[Diagnostic::warning("Rate exceeded", "")]) && !rule.is_refusal(&[]));
    }

    #[test]
    fn pauses_grow_differ_and_end() {
        let rule = RetryRule::new("a/b", None);
        assert_eq!((rule.pause(0, 0, 0), rule.pause(1, 0, 0), rule.pause(2, 0, 0)), (None, Some(500), Some(1_000)));
        assert!((500..=1_000).contains(&rule.pause(1, 0, u64::MAX).unwrap()));
        assert!((30_000..=60_000).contains(&rule.pause(10, 0, 12_345).unwrap()));
        assert_eq!(rule.pause(11, 0, 0), None, "attempts are bounded");
        assert_eq!(rule.pause(3, 599_000, 0), None, "time is bounded");
        assert_ne!(spread(1, 2, 3), spread(1, 2, 4));
        assert_eq!(spread(1, 2, 3), spread(1, 2, 3));
    }

    #[test]
    fn a_file_can_add_errors_and_turn_retries_off() {
        let own = CallRetry { attempts: 0, seconds: 5, patterns: vec!["Come Back Later".into()] };
        let rule = RetryRule::new("a/b", Some(&own));
        assert!(rule.is_refusal(&[Diagnostic::error("no", "come back later!")]));
        assert_eq!(rule.pause(1, 0, 0), None);
    }
}
