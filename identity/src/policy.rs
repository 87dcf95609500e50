//! Policy files (TOML), which assign roles for states to callers.
//!
//! ```toml
//! [[issuer]]                                   # whose tokens are accepted
//! url = "https://token.actions.githubusercontent.com"
//! audience = "weft"
//!
//! [[rule]]
//! identity = "spiffe://prod.example.org/team-a/*"
//! roles = ["apply", "resolve"]
//! states = ["team-a-*"]
//!
//! [[rule]]
//! token = { issuer = "https://token.actions.githubusercontent.com", repository = "acme/infra", ref = "refs/heads/main" }
//! roles = ["apply"]
//! states = ["team-a-prod"]
//! ```
//!
//! A rule matches if its `identity` matches the name in the caller's certificate, or if all claims in its `token` match
//! the caller's token. All patterns may contain `*`. A caller has the roles of all matching rules. Without a policy
//! file, certificates have the roles in their names, for every state.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::claims::Claims;
use crate::pattern::Pattern;
use crate::peer::Peer;
use crate::role::{Role, Roles};
use crate::token::TokenIssuer;

/// The maximum size of a policy file in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The claim of a rule that names the issuer.
const ISSUER: &str = "issuer";

/// A policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    #[serde(default, rename = "issuer")]
    issuers: Vec<TokenIssuer>,
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    identity: Option<Pattern>,
    token: Option<BTreeMap<String, Pattern>>,
    roles: Roles,
    states: Vec<Pattern>,
}

/// Why a policy file is refused.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("the policy file {path} cannot be read: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// The reason of the operating system.
        error: std::io::Error,
    },
    /// The file is too large.
    #[error("the policy file {path} is larger than {MAX_BYTES} bytes")]
    TooLarge {
        /// The file.
        path: String,
    },
    /// The content is invalid.
    #[error("the policy file {path} is invalid: {error}")]
    Invalid {
        /// The file.
        path: String,
        /// The problem.
        error: PolicyProblem,
    },
}

/// Why the content of a policy file is invalid.
#[derive(Debug, thiserror::Error)]
pub enum PolicyProblem {
    /// The text is not TOML, or not in the form of the file. The message has line and column if they are known.
    #[error("{}", .0.to_string().trim_end())]
    Form(#[source] toml::de::Error),
    /// A rule has neither an identity nor a token, or both.
    #[error("rule {rule} needs either `identity` or `token`")]
    IdentityOrToken {
        /// The position of the rule, from 1.
        rule: usize,
    },
    /// A rule gives nothing.
    #[error("rule {rule} needs at least one role and one state")]
    GivesNothing {
        /// The position of the rule, from 1.
        rule: usize,
    },
    /// The token of a rule names no issuer.
    #[error("the token of rule {rule} needs `issuer`")]
    NoIssuer {
        /// The position of the rule, from 1.
        rule: usize,
    },
    /// The token of a rule names an issuer whose tokens are not accepted.
    #[error("rule {rule} names the issuer {issuer}, which no [[issuer]] describes")]
    UnknownIssuer {
        /// The position of the rule, from 1.
        rule: usize,
        /// The pattern for the issuer.
        issuer: String,
    },
    /// The token of a rule names only an issuer.
    #[error("the token of rule {rule} needs a claim besides `issuer`: anyone can get a token of a public issuer")]
    OnlyIssuer {
        /// The position of the rule, from 1.
        rule: usize,
    },
}

impl Policy {
    /// Reads a policy file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not valid.
    pub fn read(path: &Path) -> Result<Policy, PolicyError> {
        let shown = || path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| PolicyError::Unreadable { path: shown(), error })?;
        if text.len() > MAX_BYTES {
            return Err(PolicyError::TooLarge { path: shown() });
        }
        Policy::parse(&text).map_err(|error| PolicyError::Invalid { path: shown(), error })
    }

    /// Reads a policy from text.
    ///
    /// # Errors
    /// Returns an error if the text is not in the form of the file, or if a rule cannot be used.
    pub fn parse(text: &str) -> Result<Policy, PolicyProblem> {
        let policy: Policy = toml::from_str(text).map_err(PolicyProblem::Form)?;
        for (index, rule) in policy.rules.iter().enumerate() {
            let number = index + 1;
            match (&rule.identity, &rule.token) {
                (Some(_), None) => {}
                (None, Some(claims)) => policy.check_claims(number, claims)?,
                _ => return Err(PolicyProblem::IdentityOrToken { rule: number }),
            }
            if rule.roles.is_empty() || rule.states.is_empty() {
                return Err(PolicyProblem::GivesNothing { rule: number });
            }
        }
        Ok(policy)
    }

    /// Checks the claims of a rule. Without a known issuer and another claim, the rule could match tokens of other
    /// pipelines.
    fn check_claims(&self, rule: usize, claims: &BTreeMap<String, Pattern>) -> Result<(), PolicyProblem> {
        let Some(issuer) = claims.get(ISSUER) else {
            return Err(PolicyProblem::NoIssuer { rule });
        };
        if !self.issuers.iter().any(|known| known.url == issuer.to_string()) {
            return Err(PolicyProblem::UnknownIssuer { rule, issuer: issuer.to_string() });
        }
        if claims.len() < 2 {
            return Err(PolicyProblem::OnlyIssuer { rule });
        }
        Ok(())
    }

    /// The issuers whose tokens are accepted.
    pub fn issuers(&self) -> &[TokenIssuer] {
        &self.issuers
    }

    /// Whether a rule gives this role, for this state, to a peer.
    pub fn gives(&self, peer: &Peer, role: Role, state: &str) -> bool {
        let matches = |rule: &&Rule| {
            rule.roles.include(role) && rule.states.iter().any(|pattern| pattern.matches(state)) && rule.is_for(peer)
        };
        self.rules.iter().any(|rule| matches(&rule))
    }
}

impl Rule {
    fn is_for(&self, peer: &Peer) -> bool {
        match peer {
            Peer::Certificate(name) => self.identity.as_ref().is_some_and(|pattern| pattern.matches(name.as_str())),
            Peer::Token(claims) => self.token.as_ref().is_some_and(|wanted| have(claims, wanted)),
            Peer::SameUser { .. } | Peer::Nameless | Peer::Unknown => false,
        }
    }
}

/// Whether the token has all these claims. A claim that is a list matches if one of its elements matches.
fn have(claims: &Claims, wanted: &BTreeMap<String, Pattern>) -> bool {
    wanted.iter().all(|(name, pattern)| match name.as_str() {
        ISSUER => pattern.matches(&claims.issuer),
        name => claims.texts(name).iter().any(|text| pattern.matches(text)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::SpiffeId;

    const POLICY: &str = r#"
        [[issuer]]
        url = "https://ci.example.org"
        audience = "weft"

        [[rule]]
        identity = "spiffe://example.org/team-a/*"
        roles = ["apply", "resolve"]
        states = ["team-a-*"]

        [[rule]]
        identity = "spiffe://example.org/*"
        roles = ["read"]
        states = ["*"]

        [[rule]]
        token = { issuer = "https://ci.example.org", repository = "acme/*", ref = "refs/heads/main" }
        roles = ["apply"]
        states = ["prod"]
    "#;

    fn certificate(name: &str) -> Peer {
        Peer::Certificate(SpiffeId::parse(name).unwrap())
    }

    fn token(issuer: &str, claims: &[(&str, serde_json::Value)]) -> Peer {
        let claims = claims.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Peer::Token(Claims { issuer: issuer.to_owned(), subject: "s".to_owned(), other: claims })
    }

    #[test]
    fn the_roles_of_all_matching_rules_count() {
        let policy = Policy::parse(POLICY).unwrap();
        let alice = certificate("spiffe://example.org/team-a/alice");
        assert!(policy.gives(&alice, Role::Apply, "team-a-prod"));
        assert!(policy.gives(&alice, Role::Resolve, "team-a-prod"));
        assert!(policy.gives(&alice, Role::Read, "team-b-prod"), "by the second rule");
        assert!(!policy.gives(&alice, Role::Apply, "team-b-prod"));
        assert!(!policy.gives(&alice, Role::Admin, "team-a-prod"));
        assert!(!policy.gives(&alice, Role::Worker, "team-a-prod"));
        assert!(!policy.gives(&certificate("spiffe://other.org/team-a/alice"), Role::Read, "team-a-prod"));
    }

    #[test]
    fn all_claims_of_a_rule_must_match() {
        let policy = Policy::parse(POLICY).unwrap();
        let main = [("repository", "acme/infra".into()), ("ref", "refs/heads/main".into())];
        assert!(policy.gives(&token("https://ci.example.org", &main), Role::Apply, "prod"));
        assert!(!policy.gives(&token("https://ci.example.org", &main), Role::Apply, "test"));
        assert!(!policy.gives(&token("https://other.example.org", &main), Role::Apply, "prod"));
        assert!(!policy.gives(&token("https://ci.example.org", &main[..1]), Role::Apply, "prod"));
        let branch = [("repository", "acme/infra".into()), ("ref", "refs/heads/x".into())];
        assert!(!policy.gives(&token("https://ci.example.org", &branch), Role::Apply, "prod"));
        let list = [("repository", serde_json::json!(["a", "acme/b"])), ("ref", "refs/heads/main".into())];
        assert!(policy.gives(&token("https://ci.example.org", &list), Role::Apply, "prod"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, words) in [
            ("[[rule]]\nroles = [\"read\"]\nstates = [\"*\"]", "rule 1 needs either"),
            ("[[rule]]\nidentity = \"*\"\nroles = []\nstates = [\"*\"]", "at least one role"),
            ("[[rule]]\nidentity = \"*\"\nroles = [\"root\"]\nstates = [\"*\"]", "unknown variant `root`"),
            ("[[rule]]\nidentity = \"*\"\nrole = [\"read\"]", "unknown field `role`"),
            ("[[rule]]\ntoken = { sub = \"x\" }\nroles = [\"read\"]\nstates = [\"*\"]", "needs `issuer`"),
            ("[[rule]]\ntoken = { issuer = \"x\", a = \"b\" }\nroles = [\"read\"]\nstates = [\"*\"]", "no [[issuer]]"),
            (
                "[[issuer]]\nurl = \"x\"\naudience = \"w\"\n[[rule]]\ntoken = { issuer = \"x\" }\nroles = [\"read\"]\n\
                 states = [\"*\"]",
                "a claim besides",
            ),
            ("rule = 3", "invalid type"),
        ] {
            let error = Policy::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
