//! Listening and serving, on loopback only.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::config::Config;
use super::reply::{Body, Reply};
use super::service::{Cloud, Request};
use super::store::{Store, StoreError};

/// The maximum size of a request body: far larger than any object, and small enough to be harmless.
pub const MAX_BODY: usize = 1 << 20;

/// The maximum number of concurrent connections; further connections wait to be accepted. The limit is below the usual
/// limit of 1,024 open files.
pub const MAX_CONNECTIONS: usize = 900;

/// The pause in accepting connections after the system refused one, which usually means too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The database cannot be used.
    #[error("{}: {source}", path.as_deref().unwrap_or(Path::new("(in memory)")).display())]
    Store {
        /// The file of the database; `None` for a database in memory.
        path: Option<PathBuf>,
        /// What is wrong.
        source: StoreError,
    },
    /// The address is not a loopback address. The cloud has no authentication.
    #[error("{0} is not a loopback address, and the cloud serves nothing else")]
    NotLoopback(SocketAddr),
    /// Listening on the address failed.
    #[error("listening on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What is wrong.
        source: std::io::Error,
    },
}

/// A server that already listens. It serves once [`Server::run`] is called.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    cloud: Arc<Cloud>,
    url: String,
}

impl Server {
    /// Opens the database (in memory without a path) and the port (a free one for port 0).
    pub async fn start(config: Config, address: SocketAddr, database: Option<&Path>) -> Result<Server, ServerError> {
        if !address.ip().is_loopback() {
            return Err(ServerError::NotLoopback(address));
        }
        let listen = |source| ServerError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let url = format!("http://{}", listener.local_addr().map_err(listen)?);
        let (store, world) = Store::open(database, config.durability)
            .map_err(|source| ServerError::Store { path: database.map(Path::to_owned), source })?;
        let cloud = Arc::new(Cloud::new(config, store, world, url.clone()));
        Ok(Server { listener, cloud, url })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Serves until the future is dropped.
    pub async fn run(self) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(_) => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let cloud = Arc::clone(&self.cloud);
            tokio::spawn(async move {
                serve(stream, cloud).await;
                drop(place);
            });
        }
    }
}

/// Serves one connection, request after request. When the client disconnects, hyper drops the future of the current
/// request. If that happens before the effect of the request, the request has no effect.
async fn serve(stream: TcpStream, cloud: Arc<Cloud>) {
    // Small responses must not wait for acknowledgements of earlier ones.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let cloud = Arc::clone(&cloud);
        async move { respond(cloud, request).await }
    });
    // An error here means that the client disconnected, or that the connection was closed on purpose.
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
}

/// The error that closes the connection without a response.
#[derive(Debug, thiserror::Error)]
#[error("cut")]
struct Cut;

async fn respond(cloud: Arc<Cloud>, request: hyper::Request<Incoming>) -> Result<Response<Body>, Cut> {
    let (head, body) = request.into_parts();
    let reply = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => {
            let path = head.uri.path().to_owned();
            let query = head.uri.query().map(str::to_owned);
            cloud.answer(Request { method: head.method, path, query, body: body.to_bytes() }).await
        }
        Err(_) => Reply::error(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "the body is too large or broke off"),
    };
    reply.into_response().ok_or(Cut)
}
