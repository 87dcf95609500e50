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

/// Largest request body: far above any object, far below what would hurt.
pub const MAX_BODY: usize = 1 << 20;

/// Connections at once; more wait to be accepted. Below the usual limit of 1,024 open files.
pub const MAX_CONNECTIONS: usize = 900;

/// How long to leave off accepting after the system refused a connection (too many files, most likely).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The database.
    #[error("{}: {source}", path.as_deref().unwrap_or(Path::new("(in memory)")).display())]
    Store {
        /// Its file.
        path: Option<PathBuf>,
        /// What is wrong.
        source: StoreError,
    },
    /// The cloud has no locks on its doors.
    #[error("{0} is not a loopback address, and the cloud serves nothing else")]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("listening on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What is wrong.
        source: std::io::Error,
    },
}

/// A server that listens already and serves once [`Server::run`] is called.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    cloud: Arc<Cloud>,
    url: String,
}

impl Server {
    /// Opens the database (in memory where there is no path) and the port (any, for port 0).
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

/// One connection, request after request. When the client goes away, hyper drops the future of the request under way:
/// before its effect, that request then never happened.
async fn serve(stream: TcpStream, cloud: Arc<Cloud>) {
    // Small answers must not wait for acknowledgements of earlier ones.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let cloud = Arc::clone(&cloud);
        async move { respond(cloud, request).await }
    });
    // An error here is a client that went away or a connection cut on purpose.
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
}

/// The connection is to be cut without an answer.
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
