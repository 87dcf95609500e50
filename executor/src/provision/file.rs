//! The provisioner `file`: uploads files to another machine.

use std::path::{Path, PathBuf};

use weft_graph_format::digest::Digest;
use weft_graph_format::value::Value;
use weft_remote::{RemoteCallError, RemoteSession};

use super::connection::{Connection, agent_socket, read};
use super::{Assignment, Setback, text_of};
use crate::context::TaskContext;
use crate::problems::{no_destination, reasons, upload_failed, upload_refused};

/// The content of an upload.
#[derive(Debug, PartialEq, Eq)]
enum Upload {
    Content(Vec<u8>),
    File(PathBuf),
    /// A folder. If `contents` is false, the folder itself appears in the destination.
    Folder {
        path: PathBuf,
        contents: bool,
    },
}

impl Upload {
    fn digest(&self) -> String {
        match self {
            Upload::Content(bytes) => format!("{:?}", Digest::of(bytes)),
            Upload::File(path) | Upload::Folder { path, .. } => path.display().to_string(),
        }
    }
}

/// Why the content of an upload cannot be read.
#[derive(Debug, thiserror::Error)]
enum UploadError {
    #[error("source and content cannot both be null")]
    Nothing,
    #[error("{path}: {error}")]
    Unreadable { path: String, error: std::io::Error },
    #[error("the home directory of the user is not known")]
    NoHome,
    #[error("{0}: the home directory of another user is not supported")]
    OtherHome(String),
}

/// Reads the content of an upload. A folder name that ends in `/` stands for the contents of the folder.
async fn upload(arguments: &Value, base: &Path) -> Result<Upload, UploadError> {
    let field = |name: &str| arguments.as_fields().and_then(|fields| fields.get(name)).filter(|value| !value.is_null());
    if let Some(content) = text_of(field("content")) {
        return Ok(Upload::Content(content.into_bytes()));
    }
    let Some(source) = text_of(field("source")) else {
        return Err(UploadError::Nothing);
    };
    let path = base.join(expanded(&source)?);
    let found = tokio::fs::metadata(&path).await;
    let found = found.map_err(|error| UploadError::Unreadable { path: source.clone(), error })?;
    match found.is_dir() {
        true => Ok(Upload::Folder { path, contents: source.ends_with('/') }),
        false => Ok(Upload::File(path)),
    }
}

/// A path whose `~` is replaced by the home directory of the user.
fn expanded(path: &str) -> Result<PathBuf, UploadError> {
    match path.strip_prefix('~') {
        None => Ok(PathBuf::from(path)),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = std::env::home_dir().ok_or(UploadError::NoHome)?;
            Ok(home.join(rest.trim_start_matches('/')))
        }
        Some(_) => Err(UploadError::OtherHome(path.to_owned())),
    }
}

/// Uploads the files.
pub(super) async fn run(context: &mut TaskContext, assignment: Assignment<'_>) -> Result<(), Setback> {
    let failed = |error: &dyn std::fmt::Display| Setback::from(upload_failed(error));
    let Assignment { address, arguments, connection, .. } = assignment;
    let Connection { target, .. } = read(connection.as_ref(), agent_socket()).map_err(|error| failed(&error))?;
    let prepared = target.prepare().await.map_err(|error| failed(&error))?;
    let destination = arguments.as_fields().and_then(|fields| fields.get("destination"));
    let destination = text_of(destination.filter(|value| !value.is_null())).filter(|text| !text.is_empty());
    let Some(destination) = destination else { return Err(no_destination().into()) };
    let base = context.host.options.base_directory.clone();
    let upload = upload(&arguments, &base).await.map_err(|error| failed(&error))?;
    // Connecting changes nothing, so it needs no permission. A run that ends does not wait for the connection.
    let session = prepared.connect(|| async {}).await.map_err(|error| failed(&error))?;
    let digest = format!("{address}\0{}\0{destination}\0{}", target.machine.address(), upload.digest());
    context.ask(Digest::of(digest.as_bytes())).await.map_err(Setback::NotCalled)?;
    match send(&session, &destination, upload).await {
        Ok(()) => {
            session.close().await;
            Ok(())
        }
        Err(RemoteCallError::Lost(reason)) => {
            Err(Setback::Uncertain(reasons::lost_during_upload(&destination, &reason)))
        }
        Err(error) => Err(upload_refused(&error).into()),
    }
}

async fn send(session: &RemoteSession, destination: &str, upload: Upload) -> Result<(), RemoteCallError> {
    match upload {
        Upload::Content(bytes) => session.upload_bytes(destination, bytes).await,
        Upload::File(path) => session.upload_file(destination, &path).await,
        Upload::Folder { path, contents } => session.upload_folder(destination, &path, contents).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slash_at_the_end_stands_for_the_contents() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("d")).unwrap();
        std::fs::write(folder.path().join("f"), "x").unwrap();
        let read = async |name: &'static str, text: &str| {
            upload(&Value::object([(name, Value::string(text))]), folder.path()).await
        };
        let whole = |contents| Upload::Folder { path: folder.path().join(if contents { "d/" } else { "d" }), contents };
        assert_eq!(read("source", "d").await.unwrap(), whole(false));
        assert_eq!(read("source", "d/").await.unwrap(), whole(true));
        assert_eq!(read("source", "f").await.unwrap(), Upload::File(folder.path().join("f")));
        assert_eq!(read("content", "").await.unwrap(), Upload::Content(Vec::new()));
        assert!(read("source", "absent").await.is_err() && read("source", "~nobody/x").await.is_err());
    }
}
