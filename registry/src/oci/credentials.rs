//! Credentials for OCI registries: `oci_credentials` blocks, and the files and helpers of Docker and similar tools.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::repository::Repository;
use crate::cli_config::{CliConfig, OciCredentials, OciDefaults, ProcessEnvironment};
use crate::credentials::CredentialsError;
use crate::secret::SecretString;

/// The prefix of helper programs.
const HELPER_PREFIX: &str = "docker-credential-";

/// The time limit for a helper, which may ask the user a question.
const HELPER_TIMEOUT: Duration = Duration::from_secs(120);

/// The user name by which a helper says that it returns a token.
const TOKEN_USER: &str = "<token>";

/// Credentials for a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OciLogin {
    Password {
        user: String,
        password: SecretString,
    },
    /// An access token, which is sent unchanged.
    Access(SecretString),
    /// A refresh token, which is exchanged for an access token.
    Refresh(SecretString),
}

/// All sources of credentials.
#[derive(Clone, Debug)]
pub(super) struct OciKeys {
    configured: BTreeMap<String, OciCredentials>,
    defaults: OciDefaults,
    usual_files: Vec<PathBuf>,
}

/// The relevant parts of a file in Docker's format.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DockerFile {
    auths: BTreeMap<String, DockerAuth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DockerAuth {
    auth: String,
    identitytoken: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    username: String,
    secret: String,
}

impl OciKeys {
    pub(super) fn new(config: &CliConfig, environment: &ProcessEnvironment) -> OciKeys {
        let docker = environment.path("DOCKER_CONFIG").or_else(|| Some(environment.path("HOME")?.join(".docker")));
        let usual = [
            environment.path("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json")),
            environment.config_home().map(|folder| folder.join("containers/auth.json")),
            docker.map(|folder| folder.join("config.json")),
        ];
        OciKeys {
            configured: config.oci_credentials.clone(),
            defaults: config.oci_default_credentials.clone(),
            usual_files: usual.into_iter().flatten().collect(),
        }
    }

    /// The most specific credentials for a repository.
    pub(super) async fn login(&self, repository: &Repository) -> Result<Option<OciLogin>, CredentialsError> {
        let name = repository.to_string();
        match best(&self.configured, &name) {
            Some(OciCredentials::Password { user, password }) => {
                return Ok(Some(OciLogin::Password { user: user.clone(), password: password.clone() }));
            }
            Some(OciCredentials::Token { refresh: Some(refresh), .. }) => {
                return Ok(Some(OciLogin::Refresh(refresh.clone())));
            }
            Some(OciCredentials::Token { access, refresh: None }) => return Ok(Some(OciLogin::Access(access.clone()))),
            Some(OciCredentials::Helper(helper)) => return ask(helper, &repository.host).await,
            None => {}
        }
        if let Some(helper) = &self.defaults.helper {
            return ask(helper, &repository.host).await;
        }
        let files = match (&self.defaults.files, self.defaults.ambient) {
            (Some(files), _) => files,
            (None, true) => &self.usual_files,
            (None, false) => return Ok(None),
        };
        for file in files {
            // A missing file, or a file of another program, has no entries.
            let Ok(bytes) = std::fs::read(file) else { continue };
            let Ok(docker) = serde_json::from_slice::<DockerFile>(&bytes) else {
                tracing::debug!("{} is not a file with credentials of Docker", file.display());
                continue;
            };
            if let Some(helper) = docker.cred_helpers.get(&repository.host) {
                return ask(helper, &repository.host).await;
            }
            if let Some(login) = best(&docker.auths, &name).and_then(DockerAuth::login) {
                return Ok(Some(login));
            }
            if let Some(helper) = &docker.creds_store {
                return ask(helper, &repository.host).await;
            }
        }
        Ok(None)
    }
}

impl DockerAuth {
    fn login(&self) -> Option<OciLogin> {
        if !self.identitytoken.is_empty() {
            return Some(OciLogin::Refresh(SecretString::new(self.identitytoken.as_str())));
        }
        let text = String::from_utf8(STANDARD.decode(self.auth.trim()).ok()?).ok()?;
        let (user, password) = text.split_once(':')?;
        Some(OciLogin::Password { user: user.to_owned(), password: SecretString::new(password) })
    }
}

/// The most specific entry for a repository. An entry with a longer part of the repository's name takes precedence over
/// an entry with only the host.
fn best<'a, T>(entries: &'a BTreeMap<String, T>, repository: &str) -> Option<&'a T> {
    let mut name = repository;
    loop {
        if let Some(found) = entries.get(name) {
            return Some(found);
        }
        name = name.rsplit_once('/')?.0;
    }
}

/// Runs a helper in Docker's format.
async fn ask(helper: &str, host: &str) -> Result<Option<OciLogin>, CredentialsError> {
    let program = PathBuf::from(format!("{HELPER_PREFIX}{helper}"));
    let failed = |problem: String| CredentialsError::Run { program: program.clone(), problem };
    if helper.is_empty() || helper.contains(['/', '\\']) {
        return Err(failed("the name of the credentials helper is not valid".to_owned()));
    }
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(host.as_bytes()).await.map_err(|error| failed(error.to_string()))?;
    }
    let output = tokio::time::timeout(HELPER_TIMEOUT, child.wait_with_output())
        .await
        .map_err(|_| failed(format!("the credentials helper did not end within {} seconds", HELPER_TIMEOUT.as_secs())))?
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        // Helpers exit with this status for unknown hosts, and print the reason to the standard output.
        return Ok(None);
    }
    let answer: HelperAnswer =
        serde_json::from_slice(&output.stdout).map_err(|_| CredentialsError::Answer { program: program.clone() })?;
    let secret = SecretString::new(answer.secret);
    Ok(Some(match answer.username.as_str() {
        TOKEN_USER => OciLogin::Refresh(secret),
        user => OciLogin::Password { user: user.to_owned(), password: secret },
    }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn blocks_come_before_files_and_the_longest_name_counts() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".docker")).unwrap();
        let file = format!(r#"{{"auths": {{"x.test/a": {{"auth": "{}"}}}}}}"#, STANDARD.encode("docker:secret"));
        std::fs::write(home.path().join(".docker/config.json"), file).unwrap();
        let text = "oci_credentials \"x.test\" {\n  username = \"host\"\n  password = \"p\"\n}\n\
                    oci_credentials \"x.test/a/b\" {\n  access_token = \"t\"\n}\n";
        let environment = ProcessEnvironment::new("/", &[("HOME", home.path())]);
        let (config, problems) = CliConfig::parse(text, Path::new("tofurc"), Path::new("/"));
        assert!(problems.is_empty(), "{problems:?}");
        let login = async |config: &CliConfig, name: &str| {
            OciKeys::new(config, &environment).login(&Repository::parse(name).unwrap()).await.unwrap()
        };
        let user = |user: &str, password: &str| {
            Some(OciLogin::Password { user: user.to_owned(), password: SecretString::new(password) })
        };
        assert_eq!(login(&config, "x.test/a/b/c").await, Some(OciLogin::Access(SecretString::new("t"))));
        assert_eq!(login(&config, "x.test/c").await, user("host", "p"));
        let plain = CliConfig::default();
        assert_eq!(login(&plain, "x.test/a/z").await, user("docker", "secret"));
        assert_eq!(login(&plain, "y.test/a").await, None);
        let mut none = CliConfig::default();
        none.oci_default_credentials.ambient = false;
        assert_eq!(login(&none, "x.test/a/z").await, None);
    }
}
