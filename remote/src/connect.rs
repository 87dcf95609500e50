//! Connects to a machine.

use std::path::PathBuf;

use russh::Disconnect;
use russh::client::Handle;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::agent;
use crate::authentication::{Proofs, authenticate};
use crate::error::{AttemptError, ConnectError, SetupError};
use crate::handshake::{Client, begin};
use crate::host_key::HostKey;
use crate::keys::{UserKey, user_key};
use crate::proxy;
use crate::retry;
use crate::session::RemoteSession;
use crate::target::{Endpoint, RemoteTarget};

/// An endpoint with its keys.
struct PreparedEndpoint {
    endpoint: Endpoint,
    key: Option<UserKey>,
    host_key: Option<HostKey>,
}

impl PreparedEndpoint {
    fn new(endpoint: &Endpoint) -> Result<PreparedEndpoint, SetupError> {
        let key = user_key(endpoint)?;
        let host_key = endpoint.host_key.as_deref().map(HostKey::parse).transpose()?;
        Ok(PreparedEndpoint { endpoint: endpoint.clone(), key, host_key })
    }
}

/// A machine whose keys have been read.
pub struct Prepared {
    target: RemoteTarget,
    machine: PreparedEndpoint,
    bastion: Option<PreparedEndpoint>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Prepared({})", self.target.machine.address())
    }
}

impl RemoteTarget {
    /// Reads the keys of the target, and checks that its agent responds.
    ///
    /// # Errors
    /// Returns an error that names the unusable setting.
    pub async fn prepare(&self) -> Result<Prepared, SetupError> {
        if let Some(agent) = &self.agent {
            drop(agent::open(agent).await?);
        }
        let machine = PreparedEndpoint::new(&self.machine)?;
        let bastion = self.bastion.as_ref().map(PreparedEndpoint::new).transpose()?;
        Ok(Prepared { target: self.clone(), machine, bastion })
    }
}

impl Prepared {
    /// Connects, with retries until the timeout. `attempted` is called before each attempt. Nothing is changed on the
    /// machine.
    ///
    /// # Errors
    /// Returns the last error if the timeout has passed.
    pub async fn connect<F>(&self, mut attempted: impl FnMut() -> F) -> Result<RemoteSession, ConnectError>
    where
        F: Future<Output = ()>,
    {
        retry::until(self.target.timeout, || {
            let announced = attempted();
            async move {
                announced.await;
                self.attempt().await
            }
        })
        .await
    }

    async fn attempt(&self) -> Result<RemoteSession, AttemptError> {
        let proxy = self.target.proxy.as_ref();
        let machine = &self.machine.endpoint;
        let socket = self.target.agent.as_ref().map(|agent| agent.socket.clone());
        let (handle, bastion) = match &self.bastion {
            None => {
                let stream = proxy::open(proxy, &machine.host, machine.port).await?;
                (self.enter(stream, &self.machine, socket).await?, None)
            }
            Some(bastion) => {
                let through = &bastion.endpoint;
                let of_bastion = |error| AttemptError::Bastion(Box::new(error));
                let stream = proxy::open(proxy, &through.host, through.port).await.map_err(of_bastion)?;
                let between = self.enter(stream, bastion, None).await.map_err(of_bastion)?;
                let (host, port) = (machine.host.clone(), u32::from(machine.port));
                let channel = between.channel_open_direct_tcpip(host, port, "127.0.0.1", 0).await;
                let channel = channel.map_err(|error| AttemptError::Forwarding {
                    bastion: through.address(),
                    machine: machine.address(),
                    error,
                })?;
                (self.enter(channel.into_stream(), &self.machine, socket).await?, Some(between))
            }
        };
        Ok(RemoteSession::new(handle, bastion, self.target.platform, self.target.agent.is_some()).await)
    }

    /// Exchanges keys and authenticates over a stream. If `forwarded` is set, the machine can use the agent at this
    /// socket.
    async fn enter<S>(
        &self,
        stream: S,
        prepared: &PreparedEndpoint,
        forwarded: Option<PathBuf>,
    ) -> Result<Handle<Client>, AttemptError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let PreparedEndpoint { endpoint, key, host_key } = prepared;
        let failed =
            |error| AttemptError::Authentication { user: endpoint.user.clone(), place: endpoint.address(), error };
        let mut handle = begin(stream, &endpoint.host, host_key.as_ref(), forwarded).await.map_err(failed)?;
        let proofs = Proofs {
            user: &endpoint.user,
            key: key.as_ref(),
            password: endpoint.password.as_ref(),
            agent: self.target.agent.as_ref(),
        };
        match authenticate(&mut handle, &proofs).await {
            Ok(()) => Ok(handle),
            Err(error) => {
                // The connection may have ended already.
                let _ = handle.disconnect(Disconnect::ByApplication, "", "").await;
                Err(failed(error))
            }
        }
    }
}
