//! Kubeconfig files: clusters, users, and contexts. A context combines a cluster with a user.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};

use super::cluster::{Cluster, ImpersonatedUser};
use super::exec::Plugin;
use super::problems::{ClusterProblem, ConfigFileProblem};
use super::yaml;

/// The fields of a cluster and of a user that are paths. The paths are relative to the directory of the file.
const PATHS: [&str; 4] = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/// The selection of a context, a cluster or a user that replaces the current context of the files.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) context: Option<String>,
    pub(super) user: Option<String>,
    pub(super) cluster: Option<String>,
}

/// The merged contents of several files. If several entries have the same name, the first entry takes precedence.
#[derive(Clone, Debug, Default)]
pub(super) struct Kubeconfig {
    clusters: Map<String, Json>,
    users: Map<String, Json>,
    contexts: Map<String, Json>,
    current: String,
}

fn text<'a>(from: &'a Json, name: &str) -> Option<&'a str> {
    from.get(name)?.as_str().filter(|text| !text.is_empty())
}

impl Kubeconfig {
    /// Reads the files at these paths. Files that do not exist are skipped.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or is not valid.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Kubeconfig, ClusterProblem> {
        let mut joined = Kubeconfig::default();
        for path in paths {
            let failed = |error| ClusterProblem::ConfigFile { path: path.clone(), error };
            match std::fs::read_to_string(path) {
                Ok(content) => {
                    let document = yaml::read(&content).map_err(|error| failed(ConfigFileProblem::Yaml(error)))?;
                    joined.add(&document, path.parent().unwrap_or(Path::new("")));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(ConfigFileProblem::Unreadable(error))),
            }
        }
        Ok(joined)
    }

    fn add(&mut self, document: &Json, folder: &Path) {
        let lists = [
            ("clusters", "cluster", &mut self.clusters),
            ("users", "user", &mut self.users),
            ("contexts", "context", &mut self.contexts),
        ];
        for (list, field, into) in lists {
            for entry in document.get(list).and_then(Json::as_array).into_iter().flatten() {
                let Some(name) = entry.get("name").and_then(Json::as_str) else { continue };
                let mut value = entry.get(field).cloned().unwrap_or_default();
                resolve(&mut value, folder);
                into.entry(name).or_insert(value);
            }
        }
        if self.current.is_empty() {
            text(document, "current-context").unwrap_or_default().clone_into(&mut self.current);
        }
    }

    /// The cluster and the user of the context. `None` if the files name no cluster. If `plugin` is set, it replaces
    /// the plugin of the user.
    ///
    /// # Errors
    /// Returns an error if the files refer to something that is missing or damaged.
    pub(super) fn choose(&self, choice: &Choice, plugin: Option<&Plugin>) -> Result<Option<Cluster>, ClusterProblem> {
        let name = choice.context.as_deref().unwrap_or(&self.current);
        let context = match self.contexts.get(name) {
            Some(context) => context,
            None if name.is_empty() => &Json::Null,
            None if choice.context.is_some() => return Err(ClusterProblem::NoContext(name.to_owned())),
            None => return Err(ClusterProblem::NoCurrentContext(name.to_owned())),
        };
        let chosen = |own: &Option<String>, kind: &'static str, field: &str, from: &Map<String, Json>| {
            let name = own.as_deref().or(text(context, field)).unwrap_or_default().to_owned();
            match from.get(&name) {
                Some(found) => Ok((name, found.clone())),
                None if own.is_some() => Err(ClusterProblem::NoEntry { kind, name }),
                None => Ok((name, Json::Null)),
            }
        };
        let (user_name, user) = chosen(&choice.user, "auth info", "user", &self.users)?;
        let (cluster_name, cluster) = chosen(&choice.cluster, "cluster", "cluster", &self.clusters)?;
        if cluster.as_object().is_none_or(Map::is_empty) {
            return Ok(None);
        }
        let Some(server) = text(&cluster, "server") else {
            return Err(ClusterProblem::NoServer(cluster_name));
        };
        let mut found = Cluster {
            host: server.to_owned(),
            authority: data(&cluster, "certificate-authority")?,
            insecure: cluster.get("insecure-skip-tls-verify").and_then(Json::as_bool).unwrap_or(false),
            server_name: text(&cluster, "tls-server-name").map(str::to_owned),
            proxy: text(&cluster, "proxy-url").map(str::to_owned),
            ..Cluster::default()
        };
        // As in Kubernetes' library, credentials of a user are sent only over an encrypted connection.
        if server.starts_with("https://") || !server.contains("://") {
            add_user(&mut found, &user_name, &user, &cluster)?;
            found.plugin = plugin.cloned().map(Box::new).or(found.plugin);
        }
        Ok(Some(found))
    }
}

fn resolve(value: &mut Json, folder: &Path) {
    let join = |field: &mut Json| {
        if let Some(path) = field.as_str().filter(|path| !path.is_empty()) {
            *field = Json::String(folder.join(path).display().to_string());
        }
    };
    for name in PATHS {
        value.get_mut(name).into_iter().for_each(join);
    }
    // A command without a directory is searched in `PATH`, so it stays unchanged.
    let command = value.pointer_mut("/exec/command");
    command.filter(|command| command.as_str().is_some_and(|text| text.contains('/'))).into_iter().for_each(join);
}

/// The PEM data in a base64 field, or else in the file that another field names.
fn data(from: &Json, name: &'static str) -> Result<Option<String>, ClusterProblem> {
    if let Some(encoded) = text(from, &format!("{name}-data")) {
        let decoded = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        return decoded.map(Some).ok_or(ClusterProblem::NotPem(name));
    }
    let Some(path) = text(from, name) else { return Ok(None) };
    let content = std::fs::read_to_string(path).map(Some);
    content.map_err(|error| ClusterProblem::NamedFile { field: name, path: path.to_owned(), error })
}

fn add_user(found: &mut Cluster, name: &str, user: &Json, cluster: &Json) -> Result<(), ClusterProblem> {
    if text(user, "token").is_some() && (text(user, "username").is_some() || text(user, "password").is_some()) {
        return Err(ClusterProblem::TwoMethods(name.to_owned()));
    }
    if user.get("auth-provider").is_some_and(|provider| !provider.is_null()) {
        return Err(ClusterProblem::AuthProvider(name.to_owned()));
    }
    found.token = text(user, "token").map(str::to_owned);
    found.token_file = text(user, "tokenFile").filter(|_| found.token.is_none()).map(PathBuf::from);
    found.username = text(user, "username").map(str::to_owned);
    found.password = text(user, "password").map(str::to_owned);
    found.certificate = data(user, "client-certificate")?;
    found.key = data(user, "client-key")?;
    if found.certificate.is_some() && found.key.is_none() {
        return Err(ClusterProblem::NoKey(name.to_owned()));
    }
    if let Some(exec) = user.get("exec").filter(|exec| exec.is_object()) {
        found.plugin = Some(Box::new(Plugin::of_user(name, exec, cluster)?));
    }
    let texts = |value: &Json| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    if let Some(as_user) = text(user, "as") {
        let extra = user.get("as-user-extra").and_then(Json::as_object).into_iter().flatten();
        found.impersonation = Some(ImpersonatedUser {
            user: as_user.to_owned(),
            uid: text(user, "as-uid").map(str::to_owned),
            groups: user.get("as-groups").map(texts).unwrap_or_default(),
            extra: extra.map(|(name, values)| (name.clone(), texts(values))).collect(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "current-context: x\nclusters:\n- {name: c, cluster: {server: 'https://one', \
        tls-server-name: n}}\nusers:\n- {name: u, user: {token: first, as: bob, as-groups: [g]}}\n\
        contexts:\n- {name: x, context: {cluster: c, user: u}}\n- {name: y, context: {cluster: d, user: v}}\n";
    const SECOND: &str = "current-context: y\nclusters:\n- {name: c, cluster: {server: 'https://other'}}\n\
        - {name: d, cluster: {server: 'http://two', insecure-skip-tls-verify: true}}\n\
        users:\n- {name: v, user: {username: ann, password: secret, client-certificate: absent.pem}}\n";

    fn files() -> Kubeconfig {
        let mut joined = Kubeconfig::default();
        joined.add(&yaml::read(FIRST).unwrap(), Path::new("/one"));
        joined.add(&yaml::read(SECOND).unwrap(), Path::new("/two"));
        joined
    }

    #[test]
    fn the_first_file_decides() {
        let found = files().choose(&Choice::default(), None).unwrap().unwrap();
        assert_eq!((found.host.as_str(), found.token.as_deref()), ("https://one", Some("first")));
        assert_eq!(found.server_name.as_deref(), Some("n"));
        assert_eq!(found.impersonation.unwrap().groups, ["g"]);
    }

    #[test]
    fn contexts_and_their_parts_are_chosen() {
        let choose = |context: &str, user: &str, cluster: &str| {
            let own = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let choice = Choice { context: own(context), user: own(user), cluster: own(cluster) };
            files().choose(&choice, None)
        };
        let found = choose("y", "", "").unwrap().unwrap();
        assert_eq!((found.host.as_str(), found.username, found.insecure), ("http://two", None, true));
        assert_eq!(choose("", "", "d").unwrap().unwrap().host, "http://two");
        let failed = choose("", "v", "").unwrap_err().to_string();
        assert!(failed.contains("/two/absent.pem"), "{failed}");
        assert_eq!(choose("z", "", "").unwrap_err().to_string(), "context \"z\" does not exist");
        assert_eq!(choose("", "z", "").unwrap_err().to_string(), "auth info \"z\" does not exist");
        assert_eq!(choose("", "", "z").unwrap_err().to_string(), "cluster \"z\" does not exist");
        assert!(Kubeconfig::default().choose(&Choice::default(), None).unwrap().is_none());
    }
}
