//! The HTTP/1.1 endpoint for `GET /metrics`. The endpoint serves nothing else. Each connection serves one request.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The maximum size of a request in bytes. Scrapers send a few hundred.
const MAX_REQUEST: usize = 8 << 10;
/// The time limit of a request and its response.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// The maximum number of connections. A scraper needs one. The endpoint closes additional connections immediately.
const MOST_CONNECTIONS: usize = 16;
/// The pause after an error of `accept`, for example if there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// The permissions of a Unix socket: only its owner has access.
const SOCKET_MODE: u32 = 0o600;
/// The content type of the response.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// An address where metrics are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsAddress {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// A Unix socket of this machine.
    Unix(PathBuf),
}

impl MetricsAddress {
    /// Parses an address: `PORT` (on this machine only), `IP:PORT` or `unix:PATH`.
    pub fn parse(text: &str) -> Option<MetricsAddress> {
        if let Some(path) = text.strip_prefix("unix:") {
            return (!path.is_empty()).then(|| MetricsAddress::Unix(path.into()));
        }
        let port = text.parse().ok().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        port.or_else(|| text.parse().ok()).map(MetricsAddress::Tcp)
    }

    /// Whether other machines can reach the address.
    pub fn is_public(&self) -> bool {
        matches!(self, MetricsAddress::Tcp(address) if !address.ip().is_loopback())
    }
}

impl fmt::Display for MetricsAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetricsAddress::Tcp(address) => write!(out, "http://{address}/metrics"),
            MetricsAddress::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be served at {address}: {error}")]
pub struct MetricsError {
    /// The address.
    pub address: String,
    /// The error of the operating system.
    pub error: std::io::Error,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Serves the output of `render` until the returned handle is aborted. Also returns the address, with the port that was
/// bound. Call `serve` in a Tokio runtime, because it starts a task.
///
/// # Errors
/// Returns an error if the address cannot be used, for example because it is in use.
pub async fn serve(
    address: &MetricsAddress,
    render: impl Fn() -> String + Send + Sync + 'static,
) -> Result<(MetricsAddress, JoinHandle<()>), MetricsError> {
    let refused = |error| MetricsError { address: address.to_string(), error };
    let (listener, address) = match address {
        MetricsAddress::Tcp(address) => {
            let listener = TcpListener::bind(address).await.map_err(refused)?;
            let address = listener.local_addr().map_err(refused)?;
            (Listener::Tcp(listener), MetricsAddress::Tcp(address))
        }
        MetricsAddress::Unix(path) => {
            remove_socket(path);
            let listener = UnixListener::bind(path).map_err(refused)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE)).map_err(refused)?;
            (Listener::Unix(listener), address.clone())
        }
    };
    let serving = tokio::spawn(accept(listener, Arc::new(render)));
    Ok((address, serving))
}

/// Removes the socket of a dead process. Other files stay.
fn remove_socket(path: &Path) {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        // If the file cannot be removed, the following bind fails and reports the problem.
        let _ = std::fs::remove_file(path);
    }
}

async fn accept(listener: Listener, render: Arc<dyn Fn() -> String + Send + Sync>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accepted: std::io::Result<Box<dyn Stream>> = match &listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| Box::new(stream) as Box<dyn Stream>),
            Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| Box::new(stream) as Box<dyn Stream>),
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!("a scraper was not accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        let render = Arc::clone(&render);
        tokio::spawn(async move {
            let _permit = permit;
            // A scraper that disconnects needs no response.
            let _ = timeout(REQUEST_TIME, answer(stream, render.as_ref())).await;
        });
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

async fn answer(mut stream: Box<dyn Stream>, render: &(dyn Fn() -> String + Send + Sync)) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !ends_headers(&request) {
        let read = stream.read(&mut part).await?;
        if read == 0 || request.len() + read > MAX_REQUEST {
            return respond(&mut stream, "400 Bad Request", "The request is not complete, or too large.\n", false)
                .await;
        }
        request.extend_from_slice(&part[..read]);
    }
    let line = request.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    match (method, path) {
        ("GET", "/metrics") => respond(&mut stream, "200 OK", &render(), false).await,
        ("HEAD", "/metrics") => respond(&mut stream, "200 OK", &render(), true).await,
        ("GET" | "HEAD", _) => {
            respond(&mut stream, "404 Not Found", "Metrics are at /metrics.\n", method == "HEAD").await
        }
        _ => respond(&mut stream, "405 Method Not Allowed", "Use GET.\n", false).await,
    }
}

fn ends_headers(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n")
}

async fn respond(stream: &mut Box<dyn Stream>, status: &str, body: &str, only_head: bool) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {FORMAT}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    if !only_head {
        stream.write_all(body.as_bytes()).await?;
    }
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpStream, UnixStream};

    use super::*;

    #[test]
    fn a_port_alone_is_on_this_machine() {
        let address = MetricsAddress::parse("9464").unwrap();
        assert_eq!((address.to_string().as_str(), address.is_public()), ("http://127.0.0.1:9464/metrics", false));
        assert!(MetricsAddress::parse("0.0.0.0:9464").unwrap().is_public());
        assert!(!MetricsAddress::parse("[::1]:9464").unwrap().is_public());
        assert_eq!(MetricsAddress::parse("unix:/run/m"), Some(MetricsAddress::Unix("/run/m".into())));
        assert!(
            ["", "unix:", "localhost:1", "99999", "http://1.2.3.4:5"]
                .map(MetricsAddress::parse)
                .iter()
                .all(Option::is_none)
        );
    }

    async fn asked(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), request: &str) -> String {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_endpoint_serves_metrics_and_nothing_else() {
        let address = MetricsAddress::parse("0").unwrap();
        let (address, serving) = serve(&address, || "weft_a 1\n".to_owned()).await.unwrap();
        let MetricsAddress::Tcp(at) = address else { panic!("an address") };
        for (request, expected) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK"),
            ("GET /metrics?x=1 HTTP/1.0\n\n", "weft_a 1\n"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "Content-Length: 9"),
            ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
            ("\r\n\r\n", "HTTP/1.1 405"),
            (&"x".repeat(MAX_REQUEST + 1), "HTTP/1.1 400"),
        ] {
            let mut stream = TcpStream::connect(at).await.unwrap();
            let answer = asked(&mut stream, request).await;
            assert!(answer.contains(expected), "{request:.40}: {answer}");
        }
        serving.abort();
    }

    #[tokio::test]
    async fn a_socket_of_a_dead_process_is_replaced_and_only_its_owner_opens_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let address = MetricsAddress::Unix(path.clone());
        let (_, serving) = serve(&address, || "weft_a 1\n".to_owned()).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, SOCKET_MODE);
        let mut stream = UnixStream::connect(&path).await.unwrap();
        assert!(asked(&mut stream, "GET /metrics HTTP/1.1\r\n\r\n").await.ends_with("weft_a 1\n"));
        assert!(serve(&address, String::new).await.is_err(), "a living one is not");
        serving.abort();
    }
}
