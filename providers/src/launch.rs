//! Starts a plugin program, and opens a gRPC connection to it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, BufReader};
use tokio::net::TcpStream;
use tokio::process::{ChildStdout, Command};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint, Uri};

use crate::fingerprint::HashedFiles;
use crate::guard;
use crate::handshake::{self, Handshake, HandshakeError, PluginAddress, Protocol};
use crate::plugin_log;
use crate::process::{self, PluginProcess};
use crate::tls::{self, ClientIdentity, PluginTlsError};

/// The time limit for a plugin to print its handshake. Large plugins on a busy machine need many seconds. go-plugin
/// waits a minute.
pub const START_DEADLINE: Duration = Duration::from_secs(60);

/// The time limit to connect once the plugin has printed its address.
pub const CONNECT_DEADLINE: Duration = Duration::from_secs(30);

/// The flow control window of the connection. HTTP/2's 64 KiB would make a schema of 40 MiB wait for hundreds of round
/// trips.
const WINDOW: u32 = 8 * 1024 * 1024;

/// The environment variable that disables TLS, for debuggers and for plugins without TLS.
pub const NO_TLS_VARIABLE: &str = "TF_DISABLE_PLUGIN_TLS";

/// Environment variables that plugins do not receive. No plugin needs them, and they may contain secrets of Weft:
/// tokens, passwords and passphrases. The address of the store may contain a password.
const KEPT_BACK: [&str; 5] =
    ["WEFT_TOKEN", "WEFT_STORE", "WEFT_REDIS_PASSWORD", "WEFT_REDIS_SENTINEL_PASSWORD", "TF_ENCRYPTION"];

/// How to start a plugin.
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    /// The provider's name, for messages and the log.
    pub name: String,
    /// The plugin's program.
    pub program: PathBuf,
    /// The working directory of the plugin, which is the root module's directory. If `None`, the plugin gets the
    /// directory of this process.
    pub working_directory: Option<PathBuf>,
    /// Variables that are added to the environment of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// The guard program. If `None`, [`guard::program`] is used.
    pub guard: Option<PathBuf>,
    /// The time limit for the handshake of the plugin.
    pub start_deadline: Duration,
    /// The files of the plugin's package, which must be unchanged when the plugin starts; `None` if they may change.
    pub files: Option<Arc<HashedFiles>>,
}

impl LaunchSpec {
    /// The default specification for a program.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> LaunchSpec {
        LaunchSpec {
            name: name.into(),
            program: program.into(),
            working_directory: None,
            environment: Vec::new(),
            guard: None,
            start_deadline: START_DEADLINE,
            files: None,
        }
    }
}

/// Why a plugin could not be started. No call has been made in any of these cases.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The operating system refused to start the plugin.
    #[error("cannot start {program}: {error}")]
    Spawn {
        /// The plugin's program.
        program: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The files have changed since their checksum was computed.
    #[error(
        "the files of the package of {program} have changed since its checksum was computed; nothing was started. \
        Restore the package that the plan was made with"
    )]
    Changed {
        /// The plugin's program.
        program: PathBuf,
    },
    /// A directory for the plugin's socket cannot be created.
    #[error("cannot create a directory for the plugin's socket: {0}")]
    SocketDirectory(io::Error),
    /// The plugin ended before its handshake.
    #[error("the plugin ended before it was ready: {status}{}", hint(.stderr))]
    Ended {
        /// The exit status of the process.
        status: String,
        /// The last output of the plugin.
        stderr: String,
    },
    /// The plugin did not print a handshake in time.
    #[error("the plugin was not ready within {} s{}", .limit.as_secs(), hint(.stderr))]
    Silent {
        /// The time limit.
        limit: Duration,
        /// The last output of the plugin.
        stderr: String,
    },
    /// The handshake of the plugin is not usable.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// TLS with the plugin is not possible.
    #[error(transparent)]
    Tls(#[from] PluginTlsError),
    /// The plugin offers no TLS, although it was asked to use TLS.
    #[error("the plugin does not support TLS; set {NO_TLS_VARIABLE}=1 to connect without TLS")]
    TlsRefused,
    /// The plugin does not accept connections.
    #[error("cannot connect to the plugin: {0}{tail}", tail = hint(.1))]
    Connect(String, String),
}

fn hint(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("\n\nThe plugin's last output:\n{stderr}") }
}

/// A plugin that is ready for calls.
pub(crate) struct Launched {
    pub(crate) process: PluginProcess,
    pub(crate) channel: Channel,
    pub(crate) protocol: Protocol,
}

/// Starts a plugin and connects to it.
pub(crate) async fn launch(spec: &LaunchSpec) -> Result<Launched, LaunchError> {
    let identity = match std::env::var_os(NO_TLS_VARIABLE) {
        Some(value) if !value.is_empty() => None,
        _ => Some(ClientIdentity::generate()?),
    };
    let socket_directory =
        tempfile::Builder::new().prefix("weft-plugin-").tempdir().map_err(LaunchError::SocketDirectory)?;
    if let Some(files) = spec.files.clone() {
        let same = tokio::task::spawn_blocking(move || files.are_unchanged()).await;
        if !same.unwrap_or_default() {
            return Err(LaunchError::Changed { program: spec.program.clone() });
        }
    }
    let command = command(spec, identity.as_ref(), &socket_directory);
    let child =
        process::spawn(command).await.map_err(|error| LaunchError::Spawn { program: spec.program.clone(), error })?;
    let (process, stdout) = PluginProcess::watch(child, &spec.name);
    let Some(stdout) = stdout else {
        return Err(LaunchError::Connect("it has no standard output".into(), String::new()));
    };
    let mut stdout = BufReader::new(stdout);
    let line = tokio::select! {
        // A line that was printed counts even if the process has ended since.
        biased;
        line = first_line(&mut stdout) => line,
        () = tokio::time::sleep(spec.start_deadline) => {
            return Err(LaunchError::Silent { limit: spec.start_deadline, stderr: process.last_lines() });
        }
    };
    let Some(line) = line else {
        // The output ended without a line: the process has ended or is about to.
        let status = tokio::time::timeout(CONNECT_DEADLINE, process.wait()).await;
        let status = status.unwrap_or_else(|_| "it closed its standard output".into());
        return Err(LaunchError::Ended { status, stderr: process.last_lines() });
    };
    process::relay_stdout(stdout, spec.name.clone());
    let handshake = Handshake::parse(&line)?;
    let tls = match (&identity, &handshake.certificate) {
        (Some(identity), Some(certificate)) => Some(TlsConnector::from(Arc::new(identity.client_config(certificate)?))),
        (Some(_), None) => return Err(LaunchError::TlsRefused),
        (None, _) => None,
    };
    let connecting = tokio::time::timeout(CONNECT_DEADLINE, connect(handshake.address, tls)).await;
    let channel = match connecting {
        Ok(Ok(channel)) => channel,
        Ok(Err(error)) => return Err(LaunchError::Connect(causes(&error), process.last_lines())),
        Err(_) => return Err(LaunchError::Connect("it does not respond".into(), process.last_lines())),
    };
    // Only one connection is made, so the socket can be removed now. No file remains.
    drop(socket_directory);
    Ok(Launched { process, channel, protocol: handshake.protocol })
}

fn command(spec: &LaunchSpec, identity: Option<&ClientIdentity>, socket_directory: &TempDir) -> Command {
    let mut command = match spec.guard.as_deref().or_else(|| guard::program()) {
        Some(guard) => {
            let mut command = Command::new(guard);
            command.args(guard::arguments(std::process::id(), &spec.program));
            command
        }
        None => Command::new(&spec.program),
    };
    process::piped(&mut command);
    if let Some(directory) = &spec.working_directory {
        command.current_dir(directory);
    }
    command
        .env(handshake::MAGIC_COOKIE.0, handshake::MAGIC_COOKIE.1)
        .env("PLUGIN_PROTOCOL_VERSIONS", "5,6")
        .env("PLUGIN_MIN_PORT", handshake::PORTS.0)
        .env("PLUGIN_MAX_PORT", handshake::PORTS.1)
        .env("PLUGIN_UNIX_SOCKET_DIR", socket_directory.path())
        .env_remove("PLUGIN_CLIENT_CERT");
    for name in KEPT_BACK {
        command.env_remove(name);
    }
    for name in plugin_log::LEVEL_VARIABLES {
        if std::env::var_os(name).is_none() {
            command.env(name, plugin_log::wanted_level());
        }
    }
    if let Some(identity) = identity {
        command.env("PLUGIN_CLIENT_CERT", identity.pem());
    }
    for (name, value) in &spec.environment {
        command.env(name, value);
    }
    command
}

/// The first line of output; `None` at its end.
async fn first_line(stdout: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = Vec::new();
    match stdout.take(handshake::MAX_LINE as u64).read_until(b'\n', &mut line).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&line).into_owned()),
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn connect(address: PluginAddress, tls: Option<TlsConnector>) -> Result<Channel, tonic::transport::Error> {
    let connector = tower::service_fn(move |_: Uri| {
        let address = address.clone();
        let tls = tls.clone();
        async move { open(address, tls).await.map(TokioIo::new) }
    });
    // The name is never resolved: the connector above knows the address.
    Endpoint::from_static("http://plugin.invalid")
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .connect_with_connector(connector)
        .await
}

async fn open(address: PluginAddress, tls: Option<TlsConnector>) -> io::Result<Box<dyn Stream>> {
    let plain: Box<dyn Stream> = match address {
        #[cfg(unix)]
        PluginAddress::Unix(path) => Box::new(tokio::net::UnixStream::connect(path).await?),
        #[cfg(not(unix))]
        PluginAddress::Unix(_) => return Err(io::Error::from(io::ErrorKind::Unsupported)),
        PluginAddress::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    };
    match tls {
        None => Ok(plain),
        Some(tls) => {
            let name = ServerName::try_from(tls::SERVER_NAME).map_err(io::Error::other)?;
            Ok(Box::new(tls.connect(name, plain).await?))
        }
    }
}

/// An error with all its causes. The outermost error alone is just "transport error".
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.ends_with(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_do_not_receive_the_secrets_of_weft() {
        let spec = LaunchSpec::new("x", PathBuf::from("/bin/true"));
        let command = command(&spec, None, &TempDir::new().unwrap());
        let removed: Vec<_> =
            command.as_std().get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name.to_owned()).collect();
        for name in ["WEFT_TOKEN", "WEFT_STORE", "WEFT_REDIS_PASSWORD", "WEFT_REDIS_SENTINEL_PASSWORD", "TF_ENCRYPTION"]
        {
            assert!(removed.iter().any(|removed| removed == name), "{name}");
        }
    }
}
