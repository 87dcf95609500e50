//! Uploads with `scp` on the machine, as a receiver.

use std::path::{Path, PathBuf};

use russh::client::Msg;
use russh::{Channel, ChannelReadHalf, ChannelWriteHalf};
use tokio::io::AsyncReadExt;

use crate::channel::{End, Piece, Progress};
use crate::error::RemoteCallError;

/// The maximum number of bytes of one read from a file.
const PIECE: usize = 64 * 1024;
/// The maximum depth of directories. Links to directories are followed, so a directory may contain itself.
const DEEPEST: usize = 64;
/// The maximum length of a message of `scp`.
const LONGEST_MESSAGE: usize = 8 * 1024;
/// The exit status of a shell that cannot find a command.
const NOT_FOUND: u32 = 127;

/// The content of a file to upload.
pub(crate) enum Source {
    Bytes(Vec<u8>),
    File { path: PathBuf, file: tokio::fs::File, size: u64 },
}

impl Source {
    /// Opens a file.
    pub(crate) async fn open(path: &Path) -> Result<Source, RemoteCallError> {
        let failed = |error: std::io::Error| RemoteCallError::local(path, error);
        // Checked before the file is opened: opening a named pipe would block until a writer opens it.
        let found = tokio::fs::metadata(path).await.map_err(failed)?;
        if !found.is_file() {
            return Err(RemoteCallError::local(path, "the source is neither a file nor a directory"));
        }
        let file = tokio::fs::File::open(path).await.map_err(failed)?;
        let size = file.metadata().await.map_err(failed)?.len();
        Ok(Source::File { path: path.to_owned(), file, size })
    }
}

/// A running `scp` on the machine.
pub(crate) struct Scp {
    from: ChannelReadHalf,
    to: ChannelWriteHalf<Msg>,
    inbox: Inbox,
}

/// The output of `scp` so far.
#[derive(Default)]
struct Inbox {
    progress: Progress,
    replies: Vec<u8>,
    said: Vec<u8>,
}

impl Inbox {
    fn take(&mut self, message: Option<russh::ChannelMsg>) {
        let (into, piece) = match self.progress.take(message) {
            Some(Piece::Out(piece)) => (&mut self.replies, piece),
            Some(Piece::Err(piece)) => (&mut self.said, piece),
            None => return,
        };
        let room = LONGEST_MESSAGE.saturating_sub(into.len());
        into.extend(&piece[..piece.len().min(room)]);
    }

    /// The reason why `scp` ended early.
    fn failure(&self) -> RemoteCallError {
        let said = String::from_utf8_lossy(&self.said).trim().to_owned();
        match &self.progress.end {
            Some(End::Exit(NOT_FOUND)) => RemoteCallError::NoScp,
            Some(_) if !said.is_empty() => RemoteCallError::Upload(said),
            Some(End::Exit(status)) => RemoteCallError::Upload(format!("scp exited with status {status}")),
            Some(End::Signal(name)) => RemoteCallError::Signal(name.clone()),
            Some(End::Refused) => RemoteCallError::Refused("to start scp"),
            None => RemoteCallError::Lost("the host did not report the exit status of the upload".to_owned()),
        }
    }
}

impl Scp {
    /// Starts `scp`.
    pub(crate) async fn begin(channel: Channel<Msg>, command: &str) -> Result<Scp, RemoteCallError> {
        channel.exec(true, command).await.map_err(RemoteCallError::lost)?;
        let (from, to) = channel.split();
        let mut scp = Scp { from, to, inbox: Inbox::default() };
        scp.reply().await?;
        Ok(scp)
    }

    /// Waits for the next reply: a zero byte, or an error with its message.
    async fn reply(&mut self) -> Result<(), RemoteCallError> {
        loop {
            match self.inbox.replies.first() {
                Some(0) => {
                    self.inbox.replies.remove(0);
                    return Ok(());
                }
                Some(_) => {
                    let length = self.inbox.replies.iter().position(|byte| *byte == b'\n');
                    if length.is_some() || self.inbox.progress.closed || self.inbox.replies.len() >= LONGEST_MESSAGE {
                        let message = &self.inbox.replies[1..length.unwrap_or(self.inbox.replies.len())];
                        return Err(RemoteCallError::Upload(String::from_utf8_lossy(message).trim().to_owned()));
                    }
                }
                None if self.inbox.progress.closed => return Err(self.inbox.failure()),
                None => {}
            }
            self.inbox.take(self.from.wait().await);
        }
    }

    /// Sends bytes. Stops if `scp` ends.
    async fn send(&mut self, bytes: Vec<u8>) -> Result<(), RemoteCallError> {
        let Scp { from, to, inbox } = self;
        let sending = to.data_bytes(bytes);
        tokio::pin!(sending);
        loop {
            tokio::select! {
                sent = &mut sending => return sent.map_err(RemoteCallError::lost),
                message = from.wait() => {
                    inbox.take(message);
                    if inbox.progress.closed {
                        return Err(inbox.failure());
                    }
                }
            }
        }
    }

    async fn order(&mut self, text: String) -> Result<(), RemoteCallError> {
        self.send(text.into_bytes()).await?;
        self.reply().await
    }

    /// Sends a file.
    pub(crate) async fn file(&mut self, name: &str, source: Source) -> Result<(), RemoteCallError> {
        let name = checked(name)?;
        match source {
            Source::Bytes(bytes) => {
                self.order(format!("C0644 {} {name}\n", bytes.len())).await?;
                if !bytes.is_empty() {
                    self.send(bytes).await?;
                }
            }
            Source::File { path, file, size } => {
                self.order(format!("C0644 {size} {name}\n")).await?;
                let mut left = size;
                let mut file = file.take(size);
                while left > 0 {
                    let mut piece = vec![0; PIECE];
                    let count = file.read(&mut piece).await.map_err(|error| RemoteCallError::local(&path, error))?;
                    if count == 0 {
                        return Err(RemoteCallError::local(&path, "the file became shorter during the upload"));
                    }
                    piece.truncate(count);
                    left -= count as u64;
                    self.send(piece).await?;
                }
            }
        }
        self.order("\0".to_owned()).await
    }

    /// Sends a directory.
    pub(crate) async fn folder(&mut self, name: &str, path: &Path) -> Result<(), RemoteCallError> {
        self.order(format!("D0755 0 {}\n", checked(name)?)).await?;
        self.contents(path).await?;
        self.order("E\n".to_owned()).await
    }

    /// Sends the contents of a directory, sorted by name.
    pub(crate) async fn contents(&mut self, path: &Path) -> Result<(), RemoteCallError> {
        // The stack of directories in progress. Each entry has the names that remain to be sent, in reverse order.
        let mut open = vec![(path.to_owned(), names(path).await?)];
        while let Some((folder, left)) = open.last_mut() {
            let Some(name) = left.pop() else {
                open.pop();
                if !open.is_empty() {
                    self.order("E\n".to_owned()).await?;
                }
                continue;
            };
            let path = folder.join(&name);
            let found = tokio::fs::metadata(&path).await.map_err(|error| RemoteCallError::local(&path, error))?;
            if !found.is_dir() {
                let source = Source::open(&path).await?;
                self.file(&name, source).await?;
                continue;
            }
            if open.len() >= DEEPEST {
                return Err(RemoteCallError::local(
                    &path,
                    format!("directories are nested more than {DEEPEST} levels deep"),
                ));
            }
            self.order(format!("D0755 0 {}\n", checked(&name)?)).await?;
            let inner = names(&path).await?;
            open.push((path, inner));
        }
        Ok(())
    }

    /// Waits until `scp` ends.
    pub(crate) async fn end(mut self) -> Result<(), RemoteCallError> {
        self.to.eof().await.map_err(RemoteCallError::lost)?;
        while !self.inbox.progress.closed {
            self.inbox.take(self.from.wait().await);
        }
        self.inbox.progress.outcome().map_err(|_| self.inbox.failure())
    }
}

/// Returns the name, or an error if the name is empty or has a line break. Each message of the protocol is one line, so
/// a line break would split the message.
fn checked(name: &str) -> Result<&str, RemoteCallError> {
    match name.contains('\n') || name.is_empty() {
        true => Err(RemoteCallError::Upload(format!("{name:?} cannot be the name of an uploaded file"))),
        false => Ok(name),
    }
}

/// The names in a directory, in reverse order.
async fn names(path: &Path) -> Result<Vec<String>, RemoteCallError> {
    let failed = |error: std::io::Error| RemoteCallError::local(path, error);
    let mut reader = tokio::fs::read_dir(path).await.map_err(failed)?;
    let mut found = Vec::new();
    while let Some(entry) = reader.next_entry().await.map_err(failed)? {
        let name = entry.file_name();
        match name.to_str() {
            Some(name) => found.push(name.to_owned()),
            None => return Err(RemoteCallError::local(&path.join(&name), "the name is not UTF-8")),
        }
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    Ok(found)
}
