//! The arguments of the backend `kubernetes`.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value as Json;
use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;

use super::cluster::Cluster;
use super::exec::Plugin;
use super::kubeconfig::{Choice, Kubeconfig};
use super::problems::{self as own, ClusterProblem};
use crate::arguments::{self, Arguments, BackendSettings, Environment, expanded};

/// The schema of the arguments.
pub fn schema() -> Block {
    let attributes = [
        ("client_certificate", Type::String),
        ("client_key", Type::String),
        ("cluster_ca_certificate", Type::String),
        ("config_context", Type::String),
        ("config_context_auth_info", Type::String),
        ("config_context_cluster", Type::String),
        ("config_path", Type::String),
        ("config_paths", Type::list(Type::String)),
        ("host", Type::String),
        ("in_cluster_config", Type::Bool),
        ("insecure", Type::Bool),
        ("labels", Type::map(Type::String)),
        ("load_config_file", Type::Bool),
        ("namespace", Type::String),
        ("password", Type::String),
        ("secret_suffix", Type::String),
        ("token", Type::String),
        ("username", Type::String),
    ];
    let mut schema = arguments::schema(&attributes, &["secret_suffix"], &["client_key", "password", "token"]);
    let attributes = [
        ("api_version", Type::String),
        ("args", Type::list(Type::String)),
        ("command", Type::String),
        ("env", Type::map(Type::String)),
    ];
    let block = arguments::schema(&attributes, &["api_version", "command"], &["args", "env"]);
    let exec = NestedBlock { block, nesting: Nesting::List, min_items: 0, max_items: 1 };
    schema.blocks.insert(SmolStr::new("exec"), exec);
    schema
}

/// The settings.
pub(super) struct KubernetesSettings {
    /// The suffix of the names of secrets.
    pub(super) suffix: String,
    pub(super) namespace: String,
    /// Additional labels for secrets and leases.
    pub(super) labels: Vec<(String, String)>,
    pub(super) cluster: Cluster,
}

impl fmt::Debug for KubernetesSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "KubernetesSettings({}/{})", self.namespace, self.suffix)
    }
}

impl KubernetesSettings {
    /// Reads the settings, and the files that they name.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(KubernetesSettings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let suffix = arguments.required("secret_suffix", &[]);
        let labels = arguments.texts("labels");
        let namespace = arguments.text("namespace", &["KUBE_NAMESPACE"]).filter(|name| !name.is_empty());
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        // As in OpenTofu, the argument is checked, but has no effect.
        let _ = arguments.flag("load_config_file", &["KUBE_LOAD_CONFIG_FILE"]);
        let explicit = explicit(&mut arguments);
        let in_cluster = arguments.flag("in_cluster_config", &["KUBE_IN_CLUSTER_CONFIG"]).unwrap_or(false);
        let found = match in_cluster {
            true => Cluster::around(&|name| arguments.variable(&[name])),
            false => from_files(&mut arguments, explicit.host.is_empty()),
        };
        let cluster = match found {
            Ok(found) => overridden(found, explicit),
            Err(error) => {
                arguments.problems.push(own::no_configuration(&error));
                return Err(arguments.problems);
            }
        };
        if let Err(error) = cluster.check() {
            arguments.problems.push(own::not_usable(&error));
        }
        arguments.finish(KubernetesSettings { suffix, namespace, labels, cluster })
    }
}

/// The settings of the cluster in the arguments.
fn explicit(arguments: &mut Arguments<'_>) -> Cluster {
    let mut text = |name: &str, variable: &str| arguments.text(name, &[variable]).filter(|text| !text.is_empty());
    let host = text("host", "KUBE_HOST").unwrap_or_default();
    let (username, password) = (text("username", "KUBE_USER"), text("password", "KUBE_PASSWORD"));
    let authority = text("cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA");
    let certificate = text("client_certificate", "KUBE_CLIENT_CERT_DATA");
    let key = text("client_key", "KUBE_CLIENT_KEY_DATA");
    let token = text("token", "KUBE_TOKEN");
    let insecure = arguments.flag("insecure", &["KUBE_INSECURE"]).unwrap_or(false);
    Cluster { host, authority, insecure, certificate, key, username, password, token, ..Cluster::default() }
}

/// The cluster `found`, with the settings in `explicit`, which take precedence.
fn overridden(found: Cluster, explicit: Cluster) -> Cluster {
    let token_file = if explicit.token.is_some() { None } else { found.token_file };
    Cluster {
        host: if explicit.host.is_empty() { found.host } else { explicit.host },
        authority: explicit.authority.or(found.authority),
        insecure: explicit.insecure || found.insecure,
        certificate: explicit.certificate.or(found.certificate),
        key: explicit.key.or(found.key),
        username: explicit.username.or(found.username),
        password: explicit.password.or(found.password),
        token: explicit.token.or(found.token),
        token_file,
        ..found
    }
}

/// The cluster in the kubeconfig files, or else the cluster in which this process runs. If there is neither, returns an
/// empty cluster, or an error if `needed` is true. A single kubeconfig file that does not exist ends the search: the
/// result is then always an empty cluster.
fn from_files(arguments: &mut Arguments<'_>, needed: bool) -> Result<Cluster, ClusterProblem> {
    let mut text = |name: &str, variable: &str| arguments.text(name, &[variable]).filter(|text| !text.is_empty());
    let choice = Choice {
        context: text("config_context", "KUBE_CTX"),
        user: text("config_context_auth_info", "KUBE_CTX_AUTH_INFO"),
        cluster: text("config_context_cluster", "KUBE_CTX_CLUSTER"),
    };
    let one = text("config_path", "KUBE_CONFIG_PATH");
    let listed = arguments.written("config_paths").and_then(Json::as_array).filter(|paths| !paths.is_empty());
    let paths: Vec<PathBuf> = match (one, listed) {
        (Some(path), _) => vec![expanded(&path)],
        (None, Some(paths)) => paths.iter().filter_map(Json::as_str).map(expanded).collect(),
        (None, None) => {
            let paths = arguments.variable(&["KUBE_CONFIG_PATHS"]).unwrap_or_default();
            std::env::split_paths(&paths).map(|path| expanded(&path.to_string_lossy())).collect()
        }
    };
    let paths: Vec<PathBuf> = paths.into_iter().filter(|path| !path.as_os_str().is_empty()).collect();
    let block = arguments.written("exec").and_then(Json::as_array).and_then(|blocks| blocks.first());
    let plugin = block.map(Plugin::of_block).transpose()?;
    // If the only file does not exist, there is no cluster, even if the settings select a context in the file.
    if let [path] = paths.as_slice()
        && !path.exists()
    {
        return Ok(Cluster { plugin: plugin.map(Box::new), ..Cluster::default() });
    }
    if let Some(found) = Kubeconfig::read(&paths)?.choose(&choice, plugin.as_ref())? {
        return Ok(found);
    }
    match Cluster::around(&|name| arguments.variable(&[name])) {
        Ok(found) => Ok(found),
        Err(_) if !needed => Ok(Cluster { plugin: plugin.map(Box::new), ..Cluster::default() }),
        Err(_) => Err(ClusterProblem::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(settings: Json, variables: &[(&str, &str)]) -> Result<KubernetesSettings, String> {
        let variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let environment =
            move |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let read = KubernetesSettings::read(settings.as_object().unwrap(), &environment);
        read.map(|(read, _)| read).map_err(|problems| problems[0].summary.clone())
    }

    #[test]
    fn arguments_and_variables() {
        let settings =
            json!({"secret_suffix": "s", "host": "https://a", "labels": {"team": "x"}, "token": "very-secret"});
        let found = read(settings, &[("KUBE_NAMESPACE", "n"), ("KUBE_INSECURE", "true")]).unwrap();
        assert_eq!((found.suffix.as_str(), found.namespace.as_str()), ("s", "n"));
        assert_eq!(found.labels, [("team".to_owned(), "x".to_owned())]);
        assert!(found.cluster.insecure && found.cluster.token.is_some());
        assert!(!format!("{found:?} {:?}", found.cluster).contains("very-secret"));
        let found = read(json!({"secret_suffix": "s", "config_path": "/absent"}), &[]).unwrap();
        assert_eq!(found.cluster.address().unwrap().as_str(), "http://localhost/");
    }

    #[test]
    fn what_is_refused() {
        let authority =
            json!({"secret_suffix": "s", "host": "https://a", "insecure": true, "cluster_ca_certificate": "c"});
        let exec = json!({"secret_suffix": "s", "host": "a", "exec": [{"api_version": "v9", "command": "c"}]});
        for (settings, variables, want) in [
            (json!({}), &[("KUBE_HOST", "a")][..], "\"secret_suffix\": required field is not set"),
            (json!({"secret_suffix": "s"}), &[], "no configuration has been provided"),
            (json!({"secret_suffix": "s", "in_cluster_config": true}), &[], "unable to load in-cluster configuration"),
            (authority, &[], "root certificates file with the insecure flag"),
            (exec, &[], "invalid apiVersion"),
        ] {
            let found = read(settings, variables).unwrap_err();
            assert!(found.contains(want), "{found}");
        }
    }
}
