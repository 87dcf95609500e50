//! The names of secrets and leases, and their labels.

use serde_json::{Map, Value as Json};
use weft_state::remote::BackendError;

use super::refusals;

/// The maximum length of a name in Kubernetes (RFC 1123, section 2.1).
const NAME_LIMIT: usize = 253;
/// The label of all secrets and leases of the backend. In a secret, it is also the key of the state's data.
pub(super) const STATE: &str = "tfstate";
/// The label with the suffix from the settings.
pub(super) const SUFFIX: &str = "tfstateSecretSuffix";
/// The label with the workspace.
pub(super) const WORKSPACE: &str = "tfstateWorkspace";
/// The label with the program.
pub(super) const MANAGER: &str = "app.kubernetes.io/managed-by";

/// The name of the secret with the state of a workspace.
///
/// # Errors
/// Returns an error if the name is not valid in Kubernetes.
pub(super) fn secret(workspace: &str, suffix: &str) -> Result<String, BackendError> {
    let name = format!("{STATE}-{workspace}-{suffix}");
    match is_subdomain(&name) {
        true => Ok(name),
        false => Err(refusals::invalid_name(&name, NAME_LIMIT)),
    }
}

/// The name of the lease that locks the state in this secret.
pub(super) fn lease(secret: &str) -> String {
    format!("lock-{secret}")
}

/// The labels of the secret and the lease of a workspace. Labels from the settings take precedence.
pub(super) fn labels(workspace: &str, suffix: &str, more: &[(String, String)]) -> Json {
    let own = [(STATE, "true"), (SUFFIX, suffix), (WORKSPACE, workspace), (MANAGER, "terraform")];
    let mut labels: Map<String, Json> = own.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
    labels.extend(more.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
    Json::Object(labels)
}

fn is_subdomain(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.iter().all(|byte| letter(*byte) || *byte == b'-')
            && bytes.first().is_some_and(|byte| letter(*byte))
            && bytes.last().is_some_and(|byte| letter(*byte))
    };
    name.len() <= NAME_LIMIT && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_kubernetes() {
        assert_eq!(secret("default", "app").unwrap(), "tfstate-default-app");
        assert_eq!(lease("tfstate-default-app"), "lock-tfstate-default-app");
        assert!(secret("a.b", "c-d").is_ok());
        for (workspace, suffix) in
            [("Big", "app"), ("a_b", "app"), ("a", "app-"), ("a", "x."), ("a", ""), ("a..b", "c")]
        {
            assert!(secret(workspace, suffix).is_err(), "{workspace} {suffix}");
        }
        assert!(secret("a", &"x".repeat(300)).is_err());
    }

    #[test]
    fn own_labels_win() {
        let labels = labels("w", "s", &[(MANAGER.to_owned(), "us".to_owned()), ("team".to_owned(), "x".to_owned())]);
        assert_eq!((labels[MANAGER].as_str(), labels["team"].as_str()), (Some("us"), Some("x")));
        assert_eq!((labels[STATE].as_str(), labels[WORKSPACE].as_str()), (Some("true"), Some("w")));
    }
}
