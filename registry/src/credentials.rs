//! Tokens for hosts: from `TF_TOKEN_...` variables, `credentials` blocks and files, and a credentials helper, in this
//! order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::cli_config::{CliConfig, Helper};
use crate::environment::ProcessEnvironment;
use crate::host::Host;
use crate::secret::SecretString;

/// The prefix of variables with tokens.
const TOKEN_PREFIX: &str = "TF_TOKEN_";

/// The prefix of helper programs.
const HELPER_PREFIX: &str = "terraform-credentials-";

/// The maximum size of a helper's output. A token has a few hundred bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// The time limit for a helper, which may ask the user a question.
const HELPER_TIMEOUT: Duration = Duration::from_secs(120);

/// Why a helper returned no token.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The program was not found.
    #[error("the credentials helper {name:?} was not found: there is no program {HELPER_PREFIX}{name} in {places}")]
    NotFound {
        /// The helper.
        name: String,
        /// The directories that were searched.
        places: String,
    },
    /// The helper cannot be started, or did not end in time.
    #[error("the credentials helper {program} cannot be run: {problem}")]
    Run {
        /// The helper's program.
        program: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The helper reported a failure.
    #[error("the credentials helper {program} failed: {said}")]
    Failed {
        /// The helper's program.
        program: PathBuf,
        /// The helper's error output.
        said: String,
    },
    /// The helper's output is not a JSON object.
    #[error("the credentials helper {program} did not print a JSON object of credentials")]
    Answer {
        /// The helper's program.
        program: PathBuf,
    },
}

/// All sources of tokens.
#[derive(Debug, Default)]
pub struct Credentials {
    known: BTreeMap<Host, SecretString>,
    helper: Option<Helper>,
    directories: Vec<PathBuf>,
    /// The results of the helper. They are cached, so the helper runs once for each host.
    asked: Mutex<BTreeMap<Host, Result<Option<SecretString>, CredentialsError>>>,
}

impl Credentials {
    /// The tokens in the configuration and the environment.
    pub fn new(config: &CliConfig, environment: &ProcessEnvironment) -> Credentials {
        let mut known = config.credentials.clone();
        for (name, value) in environment.with_prefix(TOKEN_PREFIX) {
            if let Some(host) = host_of_variable(name).filter(|_| !value.is_empty()) {
                known.insert(host, SecretString::new(value));
            }
        }
        Credentials {
            known,
            helper: config.credentials_helper.clone(),
            directories: environment.helper_directories(),
            asked: Mutex::default(),
        }
    }

    /// The token for a host, if there is one.
    ///
    /// # Errors
    /// Returns an error if the helper is needed and fails.
    pub async fn token(&self, host: &Host) -> Result<Option<SecretString>, CredentialsError> {
        if let Some(token) = self.known.get(host) {
            return Ok(Some(token.clone()));
        }
        let Some(helper) = &self.helper else { return Ok(None) };
        let mut asked = self.asked.lock().await;
        if let Some(answer) = asked.get(host) {
            return answer.clone();
        }
        let answer = self.ask(helper, host).await;
        asked.insert(host.clone(), answer.clone());
        answer
    }

    /// Runs the helper with the command `verb` (`store` or `forget`) for a host. Does nothing if there is no helper.
    ///
    /// # Errors
    /// Returns an error if the helper fails.
    pub async fn tell_helper(
        &self,
        verb: &str,
        host: &Host,
        token: Option<&SecretString>,
    ) -> Result<(), CredentialsError> {
        let Some(helper) = &self.helper else { return Ok(()) };
        let content = token.map(|token| serde_json::json!({ "token": token.expose() }).to_string());
        self.run(helper, verb, host, content.as_deref()).await?;
        self.asked.lock().await.remove(host);
        Ok(())
    }

    /// Runs the helper. Returns its program and its output.
    async fn run(
        &self,
        helper: &Helper,
        verb: &str,
        host: &Host,
        content: Option<&str>,
    ) -> Result<(PathBuf, Vec<u8>), CredentialsError> {
        let name = format!("{HELPER_PREFIX}{}", helper.name);
        let program = self.directories.iter().map(|folder| folder.join(&name)).find(|path| path.is_file());
        let Some(program) = program else {
            let places = self.directories.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
            return Err(CredentialsError::NotFound { name: helper.name.clone(), places });
        };
        let failed = |problem: String| CredentialsError::Run { program: program.clone(), problem };
        let mut child = Command::new(&program)
            .args(&helper.arguments)
            .args([verb, host.as_str()])
            .stdin(if content.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let talk = async {
            if let (Some(mut stdin), Some(content)) = (stdin, content) {
                // A helper that does not read its input gives the reason with its exit code.
                let _ = stdin.write_all(content.as_bytes()).await;
            }
            let (mut answer, mut said) = (Vec::new(), Vec::new());
            let read_answer = async {
                match stdout {
                    Some(stdout) => stdout.take(MAX_ANSWER).read_to_end(&mut answer).await.map(drop),
                    None => Ok(()),
                }
            };
            let read_said = async {
                match stderr {
                    Some(stderr) => stderr.take(MAX_ANSWER).read_to_end(&mut said).await.map(drop),
                    None => Ok(()),
                }
            };
            let (one, other) = tokio::join!(read_answer, read_said);
            one.and(other)?;
            Ok::<_, std::io::Error>((child.wait().await?, answer, said))
        };
        let (status, answer, said) = tokio::time::timeout(HELPER_TIMEOUT, talk)
            .await
            .map_err(|_| failed(format!("it did not end within {} seconds", HELPER_TIMEOUT.as_secs())))?
            .map_err(|error| failed(error.to_string()))?;
        if !status.success() {
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            return Err(CredentialsError::Failed { program, said });
        }
        Ok((program, answer))
    }

    async fn ask(&self, helper: &Helper, host: &Host) -> Result<Option<SecretString>, CredentialsError> {
        let (program, answer) = self.run(helper, "get", host, None).await?;
        #[derive(serde::Deserialize)]
        struct TokenAnswer {
            token: Option<String>,
        }
        let known: TokenAnswer = serde_json::from_slice(&answer).map_err(|_| CredentialsError::Answer { program })?;
        Ok(known.token.map(SecretString::new))
    }
}

/// The host of a variable such as `TF_TOKEN_app_example_com`. An underscore stands for a dot, and two underscores for a
/// dash.
fn host_of_variable(name: &str) -> Option<Host> {
    let name = name.strip_prefix(TOKEN_PREFIX)?;
    name.replace("__", "-").replace('_', ".").parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn host(name: &str) -> Host {
        name.parse().unwrap()
    }

    #[test]
    fn a_variable_name_contains_its_host() {
        for (variable, name) in [
            ("TF_TOKEN_app_example_com", "app.example.com"),
            ("TF_TOKEN_my__registry_example_com", "my-registry.example.com"),
            ("TF_TOKEN_x.example.com", "x.example.com"),
        ] {
            assert_eq!(host_of_variable(variable), Some(host(name)));
        }
        assert_eq!(host_of_variable("TF_TOKEN_"), None);
    }

    #[tokio::test]
    async fn variables_come_before_blocks() {
        let text = "credentials \"a.test\" {\n  token = \"block\"\n}\ncredentials \"b.test\" { token = \"b\" }\n";
        let (config, problems) = CliConfig::parse(text, Path::new("tofurc"), Path::new("/"));
        assert!(problems.is_empty(), "{problems:?}");
        let environment = ProcessEnvironment::new("/", &[("TF_TOKEN_a_test", Path::new("variable"))]);
        let credentials = Credentials::new(&config, &environment);
        let token = async |name| credentials.token(&host(name)).await.unwrap().map(|t| t.expose().to_owned());
        assert_eq!(token("a.test").await.as_deref(), Some("variable"));
        assert_eq!(token("b.test").await.as_deref(), Some("b"));
        assert_eq!(token("c.test").await, None);
        assert!(!format!("{credentials:?}").contains("variable"));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_helper_is_asked_once() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".terraform.d/plugins");
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("terraform-credentials-vault");
        let script = "#!/bin/sh\necho asked >> \"$(dirname \"$0\")/log\"\ncase \"$1 $2 $3\" in\n  \
                      '--x get a.test') echo '{\"token\": \"helped\"}';;\n  *c.test) echo no >&2; exit 1;;\n  \
                      *) echo '{}';;\nesac\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let text = "credentials_helper \"vault\" {\n  args = [\"--x\"]\n}\n";
        let (config, _) = CliConfig::parse(text, Path::new("tofurc"), Path::new("/"));
        let credentials = Credentials::new(&config, &ProcessEnvironment::new("/", &[("HOME", home.path())]));
        for _ in 0..2 {
            let token = credentials.token(&host("a.test")).await.unwrap().unwrap();
            assert_eq!(token.expose(), "helped");
        }
        assert_eq!(credentials.token(&host("b.test")).await.unwrap(), None);
        assert!(matches!(credentials.token(&host("c.test")).await, Err(CredentialsError::Failed { .. })));
        assert_eq!(std::fs::read_to_string(folder.join("log")).unwrap().lines().count(), 3);
    }
}
