//! The beginning of an SSH connection: key exchange and the check of the host.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use russh::client::{self, ChannelOpenHandle, Handle, Msg};
use russh::keys::PublicKeyOrCertificate;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::agent;
use crate::error::AuthenticationError;
use crate::host_key::{HostKey, preferred_signed};

/// The time without data after which the client checks whether the machine is alive.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// The maximum number of checks without a reply: two minutes in all.
const KEEPALIVES: usize = 8;

/// The client's side of a connection.
pub(crate) struct Client {
    host: String,
    expected: Option<HostKey>,
    /// The key that the host presented, if the client refused that key.
    refused: Arc<Mutex<Option<String>>>,
    /// The socket of an agent that is forwarded.
    agent: Option<PathBuf>,
}

impl client::Handler for Client {
    type Error = russh::Error;

    async fn check_server_key(&mut self, found: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let accepted = self.expected.as_ref().is_none_or(|expected| expected.accepts(&self.host, found));
        if !accepted {
            let fingerprint = found.public_key().fingerprint(russh::keys::HashAlg::Sha256);
            *self.refused.lock() = Some(fingerprint.to_string());
        }
        Ok(accepted)
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        channel: russh::Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), russh::Error> {
        if let Some(socket) = self.agent.clone() {
            reply.accept().await;
            tokio::spawn(agent::forward(socket, channel));
        }
        Ok(())
    }
}

/// Exchanges keys with a host, and checks its key.
pub(crate) async fn begin<S>(
    stream: S,
    host: &str,
    expected: Option<&HostKey>,
    agent: Option<PathBuf>,
) -> Result<Handle<Client>, AuthenticationError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let refused = Arc::new(Mutex::new(None));
    let client = Client { host: host.to_owned(), expected: expected.cloned(), refused: refused.clone(), agent };
    let config = client::Config {
        preferred: preferred_signed(expected),
        keepalive_interval: Some(KEEPALIVE),
        keepalive_max: KEEPALIVES,
        ..client::Config::default()
    };
    client::connect_stream(Arc::new(config), stream, client).await.map_err(|error| match refused.lock().take() {
        Some(found) => AuthenticationError::OtherHostKey(found),
        None => AuthenticationError::Connection(error),
    })
}
