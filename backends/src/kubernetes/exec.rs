//! Credential plugins: programs that write an `ExecCredential` of client.authentication.k8s.io.

use std::fmt;
use std::io::IsTerminal as _;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use tokio::process::Command;

use super::problems::{PluginFailure, PluginProblem};

/// The supported versions of the protocol.
const VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
/// The environment variable that passes the request to the plugin.
const WANTED: &str = "KUBERNETES_EXEC_INFO";
/// The time limit for a plugin. It may open a browser and wait for the user.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Whether a plugin may interact with the user at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interaction {
    Never,
    IfAvailable,
    Always,
}

/// A plugin. Its arguments and variables may be secret.
#[derive(Clone)]
pub(super) struct Plugin {
    version: String,
    command: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    interaction: Interaction,
    /// The description of the cluster, if the plugin requires it.
    cluster: Option<Json>,
    hint: Option<String>,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Plugin({})", self.command)
    }
}

/// The credentials that a plugin returned. The identity is a certificate and its key in PEM.
pub(super) struct Credentials {
    pub(super) token: Option<String>,
    pub(super) identity: Option<(String, String)>,
    pub(super) expires: Option<SystemTime>,
}

fn text(from: &Json, name: &str) -> Option<String> {
    from.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn known_version(version: &str) -> Result<(), PluginProblem> {
    match VERSIONS.contains(&version) {
        true => Ok(()),
        false => Err(PluginProblem::Version { version: version.to_owned(), known: &VERSIONS }),
    }
}

impl Plugin {
    /// The plugin in the settings of the backend.
    ///
    /// # Errors
    /// Returns an error if the version of the protocol is unknown.
    pub(super) fn of_block(block: &Json) -> Result<Plugin, PluginProblem> {
        let version = text(block, "api_version").unwrap_or_default();
        known_version(&version)?;
        let arguments = block.get("args").and_then(Json::as_array).into_iter().flatten();
        let variables = block.get("env").and_then(Json::as_object).into_iter().flatten();
        Ok(Plugin {
            version,
            command: text(block, "command").unwrap_or_default(),
            // An empty string in a list may be null.
            arguments: arguments.map(|text| text.as_str().unwrap_or_default().to_owned()).collect(),
            variables: variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect(),
            interaction: Interaction::IfAvailable,
            cluster: None,
            hint: None,
        })
    }

    /// The plugin of a user in a kubeconfig file.
    ///
    /// # Errors
    /// Returns an error if a field is missing or not valid.
    pub(super) fn of_user(user: &str, exec: &Json, cluster: &Json) -> Result<Plugin, PluginProblem> {
        let missing = |field: &'static str| PluginProblem::NoField { field, user: user.to_owned() };
        let version = text(exec, "apiVersion").ok_or_else(|| missing("apiVersion"))?;
        known_version(&version)?;
        let interaction = match text(exec, "interactiveMode").as_deref() {
            Some("Never") => Interaction::Never,
            Some("IfAvailable") => Interaction::IfAvailable,
            Some("Always") => Interaction::Always,
            None if version == VERSIONS[1] => Interaction::IfAvailable,
            None => return Err(missing("interactiveMode")),
            Some(mode) => return Err(PluginProblem::Mode { user: user.to_owned(), mode: mode.to_owned() }),
        };
        let arguments = exec.get("args").and_then(Json::as_array).into_iter().flatten();
        let variables = exec.get("env").and_then(Json::as_array).into_iter().flatten();
        let wants_cluster = exec.get("provideClusterInfo").and_then(Json::as_bool).unwrap_or(false);
        Ok(Plugin {
            version,
            command: text(exec, "command").ok_or_else(|| missing("command"))?,
            arguments: arguments.map(|text| text.as_str().unwrap_or_default().to_owned()).collect(),
            variables: variables
                .filter_map(|entry| Some((text(entry, "name")?, text(entry, "value").unwrap_or_default())))
                .collect(),
            interaction,
            cluster: wants_cluster.then(|| described_cluster(cluster)).transpose()?,
            hint: text(exec, "installHint"),
        })
    }

    /// Runs the plugin.
    ///
    /// # Errors
    /// Returns an error without secrets if the plugin returns no credentials.
    pub(super) async fn run(&self) -> Result<Credentials, PluginProblem> {
        let terminal = std::io::stdin().is_terminal();
        let interactive = terminal && self.interaction != Interaction::Never;
        if self.interaction == Interaction::Always && !terminal {
            return Err(PluginProblem::NoTerminal);
        }
        let mut wanted =
            json!({"kind": "ExecCredential", "apiVersion": self.version, "spec": {"interactive": interactive}});
        if let Some(cluster) = &self.cluster {
            wanted["spec"]["cluster"] = cluster.clone();
        }
        let mut command = Command::new(&self.command);
        command.args(&self.arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env(WANTED, wanted.to_string()).stderr(Stdio::inherit()).kill_on_drop(true);
        command.stdin(if interactive { Stdio::inherit() } else { Stdio::null() });
        let failed = |failure| PluginProblem::Failed { failure, hint: self.hint.clone() };
        let command_name = || self.command.clone();
        let output = match tokio::time::timeout(TIME_LIMIT, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(failed(PluginFailure::NotStarted { command: command_name(), error })),
            Err(_) => return Err(failed(PluginFailure::TooLong { command: command_name() })),
        };
        if !output.status.success() {
            return Err(failed(PluginFailure::Status { command: command_name(), status: output.status }));
        }
        self.credentials(&output.stdout)
    }

    fn credentials(&self, output: &[u8]) -> Result<Credentials, PluginProblem> {
        let answer: Json = serde_json::from_slice(output).map_err(|_| PluginProblem::NotJson)?;
        let version = text(&answer, "apiVersion").unwrap_or_default();
        if version != self.version || text(&answer, "kind").as_deref() != Some("ExecCredential") {
            return Err(PluginProblem::OtherVersion { wanted: self.version.clone(), found: version });
        }
        let Some(status) = answer.get("status").filter(|status| status.is_object()) else {
            return Err(PluginProblem::NoStatus);
        };
        let token = text(status, "token");
        let identity = match (text(status, "clientCertificateData"), text(status, "clientKeyData")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) if token.is_none() => {
                return Err(PluginProblem::NoCredentials);
            }
            (None, None) => None,
            _ => return Err(PluginProblem::HalfIdentity),
        };
        let expires = text(status, "expirationTimestamp").and_then(|text| text.parse::<jiff::Timestamp>().ok());
        Ok(Credentials { token, identity, expires: expires.map(SystemTime::from) })
    }
}

/// The description of the cluster for a plugin.
fn described_cluster(cluster: &Json) -> Result<Json, PluginProblem> {
    let mut described = json!({"server": text(cluster, "server").unwrap_or_default(), "config": null});
    for name in ["tls-server-name", "insecure-skip-tls-verify", "proxy-url", "certificate-authority-data"] {
        if let Some(value) = cluster.get(name).filter(|value| !value.is_null()) {
            described[name] = value.clone();
        }
    }
    if let Some(path) =
        text(cluster, "certificate-authority").filter(|_| described.get("certificate-authority-data").is_none())
    {
        let content = std::fs::read(&path).map_err(|error| PluginProblem::Authority { path, error })?;
        described["certificate-authority-data"] = json!(STANDARD.encode(content));
    }
    let extensions = cluster.get("extensions").and_then(Json::as_array).into_iter().flatten();
    let mut own =
        extensions.filter(|extension| text(extension, "name").as_deref() == Some("client.authentication.k8s.io/exec"));
    if let Some(extension) = own.next() {
        described["config"] = extension.get("extension").cloned().unwrap_or_default();
    }
    Ok(described)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(version: &str) -> Result<Plugin, PluginProblem> {
        Plugin::of_user(
            "u",
            &json!({"apiVersion": version, "command": "sh", "interactiveMode": "Never",
            "args": ["-c", "echo \"$ANSWER\"; test \"$ANSWER\" != fail"]}),
            &json!({}),
        )
    }

    #[test]
    fn plugins_are_checked() {
        assert!(
            plugin("client.authentication.k8s.io/v1alpha1").unwrap_err().to_string().contains("invalid apiVersion")
        );
        let exec = json!({"apiVersion": VERSIONS[0], "command": "c"});
        let missing = Plugin::of_user("u", &exec, &json!({})).unwrap_err().to_string();
        assert!(missing.starts_with("interactiveMode must be specified"), "{missing}");
        let exec = json!({"apiVersion": VERSIONS[1], "command": "c", "provideClusterInfo": true});
        let cluster = json!({"server": "https://a", "insecure-skip-tls-verify": true,
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": "b"}}]});
        let want = json!({"server": "https://a", "config": {"a": "b"}, "insecure-skip-tls-verify": true});
        assert_eq!(Plugin::of_user("u", &exec, &cluster).unwrap().cluster, Some(want));
        let block = json!({"api_version": VERSIONS[0], "command": "c", "args": ["a", null], "env": {"A": "secret"}});
        let found = Plugin::of_block(&block).unwrap();
        assert_eq!(found.arguments, ["a", ""]);
        assert!(!format!("{found:?}").contains("secret"));
    }

    #[tokio::test]
    async fn answers_are_read() {
        let version = VERSIONS[0];
        let answer =
            |status: Json| json!({"apiVersion": version, "kind": "ExecCredential", "status": status}).to_string();
        for (answer, want) in [
            (answer(json!({"token": "t", "expirationTimestamp": "2030-01-02T03:04:05Z"})), Ok("t")),
            (answer(json!({"clientCertificateData": "c", "clientKeyData": "k"})), Ok("")),
            (answer(json!({"clientCertificateData": "c"})), Err("only certificate or key")),
            (answer(json!({})), Err("a token or cert/key pair")),
            (answer(Json::Null), Err("a status field")),
            (json!({"apiVersion": VERSIONS[1], "kind": "ExecCredential"}).to_string(), Err("returned version")),
            ("text".to_owned(), Err("not JSON")),
            ("fail".to_owned(), Err("failed with exit status: 1")),
        ] {
            let mut plugin = plugin(version).unwrap();
            plugin.variables.push(("ANSWER".to_owned(), answer.clone()));
            match (plugin.run().await, want) {
                (Ok(found), Ok(token)) => assert_eq!(found.token.unwrap_or_default(), token),
                (Err(error), Err(want)) => assert!(error.to_string().contains(want), "{error}"),
                (found, want) => panic!("{answer}: {want:?}, {}", found.is_ok()),
            }
        }
    }
}
