//! Authenticates the user.

use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::agent::AgentIdentity;
use russh::keys::{Algorithm, HashAlg, PrivateKeyWithHashAlg};

use weft_sealing::Secret;

use crate::agent;
use crate::error::AuthenticationError;
use crate::handshake::Client;
use crate::keys::{RsaSigner, UserKey};
use crate::target::Agent;

/// The maximum number of questions of a host. The answer to each question is the password.
const MOST_QUESTIONS: usize = 8;

/// The credentials of a user.
pub(crate) struct Proofs<'a> {
    pub(crate) user: &'a str,
    pub(crate) key: Option<&'a UserKey>,
    pub(crate) password: Option<&'a Secret>,
    pub(crate) agent: Option<&'a Agent>,
}

/// Tries all credentials of the user, in order.
pub(crate) async fn authenticate(handle: &mut Handle<Client>, proofs: &Proofs<'_>) -> Result<(), AuthenticationError> {
    let mut tried: Vec<&'static str> = Vec::new();
    if let Some(key) = proofs.key {
        tried.push("private key");
        if with_key(handle, proofs.user, key).await? {
            return Ok(());
        }
    }
    if let Some(password) = proofs.password {
        tried.push("password");
        if with_password(handle, proofs.user, password).await? {
            return Ok(());
        }
    }
    if let Some(agent) = proofs.agent {
        tried.push("agent");
        if with_agent(handle, proofs.user, agent).await? {
            return Ok(());
        }
    }
    if tried.is_empty() {
        let none = handle.authenticate_none(proofs.user).await?;
        if none.success() {
            return Ok(());
        }
        return Err(AuthenticationError::NoCredentials);
    }
    Err(AuthenticationError::Refused(tried))
}

/// The hash for signatures with RSA keys.
async fn rsa_hash(handle: &Handle<Client>) -> HashAlg {
    match handle.best_supported_rsa_hash().await {
        Ok(Some(Some(hash))) => hash,
        // Machines that do not list their algorithms are assumed to support SHA-256. The client never offers SHA-1.
        _ => HashAlg::Sha256,
    }
}

async fn with_key(handle: &mut Handle<Client>, user: &str, key: &UserKey) -> Result<bool, AuthenticationError> {
    let outcome = match (&key.rsa, &key.certificate) {
        (Some(pair), certificate) => {
            let hash = Some(rsa_hash(handle).await);
            let mut signer = RsaSigner(pair.clone());
            let outcome = match certificate {
                Some(found) => handle.authenticate_certificate_with(user, found.clone(), hash, &mut signer).await,
                None => {
                    let public = key.key.public_key().clone();
                    handle.authenticate_publickey_with(user, public, hash, &mut signer).await
                }
            };
            outcome?
        }
        (None, Some(certificate)) => {
            handle.authenticate_openssh_cert(user, key.key.clone(), certificate.clone()).await?
        }
        (None, None) => handle.authenticate_publickey(user, PrivateKeyWithHashAlg::new(key.key.clone(), None)).await?,
    };
    Ok(outcome.success())
}

async fn with_password(
    handle: &mut Handle<Client>,
    user: &str,
    password: &Secret,
) -> Result<bool, AuthenticationError> {
    let outcome = handle.authenticate_password(user, password.text()).await?;
    if outcome.success() {
        return Ok(true);
    }
    let AuthResult::Failure { remaining_methods, .. } = outcome else { return Ok(true) };
    if !remaining_methods.contains(&russh::MethodKind::KeyboardInteractive) {
        return Ok(false);
    }
    let mut answer = handle.authenticate_keyboard_interactive_start(user, None::<String>).await?;
    for _ in 0..MOST_QUESTIONS {
        match answer {
            KeyboardInteractiveAuthResponse::Success => return Ok(true),
            KeyboardInteractiveAuthResponse::Failure { .. } => return Ok(false),
            KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => {
                let answers = prompts.iter().map(|_| password.text().to_owned()).collect();
                answer = handle.authenticate_keyboard_interactive_respond(answers).await?;
            }
        }
    }
    Ok(false)
}

async fn with_agent(handle: &mut Handle<Client>, user: &str, agent: &Agent) -> Result<bool, AuthenticationError> {
    let mut client = agent::open(agent).await?;
    let hash = Some(rsa_hash(handle).await);
    for identity in agent::identities(&mut client, agent.identity.as_deref()).await? {
        let outcome = match identity {
            AgentIdentity::PublicKey { key, .. } => {
                let hash = if matches!(key.algorithm(), Algorithm::Rsa { .. }) { hash } else { None };
                handle.authenticate_publickey_with(user, key, hash, &mut client).await
            }
            AgentIdentity::Certificate { certificate, .. } => {
                let hash = if matches!(certificate.algorithm(), Algorithm::Rsa { .. }) { hash } else { None };
                handle.authenticate_certificate_with(user, certificate, hash, &mut client).await
            }
        };
        match outcome {
            Ok(outcome) if outcome.success() => return Ok(true),
            Ok(_) => {}
            // The agent may have lost the key, or its user may have declined.
            Err(error) => tracing::debug!(%error, "the SSH agent did not return a signature"),
        }
        if handle.is_closed() {
            return Ok(false);
        }
    }
    Ok(false)
}
