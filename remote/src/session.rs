//! A connection to a machine: its commands and uploads.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use russh::client::{Handle, Msg};
use russh::{Channel, Disconnect, Pty};
use tokio::sync::mpsc;

use crate::channel::{Piece, Progress};
use crate::error::RemoteCallError;
use crate::handshake::Client;
use crate::lines::Lines;
use crate::scp::{Scp, Source};
use crate::target::Platform;

/// The terminal of commands: its type, width and height, as in OpenTofu.
const TERMINAL: (&str, u32, u32) = ("xterm", 40, 80);
/// The modes of the terminal: no echo, and the speeds of input and output.
const MODES: [(Pty, u32); 3] = [(Pty::ECHO, 0), (Pty::TTY_OP_ISPEED, 14_400), (Pty::TTY_OP_OSPEED, 14_400)];
/// The first line that is added to a script without a `#!` line.
const SHEBANG: &str = "#!/bin/sh\n";
/// The maximum number of bytes of a helper command's output that an error message quotes.
const KEPT_OUTPUT: usize = 8 * 1024;

/// A connection to a machine. Dropping it closes the connection.
pub struct RemoteSession {
    handle: Handle<Client>,
    /// The connection to the bastion, if the session runs through one.
    bastion: Option<Handle<Client>>,
    platform: Platform,
}

/// The path of a script. `%RAND%` is replaced by a number that differs for each script.
pub fn script_path(pattern: &str) -> String {
    // The hasher has random keys, so the number is random.
    let number = RandomState::new().hash_one(pattern) & 0x7fff_ffff;
    pattern.replace("%RAND%", &number.to_string())
}

impl std::fmt::Debug for RemoteSession {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RemoteSession({:?})", self.platform)
    }
}

impl RemoteSession {
    pub(crate) async fn new(
        handle: Handle<Client>,
        bastion: Option<Handle<Client>>,
        platform: Platform,
        forwards_agent: bool,
    ) -> RemoteSession {
        let session = RemoteSession { handle, bastion, platform };
        if forwards_agent {
            // If the machine forbids agent forwarding, commands run without it.
            match session.channel().await {
                Ok(channel) => {
                    let _ = channel.agent_forward(false).await;
                    let _ = channel.close().await;
                }
                Err(error) => tracing::debug!(%error, "the agent is not forwarded"),
            }
        }
        session
    }

    async fn channel(&self) -> Result<Channel<Msg>, RemoteCallError> {
        self.handle.channel_open_session().await.map_err(RemoteCallError::lost)
    }

    /// Runs a command, with a terminal if the platform is Unix. The lines of its output are sent to `lines`. While the
    /// channel `lines` is full, no output is read, so the command may have to wait.
    /// # Errors
    /// Returns an error if the command fails, or if the connection is lost.
    /// Returns an error if the command fails.
    pub async fn run(&self, command: &str, lines: &mpsc::Sender<String>) -> Result<(), RemoteCallError> {
        let mut channel = self.channel().await?;
        if self.platform == Platform::Unix {
            let (name, width, height) = TERMINAL;
            channel.request_pty(false, name, width, height, 0, 0, &MODES).await.map_err(RemoteCallError::lost)?;
        }
        channel.exec(true, format!("{}\n", command.trim())).await.map_err(RemoteCallError::lost)?;
        let (mut out, mut err) = (Lines::default(), Lines::default());
        let mut progress = Progress::default();
        while !progress.closed {
            let found = match progress.take(channel.wait().await) {
                Some(Piece::Out(piece)) => out.add(&piece),
                Some(Piece::Err(piece)) => err.add(&piece),
                None => continue,
            };
            for line in found {
                // The receiver may no longer exist.
                let _ = lines.send(line).await;
            }
        }
        for line in out.rest().into_iter().chain(err.rest()) {
            let _ = lines.send(line).await;
        }
        progress.outcome()
    }

    /// Runs a helper command. If the command fails, the error contains the output of the command.
    async fn help(&self, command: &str) -> Result<(), RemoteCallError> {
        let mut channel = self.channel().await?;
        channel.exec(true, command).await.map_err(RemoteCallError::lost)?;
        let mut said = Vec::new();
        let mut progress = Progress::default();
        while !progress.closed {
            if let Some(Piece::Out(piece) | Piece::Err(piece)) = progress.take(channel.wait().await)
                && said.len() < KEPT_OUTPUT
            {
                said.extend_from_slice(&piece);
            }
        }
        progress.outcome().map_err(|error| match error {
            RemoteCallError::Lost(_) => error,
            other => RemoteCallError::Upload(format!("{command}: {other}: {}", String::from_utf8_lossy(&said).trim())),
        })
    }

    /// Uploads a script. On Unix, makes it executable, and adds the first line `#!/bin/sh` if the script does not begin
    /// with `#!`.
    ///
    /// # Errors
    /// Returns an error if the upload fails.
    pub async fn upload_script(&self, path: &str, script: &[u8]) -> Result<(), RemoteCallError> {
        let mut text = Vec::with_capacity(script.len() + SHEBANG.len());
        if self.platform == Platform::Unix && !script.starts_with(b"#!") {
            text.extend(SHEBANG.as_bytes());
        }
        text.extend(script);
        self.upload_bytes(path, text).await?;
        match self.platform {
            Platform::Unix => self.help(&format!("chmod 0777 {path}")).await,
            Platform::Windows => Ok(()),
        }
    }

    /// Uploads a file with this content.
    ///
    /// # Errors
    /// Returns an error if the upload fails.
    pub async fn upload_bytes(&self, path: &str, content: Vec<u8>) -> Result<(), RemoteCallError> {
        let (folder, name) = split(path);
        let mut scp = Scp::begin(self.channel().await?, &self.quoted(&["scp", "-t", folder])).await?;
        scp.file(name, Source::Bytes(content)).await?;
        scp.end().await
    }

    /// Uploads a file.
    ///
    /// # Errors
    /// Returns an error if the upload fails.
    pub async fn upload_file(&self, path: &str, source: &Path) -> Result<(), RemoteCallError> {
        let (folder, name) = split(path);
        let source = Source::open(source).await?;
        let mut scp = Scp::begin(self.channel().await?, &self.quoted(&["scp", "-t", folder])).await?;
        scp.file(name, source).await?;
        scp.end().await
    }

    /// Uploads a directory into the directory `path`. If `contents` is true, uploads only the contents of the
    /// directory, without the directory itself.
    ///
    /// # Errors
    /// Returns an error if the upload fails.
    pub async fn upload_folder(&self, path: &str, source: &Path, contents: bool) -> Result<(), RemoteCallError> {
        let mut scp = Scp::begin(self.channel().await?, &self.quoted(&["scp", "-rt", path])).await?;
        match source.file_name() {
            Some(name) if !contents => scp.folder(&name.to_string_lossy(), source).await?,
            _ => scp.contents(source).await?,
        }
        scp.end().await
    }

    fn quoted(&self, words: &[&str]) -> String {
        let quoted: Vec<String> = words
            .iter()
            .map(|word| match self.platform {
                Platform::Unix => quoted_unix(word),
                Platform::Windows => quoted_windows(word),
            })
            .collect();
        quoted.join(" ")
    }

    /// Ends the connection.
    pub async fn close(self) {
        // The machine may have closed the connection already.
        let _ = self.handle.disconnect(Disconnect::ByApplication, "", "").await;
        if let Some(bastion) = self.bastion {
            let _ = bastion.disconnect(Disconnect::ByApplication, "", "").await;
        }
    }
}

/// The directory and the name of a path. Both `/` and `\` are separators, because the machine may use either.
fn split(path: &str) -> (&str, &str) {
    let path = match path.trim_end_matches('/') {
        "" => path,
        trimmed => trimmed,
    };
    match path.rfind('/') {
        Some(0) => ("/", &path[1..]),
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (".", path),
    }
}

fn quoted_unix(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.:=+,@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Quotes a word so that `CommandLineToArgvW` parses it as one argument.
fn quoted_windows(word: &str) -> String {
    if !word.is_empty() && !word.contains([' ', '\t', '"']) {
        return word.to_owned();
    }
    let mut out = String::from('"');
    let mut slashes = 0;
    for c in word.chars() {
        match c {
            '\\' => slashes += 1,
            '"' => {
                out.push_str(&"\\".repeat(slashes + 1));
                slashes = 0;
            }
            _ => slashes = 0,
        }
        out.push(c);
    }
    out.push_str(&"\\".repeat(slashes));
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_into_folder_and_name() {
        for (path, expected) in [
            ("/tmp/a.sh", ("/tmp", "a.sh")),
            ("/a", ("/", "a")),
            ("a", (".", "a")),
            ("b/c/", ("b", "c")),
            ("C:/windows/temp/x.cmd", ("C:/windows/temp", "x.cmd")),
        ] {
            assert_eq!(split(path), expected, "{path}");
        }
    }

    #[test]
    fn words_are_quoted_for_the_shell_of_the_machine() {
        assert_eq!(quoted_unix("/tmp/a b"), "'/tmp/a b'");
        assert_eq!(quoted_unix("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!((quoted_unix("~/x").as_str(), quoted_unix("").as_str()), ("'~/x'", "''"));
        assert_eq!(quoted_windows("C:/a b\\"), "\"C:/a b\\\\\"");
        assert_eq!(quoted_windows("a\"b"), "\"a\\\"b\"");
    }
}
