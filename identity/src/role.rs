//! Roles: what a peer may do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A role. `admin` includes all other roles except `worker`. `apply`, `resolve` and `plan` include `read`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// List and watch runs.
    Read,
    /// Read plans of runs, which contain values.
    Plan,
    /// Begin, resume and interrupt runs.
    Apply,
    /// Resolve doubts.
    Resolve,
    /// Everything that a person can do.
    Admin,
    /// Carry out operations.
    Worker,
}

impl Role {
    /// All roles, in the order in which documents list them.
    pub const ALL: [Role; 6] = [Role::Read, Role::Plan, Role::Apply, Role::Resolve, Role::Admin, Role::Worker];

    /// The word for the role in names and files.
    pub fn word(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Plan => "plan",
            Role::Apply => "apply",
            Role::Resolve => "resolve",
            Role::Admin => "admin",
            Role::Worker => "worker",
        }
    }

    /// The role with this word.
    pub fn parse(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.word() == word)
    }

    /// Whether this role permits everything that the other role permits.
    pub fn includes(self, other: Role) -> bool {
        match self {
            Role::Admin => other != Role::Worker,
            Role::Apply => matches!(other, Role::Apply | Role::Plan | Role::Read),
            Role::Plan | Role::Resolve => other == self || other == Role::Read,
            Role::Read | Role::Worker => other == self,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A set of roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Roles(Vec<Role>);

impl Roles {
    /// A set of these roles, without duplicates, in the order of [`Role::ALL`].
    pub fn new(roles: impl IntoIterator<Item = Role>) -> Roles {
        let mut roles: Vec<Role> = roles.into_iter().collect();
        roles.sort_unstable();
        roles.dedup();
        Roles(roles)
    }

    /// Whether a role of the set includes `role`.
    pub fn include(&self, role: Role) -> bool {
        self.0.iter().any(|held| held.includes(role))
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The roles in the order of [`Role::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = Role> + '_ {
        self.0.iter().copied()
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|role| role.word()).collect();
        out.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_includes_what_its_holder_needs_and_no_more() {
        let includes = |role: Role| Role::ALL.into_iter().filter(|other| role.includes(*other)).collect::<Vec<_>>();
        assert_eq!(includes(Role::Read), [Role::Read]);
        assert_eq!(includes(Role::Plan), [Role::Read, Role::Plan]);
        assert_eq!(includes(Role::Apply), [Role::Read, Role::Plan, Role::Apply]);
        assert_eq!(includes(Role::Resolve), [Role::Read, Role::Resolve]);
        assert_eq!(includes(Role::Admin), [Role::Read, Role::Plan, Role::Apply, Role::Resolve, Role::Admin]);
        assert_eq!(includes(Role::Worker), [Role::Worker]);
    }

    #[test]
    fn words_are_read_back() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.word()), Some(role));
        }
        assert_eq!(Role::parse("root"), None);
    }
}
