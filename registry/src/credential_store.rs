//! Stores tokens: in `credentials.tfrc.json` in the user's settings, or with a credentials helper.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use crate::cli_config::CliConfig;
use crate::credentials::{Credentials, CredentialsError};
use crate::environment::ProcessEnvironment;
use crate::host::Host;
use crate::secret::SecretString;

/// The key of the file's object with the tokens.
const CREDENTIALS: &str = "credentials";

/// The location of the token for a host, or the location where it would be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenPlace {
    /// A CLI configuration file of the user, which Weft does not change.
    Elsewhere,
    /// This file has the token.
    File(PathBuf),
    /// This helper stores the token, if there is a token.
    Helper(String),
    /// There is no token yet. It would be stored in this file.
    Nowhere(PathBuf),
}

/// Why a token was not stored or removed.
#[derive(Debug, thiserror::Error)]
pub enum CredentialStoreError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: String,
    },
    /// The helper failed.
    #[error(transparent)]
    Helper(#[from] CredentialsError),
    /// The token is in a CLI configuration file of the user, which Weft does not change. Or the user has no home
    /// directory.
    #[error("Weft does not manage the credentials for {0}")]
    Elsewhere(Host),
}

/// The store of tokens.
#[derive(Debug)]
pub struct CredentialStore {
    file: Option<PathBuf>,
    configured: BTreeSet<Host>,
    helper: Option<String>,
    credentials: Credentials,
}

impl CredentialStore {
    /// The store that the configuration and the environment determine.
    pub fn new(config: &CliConfig, environment: &ProcessEnvironment) -> CredentialStore {
        CredentialStore {
            file: environment.credentials_file(),
            configured: config.credentials.keys().cloned().collect(),
            helper: config.credentials_helper.as_ref().map(|helper| helper.name.clone()),
            credentials: Credentials::new(config, environment),
        }
    }

    /// The location of the token for a host.
    pub fn place(&self, host: &Host) -> TokenPlace {
        let Some(file) = &self.file else { return TokenPlace::Elsewhere };
        let in_file = hosts_in(file).contains(host);
        match (self.configured.contains(host), in_file, &self.helper) {
            (true, false, _) => TokenPlace::Elsewhere,
            (true, true, _) => TokenPlace::File(file.clone()),
            (false, _, Some(helper)) => TokenPlace::Helper(helper.clone()),
            (false, true, None) => TokenPlace::File(file.clone()),
            (false, false, None) => TokenPlace::Nowhere(file.clone()),
        }
    }

    /// Stores a token for a host.
    ///
    /// # Errors
    /// Returns an error if the token cannot be stored.
    pub async fn keep(&self, host: &Host, token: &SecretString) -> Result<(), CredentialStoreError> {
        match self.place(host) {
            TokenPlace::Elsewhere => Err(CredentialStoreError::Elsewhere(host.clone())),
            TokenPlace::Helper(_) => Ok(self.credentials.tell_helper("store", host, Some(token)).await?),
            TokenPlace::File(path) | TokenPlace::Nowhere(path) => change(&path, host, Some(token)),
        }
    }

    /// Removes the token for a host.
    ///
    /// # Errors
    /// Returns an error if the token cannot be removed.
    pub async fn forget(&self, host: &Host) -> Result<(), CredentialStoreError> {
        match self.place(host) {
            TokenPlace::Elsewhere => Err(CredentialStoreError::Elsewhere(host.clone())),
            TokenPlace::Helper(_) => Ok(self.credentials.tell_helper("forget", host, None).await?),
            TokenPlace::File(path) | TokenPlace::Nowhere(path) => change(&path, host, None),
        }
    }
}

fn read(path: &Path) -> Result<Map<String, Json>, CredentialStoreError> {
    let failed = |error: String| CredentialStoreError::File { path: path.to_owned(), error };
    match std::fs::read(path) {
        Ok(text) if text.is_empty() => Ok(Map::new()),
        Ok(text) => serde_json::from_slice(&text).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Map::new()),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn hosts_in(path: &Path) -> BTreeSet<Host> {
    let content = read(path).unwrap_or_default();
    let all = content.get(CREDENTIALS).and_then(Json::as_object);
    all.into_iter().flatten().filter_map(|(name, _)| name.parse().ok()).collect()
}

/// Rewrites the file with another token for a host, or without a token for the host. The rest of the file's content is
/// preserved.
fn change(path: &Path, host: &Host, token: Option<&SecretString>) -> Result<(), CredentialStoreError> {
    let failed = |error: String| CredentialStoreError::File { path: path.to_owned(), error };
    let mut content = read(path)?;
    let all = content.entry(CREDENTIALS).or_insert_with(|| json!({}));
    let Some(all) = all.as_object_mut() else {
        return Err(failed(format!("the member {CREDENTIALS:?} is not an object")));
    };
    // The file may have the same host in another spelling.
    all.retain(|name, _| name.parse::<Host>().ok().as_ref() != Some(host));
    if let Some(token) = token {
        all.insert(host.to_string(), json!({ "token": token.expose() }));
    }
    let text = serde_json::to_vec_pretty(&content).map_err(|error| failed(error.to_string()))?;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        // Temporary files can be read only by their owner.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&text)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(home: &Path, text: &str) -> CredentialStore {
        let environment = ProcessEnvironment::new("/", &[("HOME", home)]);
        let (mut config, problems) = CliConfig::parse(text, Path::new("tofurc"), Path::new("/"));
        assert!(problems.is_empty(), "{problems:?}");
        let (of_files, _) = CliConfig::load(&environment);
        config.credentials.extend(of_files.credentials);
        CredentialStore::new(&config, &environment)
    }

    #[tokio::test]
    async fn tokens_are_kept_in_a_file_beside_the_others() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".terraform.d/credentials.tfrc.json");
        let (a, b): (Host, Host) = ("a.test".parse().unwrap(), "b.test".parse().unwrap());
        assert_eq!(store(home.path(), "").place(&a), TokenPlace::Nowhere(file.clone()));
        store(home.path(), "").keep(&a, &SecretString::new("one")).await.unwrap();
        std::fs::write(&file, r#"{"other": 12345678901234567890, "credentials": {"A.test": {"token": "x"}}}"#).unwrap();
        store(home.path(), "").keep(&b, &SecretString::new("two")).await.unwrap();
        store(home.path(), "").keep(&a, &SecretString::new("one")).await.unwrap();
        let want = json!({"other": 12_345_678_901_234_567_890_u64,
            "credentials": {"a.test": {"token": "one"}, "b.test": {"token": "two"}}});
        let found: Json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(found, want);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(store(home.path(), "").place(&a), TokenPlace::File(file));
        store(home.path(), "").forget(&a).await.unwrap();
        assert!(matches!(store(home.path(), "").place(&a), TokenPlace::Nowhere(_)));
        let own = "credentials \"a.test\" { token = \"own\" }\n";
        assert_eq!(store(home.path(), own).place(&a), TokenPlace::Elsewhere);
        assert!(store(home.path(), own).keep(&a, &SecretString::new("x")).await.is_err());
    }
}
