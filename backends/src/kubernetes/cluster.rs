//! A cluster: its address, and the credentials of the user.

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::exec::{Credentials, Plugin};
use super::problems::{ClusterProblem, Contradiction};
use crate::client::{Check, ClientSettings, Proxies};

/// The directory with the files that Kubernetes provides in a pod.
const POD: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The default address, as in Kubernetes' library.
const LOCALHOST: &str = "localhost";

/// The user that requests impersonate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImpersonatedUser {
    pub(super) user: String,
    pub(super) uid: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) extra: Vec<(String, Vec<String>)>,
}

/// A cluster, and the credentials of the user. Certificates and keys are in PEM format.
#[derive(Clone, Default)]
pub(super) struct Cluster {
    /// The URL of the cluster, or a host with a port.
    pub(super) host: String,
    pub(super) authority: Option<String>,
    pub(super) insecure: bool,
    pub(super) server_name: Option<String>,
    pub(super) proxy: Option<String>,
    pub(super) certificate: Option<String>,
    pub(super) key: Option<String>,
    pub(super) username: Option<String>,
    pub(super) password: Option<String>,
    pub(super) token: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) plugin: Option<Box<Plugin>>,
    pub(super) impersonation: Option<ImpersonatedUser>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Cluster({})", self.host)
    }
}

impl Cluster {
    /// The cluster in which this process runs. `variable` returns variables of the environment.
    ///
    /// # Errors
    /// Returns an error if this process does not run in a cluster.
    pub(super) fn around(variable: &dyn Fn(&str) -> Option<String>) -> Result<Cluster, ClusterProblem> {
        let (Some(host), Some(port)) = (variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"))
        else {
            return Err(ClusterProblem::NotInCluster);
        };
        let token = PathBuf::from(format!("{POD}/token"));
        std::fs::metadata(&token).map_err(|error| ClusterProblem::TokenFile { path: token.clone(), error })?;
        let host =
            if host.contains(':') { format!("https://[{host}]:{port}") } else { format!("https://{host}:{port}") };
        let authority = std::fs::read_to_string(format!("{POD}/ca.crt")).ok();
        Ok(Cluster { host, authority, token_file: Some(token), ..Cluster::default() })
    }

    /// The URL of the cluster, with `/` at the end.
    ///
    /// # Errors
    /// Returns an error if the host is not valid.
    pub(super) fn address(&self) -> Result<Url, Contradiction> {
        let host = if self.host.is_empty() { LOCALHOST } else { &self.host };
        let encrypted = self.authority.is_some() || self.certificate.is_some() || self.insecure;
        let text = match host.contains("://") {
            true => host.to_owned(),
            false => format!("{}://{host}", if encrypted { "https" } else { "http" }),
        };
        let mut url = Url::parse(&text).map_err(Contradiction::Host)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Contradiction::Scheme(host.to_owned()));
        }
        url.set_query(None);
        url.set_fragment(None);
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(url)
    }

    /// Checks that the settings do not contradict each other, and that the host is valid.
    ///
    /// # Errors
    /// Returns an error about the first problem.
    pub(super) fn check(&self) -> Result<(), Contradiction> {
        if self.insecure && self.authority.is_some() {
            return Err(Contradiction::RootsAndInsecure);
        }
        if self.username.is_some() && (self.token.is_some() || self.token_file.is_some()) {
            return Err(Contradiction::UserAndToken);
        }
        if self.certificate.is_some() != self.key.is_some() {
            return Err(Contradiction::HalfIdentity);
        }
        self.address().map(drop)
    }

    /// The settings of connections. `given` are the credentials from a plugin.
    pub(super) fn client(&self, given: Option<&Credentials>) -> ClientSettings {
        let own = self.certificate.clone().zip(self.key.clone());
        ClientSettings {
            roots: self.authority.clone(),
            identity: given.and_then(|given| given.identity.clone()).or(own),
            check: if self.insecure { Check::Nothing } else { Check::Whole },
            redirects: true,
            proxies: Proxies { http: self.proxy.clone(), https: self.proxy.clone(), except: None },
            server_name: self.server_name.clone(),
            socket: None,
        }
    }

    /// The headers of each request.
    ///
    /// # Errors
    /// Returns an error if the file of the token cannot be read.
    pub(super) fn headers(&self, given: Option<&Credentials>) -> Result<Vec<(String, String)>, ClusterProblem> {
        let mut headers = Vec::new();
        let token = match (&self.token, &self.token_file) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| ClusterProblem::TokenFile { path: path.clone(), error })?;
                Some(text.trim().to_owned())
            }
            (None, None) => None,
        };
        let authorization = match (&self.username, token) {
            (Some(user), _) => {
                let pair = format!("{user}:{}", self.password.as_deref().unwrap_or_default());
                Some(format!("Basic {}", STANDARD.encode(pair)))
            }
            (None, Some(token)) => Some(format!("Bearer {token}")),
            (None, None) => given.and_then(|given| Some(format!("Bearer {}", given.token.as_ref()?))),
        };
        headers.extend(authorization.map(|text| ("authorization".to_owned(), text)));
        if let Some(ImpersonatedUser { user, uid, groups, extra }) = &self.impersonation {
            headers.push(("impersonate-user".to_owned(), user.clone()));
            headers.extend(uid.iter().map(|uid| ("impersonate-uid".to_owned(), uid.clone())));
            headers.extend(groups.iter().map(|group| ("impersonate-group".to_owned(), group.clone())));
            for (name, values) in extra {
                let name = format!("impersonate-extra-{}", name.to_lowercase());
                headers.extend(values.iter().map(|value| (name.clone(), value.clone())));
            }
        }
        Ok(headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (host, insecure, want) in [
            ("https://a:6443", false, "https://a:6443/"),
            ("https://a/b", false, "https://a/b/"),
            ("a:8080", false, "http://a:8080/"),
            ("a", true, "https://a/"),
            ("", false, "http://localhost/"),
        ] {
            let cluster = Cluster { host: host.to_owned(), insecure, ..Cluster::default() };
            assert_eq!(cluster.address().unwrap().as_str(), want);
        }
        assert!(Cluster { host: "ftp://a".to_owned(), ..Cluster::default() }.check().is_err());
    }

    #[test]
    fn headers_prove_the_user() {
        let user = Cluster { username: Some("ann".to_owned()), password: Some("pw".to_owned()), ..Cluster::default() };
        assert_eq!(user.headers(None).unwrap()[0].1, "Basic YW5uOnB3");
        let given = Credentials { token: Some("t".to_owned()), identity: None, expires: None };
        assert_eq!(Cluster::default().headers(Some(&given)).unwrap()[0].1, "Bearer t");
        let both = Cluster { token: Some("own".to_owned()), ..Cluster::default() };
        assert_eq!(both.headers(Some(&given)).unwrap()[0].1, "Bearer own");
        assert!(Cluster { token: Some("own".to_owned()), ..user }.check().is_err());
    }
}
