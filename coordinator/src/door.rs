//! Accepts connections to a coordinator: the sockets on which it listens, who may connect, and what each caller may
//! request.
//!
//! A connection comes over TLS with a certificate or a token, or over a Unix socket from a process of the same user or
//! of root. The role that a request needs is checked before its body is read.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::Stream;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tracing::{debug, info};
use weft_identity::files::Reloading;
use weft_identity::token::Tokens;
use weft_identity::{AccessRules, Peer, tls};

use crate::figures::Meters;
use crate::handshakes::Handshakes;
use crate::wire::Wire;

/// The time limit of a TLS handshake. A connection without a completed handshake is closed after this time.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long the connection of a refused caller stays open, so that the caller can read the reason.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The capacity of the queue of accepted connections.
const ACCEPTED: usize = 64;
/// The pause after an error of `accept`, for example because there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The user id of root.
const ROOT: u32 = 0;

/// Who may connect, and what they may do.
#[derive(Debug, Default)]
pub struct Guard {
    /// TLS for connections that do not come over a Unix socket.
    pub tls: Option<Reloading<ServerConfig>>,
    /// The rules.
    pub access: AccessRules,
    /// Verifies tokens, if a policy names issuers.
    pub tokens: Option<Tokens>,
}

impl Guard {
    /// When the coordinator's own certificate expires. Reads the files again if they have changed.
    pub fn expires(&self) -> Option<SystemTime> {
        let tls = self.tls.as_ref()?;
        tls.current();
        tls.own().map(|own| own.expires)
    }
}

/// A listening socket.
#[derive(Debug)]
pub(crate) enum Listening {
    /// On a network address, with TLS.
    Tcp(TcpListener),
    /// On a Unix socket of this machine.
    Unix {
        /// The listener.
        listener: UnixListener,
        /// Removes the file when dropped. `None` for a socket that belongs to the service manager.
        _file: Option<SocketFile>,
    },
}

/// A listening socket from the service manager that started this process.
#[derive(Debug)]
pub enum Inherited {
    /// A TCP socket.
    Tcp(std::net::TcpListener),
    /// A Unix socket with a path.
    Unix(std::os::unix::net::UnixListener),
}

/// The file of a Unix socket, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct SocketFile(pub(crate) PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Accepts connections until the stream is dropped. Handshakes run concurrently.
pub(crate) fn connections(
    listening: Listening,
    guard: Arc<Guard>,
    meters: Arc<Meters>,
) -> impl Stream<Item = Result<Wire, std::io::Error>> + Send {
    let (sender, accepted) = mpsc::channel(ACCEPTED);
    tokio::spawn(async move {
        let closed = sender.clone();
        tokio::select! {
            () = closed.closed() => {}
            () = accept(listening, guard, meters, sender) => {}
        }
    });
    ReceiverStream::new(accepted)
}

async fn accept(
    listening: Listening,
    guard: Arc<Guard>,
    meters: Arc<Meters>,
    accepted: mpsc::Sender<Result<Wire, std::io::Error>>,
) {
    let handshakes = Handshakes::default();
    loop {
        let stream = match &listening {
            Listening::Tcp(listener) => listener.accept().await.map(|(stream, from)| Incoming::Tcp(stream, from.ip())),
            Listening::Unix { listener, .. } => listener.accept().await.map(|(stream, _)| Incoming::Unix(stream)),
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                debug!("a connection was not accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        match stream {
            Incoming::Unix(stream) => match of_same_user(stream) {
                Some(wire) => {
                    if accepted.send(Ok(wire)).await.is_err() {
                        return;
                    }
                }
                None => meters.refused("user"),
            },
            Incoming::Tcp(stream, from) => {
                let Some(handshake) = handshakes.begin(from) else {
                    meters.refused("overload");
                    continue;
                };
                let (guard, meters, accepted) = (Arc::clone(&guard), Arc::clone(&meters), accepted.clone());
                tokio::spawn(async move {
                    let wire = timeout(HANDSHAKE, greet(stream, &guard)).await.ok().flatten();
                    drop(handshake);
                    match wire {
                        Some(wire) => drop(accepted.send(Ok(wire)).await),
                        None => meters.refused("tls"),
                    }
                });
            }
        }
    }
}

enum Incoming {
    Tcp(TcpStream, IpAddr),
    Unix(UnixStream),
}

/// Accepts a connection from a process of the same user, or of root. Other connections are closed.
fn of_same_user(stream: UnixStream) -> Option<Wire> {
    let user = stream.peer_cred().ok()?.uid();
    if user != rustix::process::getuid().as_raw() && user != ROOT {
        info!(user, "a connection of another user was closed");
        return None;
    }
    Some(Wire::unix(stream, Peer::SameUser { user }))
}

/// Performs the TLS handshake. A refused caller receives the reason as an alert.
async fn greet(stream: TcpStream, guard: &Guard) -> Option<Wire> {
    let tls = guard.tls.as_ref()?;
    let from = stream.peer_addr().map(|address| address.to_string()).unwrap_or_default();
    let _ = stream.set_nodelay(true);
    match tls::accept(stream, tls.current()).await {
        Ok((stream, peer)) => Some(Wire::tls(stream, peer)),
        Err((error, stream)) => {
            info!(from, "a connection was refused: {error}");
            let _ = timeout(LAST_WORDS, hang_up(stream)).await;
            None
        }
    }
}

/// Closes a connection so that the other side can still read the last bytes that were sent. If unread bytes remained,
/// closing would reset the connection.
async fn hang_up(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let mut unread = [0; 1024];
    while matches!(stream.read(&mut unread).await, Ok(read) if read > 0) {}
}
