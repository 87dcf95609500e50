//! Packages that are git repositories. The program `git` fetches them.
//!
//! Arguments of the address: `ref` (a branch, a tag or a commit), `depth`, `sshkey` (a private key, base64). No part of
//! an address ever becomes an option of git. Neither the address nor a submodule of the repository can make git use a
//! protocol that is not allowed.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::process::Command;

use super::address::shown;
use super::{FetchError, GitError, PackageAddress};

/// The variable with the protocols that git may use. A value in the environment takes precedence.
const PROTOCOLS: &str = "GIT_ALLOW_PROTOCOL";
/// The protocols for repositories. Some others, such as `ext`, run programs.
const ALLOWED: &str = "file:git:http:https:ssh";
/// The protocols for submodules. `file` is absent, because a remote repository must not read files on this machine.
const ALLOWED_SUBMODULES: &str = "git:http:https:ssh";
/// The variable with the program and its options for ssh.
const SSH_COMMAND: &str = "GIT_SSH_COMMAND";
/// The maximum length of git's output in messages, in characters.
const LONGEST_OUTPUT: usize = 4_000;
/// The prefixes of the names of branches and of tags in a clone.
const BRANCHES: &str = "refs/remotes/origin/";
const TAGS: &str = "refs/tags/";
/// The default branch, if the server does not report one.
const USUAL_BRANCH: &str = "master";
/// The number of hexadecimal digits of a name that looks like a commit.
const COMMIT_DIGITS: std::ops::RangeInclusive<usize> = 7..=40;

/// Clones a repository into a new directory, and checks out the requested version.
pub(super) async fn fetch(mut address: PackageAddress, to: &Path) -> Result<(), FetchError> {
    let reference = address.take("ref");
    let depth = address.take("depth").and_then(|text| text.parse::<u32>().ok()).filter(|depth| *depth > 0);
    let key = address.take("sshkey");
    if let Some(name) = &reference
        && let Some(problem) = unsound(name)
    {
        return Err(FetchError::Argument { name: "ref", value: name.clone(), problem });
    }
    let git = Git { key: key.map(|key| key_file(&key)).transpose()?, url: address.text() };
    let depth = depth.map(|depth| depth.to_string());
    let mut words: Vec<&OsStr> = vec!["clone".as_ref()];
    let branch;
    if let Some(depth) = &depth {
        branch = match &reference {
            Some(name) => name.clone(),
            None => git.default_branch().await?,
        };
        words.extend(["--depth", depth.as_str(), "--branch", branch.as_str()].map(OsStr::new));
    }
    words.extend(["--".as_ref(), git.url.as_ref(), to.as_os_str()]);
    git.run(&words, None, ALLOWED).await.map_err(|error| match (error, &reference) {
        (GitError::Failed { output, .. }, Some(name)) if depth.is_some() && looks_like_commit(name) => {
            GitError::ShallowCommit(output)
        }
        (error, _) => error,
    })?;
    if let Some(name) = &reference {
        let commit = git.commit(name, to).await?;
        git.run(&["checkout", "--quiet", "--detach", &commit].map(OsStr::new), Some(to), ALLOWED).await?;
    }
    let mut words = vec!["submodule", "update", "--init", "--recursive"];
    if let Some(depth) = &depth {
        words.extend(["--depth", depth]);
    }
    let words: Vec<&OsStr> = words.into_iter().map(OsStr::new).collect();
    git.run(&words, Some(to), ALLOWED_SUBMODULES).await?;
    Ok(())
}

/// Why a name cannot be a branch, tag or commit (git-check-ref-format). `None` if the name is valid.
fn unsound(name: &str) -> Option<&'static str> {
    if name.starts_with('-') {
        return Some("the name of a branch or a tag must not begin with a dash");
    }
    let strange = |c: char| c.is_ascii_control() || c == ' ' || c == '\\';
    name.contains(strange).then_some("the name of a branch or a tag must not contain spaces or backslashes")
}

fn looks_like_commit(name: &str) -> bool {
    COMMIT_DIGITS.contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Writes the private key to a file that only its owner can read.
fn key_file(key: &str) -> Result<tempfile::NamedTempFile, FetchError> {
    let problem = "it is not base64";
    let key = STANDARD.decode(key).map_err(|_| FetchError::Argument {
        name: "sshkey",
        value: "(hidden)".to_owned(),
        problem,
    })?;
    let write = || {
        // Temporary files can be read only by their owner.
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(&key)?;
        Ok(file)
    };
    write().map_err(FetchError::io(&std::env::temp_dir()))
}

/// The settings of git for one package.
struct Git {
    key: Option<tempfile::NamedTempFile>,
    url: String,
}

impl Git {
    async fn output(&self, words: &[&OsStr], at: Option<&Path>, protocols: &str) -> Result<Output, GitError> {
        let mut command = Command::new("git");
        command.args(words).stdin(Stdio::null()).kill_on_drop(true);
        if let Some(directory) = at {
            command.current_dir(directory);
        }
        if std::env::var_os(PROTOCOLS).is_none() {
            command.env(PROTOCOLS, protocols);
        }
        if let Some(file) = &self.key {
            let mut ssh = std::env::var_os(SSH_COMMAND).filter(|text| !text.is_empty()).unwrap_or_else(|| "ssh".into());
            ssh.push(" -i '");
            ssh.push(OsString::from(file.path().to_string_lossy().replace('\'', r"'\''")));
            ssh.push("'");
            command.env(SSH_COMMAND, ssh);
        }
        command.output().await.map_err(GitError::Start)
    }

    async fn run(&self, words: &[&OsStr], at: Option<&Path>, protocols: &str) -> Result<Output, GitError> {
        let output = self.output(words, at, protocols).await?;
        if output.status.success() {
            return Ok(output);
        }
        let command = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        Err(GitError::Failed { command, output: self.said(&output) })
    }

    /// The error output of git, without passwords.
    fn said(&self, output: &Output) -> String {
        let text = String::from_utf8_lossy(&output.stderr);
        let text: String = text.trim().chars().take(LONGEST_OUTPUT).collect();
        if text.is_empty() {
            return output.status.to_string();
        }
        let secret = self.url.split_once("://").and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'));
        match secret.and_then(|(user, _)| user.split_once(':')) {
            Some((_, password)) if !password.is_empty() => text.replace(password, "(hidden)"),
            _ => text.replace(&self.url, &shown(&self.url)),
        }
    }

    /// The default branch of the server.
    async fn default_branch(&self) -> Result<String, GitError> {
        let words = ["ls-remote", "--symref", "--", &self.url, "HEAD"].map(OsStr::new);
        let output = self.output(&words, None, ALLOWED).await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let found = text.lines().find_map(|line| line.strip_prefix("ref: refs/heads/")?.split_whitespace().next());
        Ok(found.filter(|name| unsound(name).is_none()).unwrap_or(USUAL_BRANCH).to_owned())
    }

    /// The commit that a name in the clone refers to.
    async fn commit(&self, name: &str, at: &Path) -> Result<String, GitError> {
        for prefix in ["", BRANCHES, TAGS] {
            let wanted = format!("{prefix}{name}^{{commit}}");
            let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted].map(OsStr::new);
            let output = self.output(&words, Some(at), ALLOWED).await?;
            let commit = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            if output.status.success() && !commit.is_empty() && commit.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Ok(commit);
            }
        }
        Err(GitError::NoRef(name.to_owned()))
    }
}
