//! The user's SSH agent.

use std::path::{Path, PathBuf};

use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::{PublicKey, load_public_key, load_secret_key};
use tokio::net::UnixStream;

use crate::error::SetupError;
use crate::target::Agent;

/// A connection to an agent.
pub(crate) async fn open(agent: &Agent) -> Result<AgentClient<UnixStream>, SetupError> {
    let failed = |error: russh::keys::Error| SetupError::Agent {
        socket: agent.socket.display().to_string(),
        reason: error.to_string(),
    };
    AgentClient::connect_uds(&agent.socket).await.map_err(failed)
}

/// The keys of an agent, the preferred one first.
pub(crate) async fn identities(
    client: &mut AgentClient<UnixStream>,
    wanted: Option<&str>,
) -> Result<Vec<AgentIdentity>, russh::keys::Error> {
    let mut found = client.request_identities().await?;
    if let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) {
        let key = key_of_file(wanted);
        let is_it = |identity: &AgentIdentity| {
            let key = key.as_ref().map(PublicKey::key_data);
            identity.comment() == wanted || key.is_some_and(|key| key == identity.public_key().key_data())
        };
        // The agent may identify the key by the full path of the key file.
        found.sort_by_key(|identity| (!is_it(identity), !identity.comment().ends_with(wanted)));
    }
    Ok(found)
}

/// The public key of the key file `name`. The file may have a private or a public key. If it has neither, the key is
/// read from `name.pub`.
fn key_of_file(name: &str) -> Option<PublicKey> {
    let public = |path: &Path| load_public_key(path).ok();
    let own = Path::new(name);
    let beside = PathBuf::from(format!("{name}.pub"));
    let secret = load_secret_key(own, None).ok().map(|key| key.public_key().clone());
    secret.or_else(|| public(own)).or_else(|| public(&beside))
}

/// Connects the agent to a channel that the machine has opened.
pub(crate) async fn forward(socket: PathBuf, channel: russh::Channel<russh::client::Msg>) {
    let mut stream = match UnixStream::connect(&socket).await {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, "the agent cannot be forwarded"),
    };
    let mut channel = channel.into_stream();
    if let Err(error) = tokio::io::copy_bidirectional(&mut channel, &mut stream).await {
        tracing::debug!(%error, "the forwarding of the agent ended");
    }
}
