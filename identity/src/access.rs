//! Allows or refuses requests, by the roles of the caller. No other module makes this decision.

use crate::peer::Peer;
use crate::policy::Policy;
use crate::role::Role;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The caller has presented neither a certificate nor a token.
    #[error(
        "a certificate or a token is needed: name a certificate with -tls-cert and -tls-key, or set WEFT_TOKEN to a \
         token"
    )]
    Unauthenticated,
    /// The caller's certificate does not name its owner.
    #[error("the certificate has no SPIFFE ID: it needs exactly one URI among its alternative names, spiffe://...")]
    Nameless,
    /// The caller lacks a role.
    #[error("{peer} does not have the role {role} for the state {state:?}")]
    RoleMissing {
        /// The caller.
        peer: String,
        /// The role that is needed.
        role: Role,
        /// The state.
        state: String,
    },
}

/// The rules for the state of a coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// The name of the state in policies.
    pub state: String,
    /// The policy file. Without one, certificates have the roles that are in their names.
    pub policy: Option<Policy>,
}

impl AccessRules {
    /// Checks that the caller has the role that its request needs.
    ///
    /// # Errors
    /// Returns a [`Refusal`] if the caller is not authenticated, has no valid name, or does not have the role.
    pub fn check(&self, peer: &Peer, role: Role) -> Result<(), Refusal> {
        let allowed = match (peer, &self.policy) {
            (Peer::Unknown, _) => return Err(Refusal::Unauthenticated),
            (Peer::Nameless, _) => return Err(Refusal::Nameless),
            (Peer::SameUser { .. }, _) => true,
            (_, Some(policy)) => policy.gives(peer, role, &self.state),
            (Peer::Certificate(name), None) => name.roles().include(role),
            (Peer::Token(_), None) => false,
        };
        if allowed {
            return Ok(());
        }
        Err(Refusal::RoleMissing { peer: peer.to_string(), role, state: self.state.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::SpiffeId;

    #[test]
    fn names_give_roles_only_without_a_policy() {
        let alice = Peer::Certificate(SpiffeId::parse("spiffe://d/weft/apply/alice").unwrap());
        let mut access = AccessRules { state: "prod".to_owned(), policy: None };
        assert_eq!(access.check(&alice, Role::Apply), Ok(()));
        let refusal = access.check(&alice, Role::Worker).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "spiffe://d/weft/apply/alice does not have the role worker for the state \"prod\""
        );
        access.policy = Some(Policy::default());
        assert!(access.check(&alice, Role::Apply).is_err());
    }

    #[test]
    fn who_shows_nothing_may_do_nothing() {
        for role in Role::ALL {
            assert_eq!(AccessRules::default().check(&Peer::Unknown, role), Err(Refusal::Unauthenticated));
            assert_eq!(AccessRules::default().check(&Peer::SameUser { user: 1 }, role), Ok(()));
        }
    }
}
