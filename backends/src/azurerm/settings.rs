//! The arguments of the backend `azurerm`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;

use super::cloud::CloudName;
use super::methods::{self, Method};
use super::problems;
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::client::ClientSettings;

/// The length of a customer key in bytes.
const KEY: usize = 32;
/// The default time limit of a request, in seconds.
const TIMEOUT: u64 = 300;
/// The arguments that have no effect.
const UNUSED: [&str; 2] = ["endpoint", "msi_endpoint"];
/// The arguments with secret values.
const SECRET: [&str; 8] = [
    "access_key",
    "client_certificate",
    "client_certificate_password",
    "client_secret",
    "customer_provided_key",
    "oidc_request_token",
    "oidc_token",
    "sas_token",
];

/// The schema of the arguments.
pub fn schema() -> Block {
    const TEXTS: [&str; 26] = [
        "access_key",
        "ado_service_connection_id",
        "client_certificate",
        "client_certificate_password",
        "client_certificate_path",
        "client_id",
        "client_id_file_path",
        "client_secret",
        "client_secret_file_path",
        "container_name",
        "customer_provided_key",
        "encryption_scope",
        "endpoint",
        "environment",
        "key",
        "metadata_host",
        "msi_endpoint",
        "oidc_request_token",
        "oidc_request_url",
        "oidc_token",
        "oidc_token_file_path",
        "resource_group_name",
        "sas_token",
        "storage_account_name",
        "subscription_id",
        "tenant_id",
    ];
    const FLAGS: [&str; 6] =
        ["snapshot", "use_aks_workload_identity", "use_azuread_auth", "use_cli", "use_msi", "use_oidc"];
    let mut attributes: Vec<(&str, Type)> = TEXTS.into_iter().map(|name| (name, Type::String)).collect();
    attributes.push(("timeout_seconds", Type::Number));
    attributes.extend(FLAGS.into_iter().map(|name| (name, Type::Bool)));
    arguments::schema(&attributes, &["container_name", "key", "storage_account_name"], &SECRET)
}

/// The encryption of blobs.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Encryption {
    /// The encryption that the account is configured for.
    OfAccount,
    /// A named encryption scope of the account.
    Scope(String),
    /// A customer key and its digest, both in base64.
    Customer(String, String),
}

/// The credentials for the blob service.
pub(super) enum Proof {
    /// A key of the account.
    Key(Vec<u8>),
    /// The parameters of a shared access signature.
    Signature(String),
    /// A token.
    Token(Arc<Method>),
    /// A key of the account. It is requested from Resource Manager, with a token.
    ListedKey(Arc<Method>, AccountLocation),
}

/// The location of an account in Resource Manager.
#[derive(Clone)]
pub(super) struct AccountLocation {
    /// The resource group.
    pub(super) group: String,
    /// The subscription. `None` means the current subscription of the Azure CLI.
    pub(super) subscription: Option<String>,
}

/// The settings.
pub(super) struct AzureSettings {
    pub(super) account: String,
    pub(super) container: String,
    pub(super) key: String,
    pub(super) cloud: CloudName,
    pub(super) proof: Proof,
    pub(super) encryption: Encryption,
    /// Whether each write first makes a snapshot of the state.
    pub(super) snapshot: bool,
    /// The maximum time of a request with its retries.
    pub(super) timeout: Duration,
    /// The settings of connections.
    pub(super) client: ClientSettings,
}

impl fmt::Debug for AzureSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "AzureSettings({})", self.place(&self.key))
    }
}

impl AzureSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(AzureSettings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let account = arguments.required("storage_account_name", &[]);
        let container = arguments.required("container_name", &[]);
        let key = arguments.required("key", &[]);
        for name in UNUSED {
            if arguments.written(name).is_some() {
                arguments.problems.push(problems::unused(name));
            }
        }
        let cloud = cloud(&mut arguments);
        let encryption = encryption(&mut arguments);
        let snapshot = arguments.flag("snapshot", &["ARM_SNAPSHOT"]).unwrap_or_default();
        let timeout = arguments.number("timeout_seconds", &["ARM_TIMEOUT_SECONDS"]).unwrap_or(TIMEOUT);
        if weft_graph_format::diagnostic::has_errors(&arguments.problems) {
            return Err(arguments.problems);
        }
        if let Some(problem) = invalid_names(&account, &container) {
            arguments.problems.push(problem);
            return Err(arguments.problems);
        }
        let Some(cloud) = cloud else { return Err(arguments.problems) };
        let Some(proof) = proof(&mut arguments) else { return Err(arguments.problems) };
        let read = AzureSettings {
            account,
            container,
            key,
            cloud,
            proof,
            encryption,
            snapshot,
            timeout: Duration::from_secs(timeout),
            client: ClientSettings { redirects: false, ..ClientSettings::of_environment(environment) },
        };
        arguments.finish(read)
    }

    /// The location of a blob, for display.
    pub(super) fn place(&self, key: &str) -> String {
        format!("azure://{}/{}/{key}", self.account, self.container)
    }
}

fn cloud(arguments: &mut Arguments<'_>) -> Option<CloudName> {
    let host = arguments.filled("metadata_host", &["ARM_METADATA_HOST"]);
    let name = arguments.filled("environment", &["ARM_ENVIRONMENT"]);
    match (host, name) {
        (Some(_), Some(_)) => {
            arguments.problems.push(crate::problems::conflicts("metadata_host", "environment"));
            None
        }
        (Some(host), None) => Some(CloudName::Described(host)),
        (None, name) => {
            let name = name.unwrap_or_default();
            let known = CloudName::of(&name);
            if known.is_none() {
                arguments.problems.push(problems::unknown_environment(&name));
            }
            known
        }
    }
}

fn encryption(arguments: &mut Arguments<'_>) -> Encryption {
    let customer = arguments.filled("customer_provided_key", &["ARM_CUSTOMER_PROVIDED_KEY"]);
    // OpenTofu reads only this variable, which is misspelled.
    let scope = arguments.filled("encryption_scope", &["ARM_ENCYRPTION_SCOPE"]);
    match (customer, scope) {
        (None, None) => Encryption::OfAccount,
        (None, Some(scope)) => Encryption::Scope(scope),
        (Some(_), Some(_)) => {
            arguments.problems.push(crate::problems::conflicts("customer_provided_key", "encryption_scope"));
            Encryption::OfAccount
        }
        (Some(key), None) => match STANDARD.decode(&key) {
            Ok(bytes) if bytes.len() == KEY => Encryption::Customer(key, STANDARD.encode(digest(&SHA256, &bytes))),
            _ => {
                arguments.problems.push(crate::problems::customer_key("customer_provided_key", KEY));
                Encryption::OfAccount
            }
        },
    }
}

/// The problem of the name of an account or a container, if any. The names become parts of addresses.
fn invalid_names(account: &str, container: &str) -> Option<Diagnostic> {
    let plain = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase();
    if !(3..=24).contains(&account.len()) || !account.chars().all(plain) {
        return Some(problems::account_name(account));
    }
    let inner = container.chars().all(|c| plain(c) || c == '-');
    let hyphens = container.starts_with('-') || container.ends_with('-') || container.contains("--");
    ((!(3..=63).contains(&container.len())) || !inner || hyphens).then(|| problems::container_name(container))
}

fn proof(arguments: &mut Arguments<'_>) -> Option<Proof> {
    if let Some(key) = arguments.filled("access_key", &["ARM_ACCESS_KEY"]) {
        let key = STANDARD.decode(key.trim());
        if key.is_err() {
            arguments.problems.push(problems::access_key());
        }
        return key.ok().map(Proof::Key);
    }
    if let Some(signature) = arguments.filled("sas_token", &["ARM_SAS_TOKEN"]) {
        return Some(Proof::Signature(signature.trim_start_matches('?').to_owned()));
    }
    let with_token = arguments.flag("use_azuread_auth", &["ARM_USE_AZUREAD"]).unwrap_or_default();
    let group = arguments.filled("resource_group_name", &[]);
    let subscription = arguments.filled("subscription_id", &["ARM_SUBSCRIPTION_ID"]);
    let method = methods::choose(arguments, subscription.clone())?;
    if with_token {
        return Some(Proof::Token(Arc::new(method)));
    }
    if group.is_none() {
        arguments.problems.push(problems::no_group());
    }
    if subscription.is_none() && !matches!(method, Method::Cli(_)) {
        arguments.problems.push(problems::no_subscription());
    }
    Some(Proof::ListedKey(Arc::new(method), AccountLocation { group: group.unwrap_or_default(), subscription }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn read(more: Json, variables: &[(&str, &str)]) -> Result<(AzureSettings, Vec<String>), Vec<String>> {
        let mut settings = json!({"storage_account_name": "states1", "container_name": "my-states", "key": "team/app"});
        for (name, value) in more.as_object().unwrap() {
            settings[name] = value.clone();
        }
        let environment =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let summaries = |found: Vec<Diagnostic>| found.into_iter().map(|problem| problem.summary).collect();
        let read = AzureSettings::read(settings.as_object().unwrap(), &environment);
        read.map(|(read, warnings)| (read, summaries(warnings))).map_err(summaries)
    }

    #[test]
    fn arguments_come_before_the_environment() {
        let key = STANDARD.encode([7; KEY]);
        let (found, warnings) = read(
            json!({"access_key": "a2V5", "endpoint": "https://x", "timeout_seconds": 3}),
            &[("ARM_ACCESS_KEY", "b3RoZXI="), ("ARM_SNAPSHOT", "true"), ("ARM_CUSTOMER_PROVIDED_KEY", &key)],
        )
        .unwrap();
        assert_eq!(warnings, ["\"endpoint\": [DEPRECATED] it has no effect"]);
        assert!(matches!(&found.proof, Proof::Key(key) if key == b"key"));
        assert!(matches!(&found.encryption, Encryption::Customer(found, _) if *found == key));
        assert_eq!((found.snapshot, found.timeout.as_secs()), (true, 3));
        assert_eq!(format!("{found:?}"), "AzureSettings(azure://states1/my-states/team/app)");
        let (found, _) = read(json!({}), &[("ARM_SAS_TOKEN", "?sv=1&sig=2"), ("ARM_ENCYRPTION_SCOPE", "s")]).unwrap();
        assert!(matches!(&found.proof, Proof::Signature(text) if text == "sv=1&sig=2"));
        assert!(matches!(&found.encryption, Encryption::Scope(scope) if scope == "s"));
        assert_eq!((found.snapshot, found.timeout.as_secs()), (false, TIMEOUT));
    }

    #[test]
    fn invalid_settings() {
        for (settings, want) in [
            (json!({"key": null}), "\"key\": required field is not set"),
            (json!({"storage_account_name": "My"}), "invalid storage account name"),
            (json!({"container_name": "a--b"}), "invalid storage container name"),
            (json!({"container_name": "-ab"}), "invalid storage container name"),
            (json!({"environment": "moon"}), "unknown environment identifier: moon"),
            (json!({"environment": "china", "metadata_host": "x"}), "\"metadata_host\": conflicts with environment"),
            (json!({"customer_provided_key": "short"}), "Invalid customer key"),
            (json!({"timeout_seconds": -1}), "Invalid backend configuration"),
            (json!({"access_key": "%"}), "Error loading credentials"),
        ] {
            let mut with_key = json!({"access_key": "a2V5"});
            for (name, value) in settings.as_object().unwrap() {
                with_key[name] = value.clone();
            }
            assert_eq!(read(with_key, &[]).map(|_| ()), Err(vec![want.to_owned()]), "{settings}");
        }
    }

    #[test]
    fn keys_are_listed_unless_the_token_is_enough() {
        let client = json!({"tenant_id": "t", "client_id": "c", "client_secret": "s"});
        let found = read(client.clone(), &[]).map(|_| ());
        assert_eq!(found, Err(vec!["Resource Group is empty".to_owned(), "Subscription ID is empty".to_owned()]));
        let (found, _) = read(client.clone(), &[("ARM_USE_AZUREAD", "true")]).unwrap();
        assert!(matches!(&found.proof, Proof::Token(method) if matches!(**method, Method::Secret(..))));
        let mut listed = client;
        listed["resource_group_name"] = json!("g");
        let (found, _) = read(listed, &[("ARM_SUBSCRIPTION_ID", "i")]).unwrap();
        assert!(matches!(&found.proof, Proof::ListedKey(_, account) if account.group == "g"));
    }
}
