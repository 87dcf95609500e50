//! A proxy that replaces the services of Azure. It decrypts connections, forwards requests for blobs to Azurite, and
//! responds to all other requests itself.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The hosts that the proxy impersonates.
const HOSTS: [&str; 6] = [
    "states2.blob.core.windows.net",
    "states1.blob.core.windows.net",
    "states1.blob.store.example",
    "login.microsoftonline.com",
    "management.azure.com",
    "metadata.example",
];

/// A request to a service other than the blob service.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The method, the host, and the path with the query.
    pub line: String,
    /// The head of the request.
    pub head: String,
    /// The body.
    pub body: String,
}

/// A response: status, headers as lines, and a body.
pub type Refusal = (u16, String, String);

/// A running proxy.
pub struct Front {
    pub port: u16,
    /// The directory with the certificate of the proxy's authority.
    pub folder: tempfile::TempDir,
    shared: Arc<Shared>,
}

struct Shared {
    blobs: u16,
    key: String,
    /// Whether the proxy will drop the response to the next write of a blob.
    cuts: AtomicBool,
    /// The response to all requests that are not forwarded, if a test sets one.
    refusal: Mutex<Option<Refusal>>,
    seen: Mutex<Vec<Seen>>,
}

impl Front {
    /// Starts a proxy for the blob server at this port. The key belongs to the server's account.
    pub async fn start(blobs: u16, key: &str) -> Front {
        let folder = tempfile::tempdir().unwrap();
        let pair = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(HOSTS.map(str::to_owned)).unwrap().self_signed(&pair).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], pair.serialize_der().try_into().unwrap())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            blobs,
            key: key.to_owned(),
            cuts: AtomicBool::new(false),
            refusal: Mutex::default(),
            seen: Mutex::default(),
        });
        let for_all = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (shared, acceptor) = (Arc::clone(&for_all), acceptor.clone());
                // The result is ignored, because a client may close its connection at any time.
                tokio::spawn(async move { serve(near, &acceptor, &shared).await });
            }
        });
        Front { port, folder, shared }
    }

    /// The variables of the environment that make clients use the proxy.
    pub fn variables(&self) -> Vec<(String, String)> {
        let proxy = format!("http://127.0.0.1:{}", self.port);
        let roots = self.folder.path().join("ca.pem").to_str().unwrap().to_owned();
        vec![
            ("HTTPS_PROXY".to_owned(), proxy.clone()),
            ("HTTP_PROXY".to_owned(), proxy),
            ("SSL_CERT_FILE".to_owned(), roots),
        ]
    }

    /// Writes a file with this content.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Makes the proxy drop the response to the next write of a blob.
    pub fn cut(&self) {
        self.shared.cuts.store(true, Ordering::SeqCst);
    }

    /// Sets the response to all requests that are not forwarded.
    pub fn refuse(&self, refusal: Refusal) {
        *self.shared.refusal.lock().unwrap() = Some(refusal);
    }

    /// Whether the proxy has dropped the response that [`Front::cut`] requested.
    pub fn has_cut(&self) -> bool {
        !self.shared.cuts.load(Ordering::SeqCst)
    }

    /// The requests since the last call of this function.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.shared.seen.lock().unwrap())
    }
}

/// Reads the head of a request, up to the empty line.
async fn head(near: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(near.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

async fn serve(mut near: TcpStream, acceptor: &TlsAcceptor, shared: &Shared) -> Option<()> {
    let first = head(&mut near).await?;
    let target = first.split(' ').nth(1)?.to_owned();
    if !first.starts_with("CONNECT ") {
        // Without encryption, the first line has the whole URL.
        let address = url::Url::parse(&target).ok()?;
        let path = &target[target.find(address.path())?..];
        return answer(&mut near, address.host_str()?, path, &first, shared).await;
    }
    near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    let mut near = acceptor.accept(near).await.ok()?;
    let host = target.trim_end_matches(":443");
    if host.starts_with("states1.blob.") {
        return pass(&mut near, shared).await;
    }
    loop {
        let head = head(&mut near).await?;
        let path = head.split(' ').nth(1)?.to_owned();
        answer(&mut near, host, &path, &head, shared).await?;
    }
}

/// Forwards bytes between a client and the blob server.
async fn pass(near: &mut (impl AsyncRead + AsyncWrite + Unpin), shared: &Shared) -> Option<()> {
    let mut far = TcpStream::connect(("127.0.0.1", shared.blobs)).await.ok()?;
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut writes = false;
    loop {
        tokio::select! {
            read = near.read(&mut up) => {
                let count = read.ok().filter(|count| *count > 0)?;
                writes = writes || up.starts_with(b"PUT ");
                far.write_all(&up[..count]).await.ok()?;
            }
            read = far.read(&mut down) => {
                let count = read.ok().filter(|count| *count > 0)?;
                if writes && shared.cuts.swap(false, Ordering::SeqCst) {
                    return None;
                }
                near.write_all(&down[..count]).await.ok()?;
            }
        }
    }
}

/// Responds to a request to another service.
async fn answer(
    near: &mut (impl AsyncRead + AsyncWrite + Unpin),
    host: &str,
    path: &str,
    head: &str,
    shared: &Shared,
) -> Option<()> {
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    near.read_exact(&mut body).await.ok()?;
    let method = head.split(' ').next()?;
    let line = format!("{method} {host}{path}");
    let reply = reply(&line, &shared.key);
    let body = String::from_utf8(body).ok()?;
    shared.seen.lock().unwrap().push(Seen { line, head: head.to_owned(), body });
    let refusal = shared.refusal.lock().unwrap().clone();
    if let Some((status, headers, text)) = refusal {
        let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", text.len());
        let text = if method == "HEAD" { "" } else { &text };
        return near.write_all(format!("{head}{text}").as_bytes()).await.ok();
    }
    let (status, text) = match &reply {
        Some(Value::String(text)) => ("200 OK", text.clone()),
        Some(reply) => ("200 OK", reply.to_string()),
        None => ("404 Not Found", json!({"error": "absent"}).to_string()),
    };
    let answer =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}", text.len());
    near.write_all(answer.as_bytes()).await.ok()
}

/// The responses of the services.
fn reply(line: &str, key: &str) -> Option<Value> {
    let token = json!({"token_type": "Bearer", "expires_in": 3599, "access_token": "entra-token"});
    let (place, query) = line.split_once('?').unwrap_or((line, ""));
    Some(match place {
        "POST login.microsoftonline.com/tenant-1/oauth2/v2.0/token" => token,
        "GET states2.blob.core.windows.net/states/team%2Fa%20b" => json!({}),
        // A list in two pages. The first page has a name below the level of the workspaces.
        "GET states2.blob.core.windows.net/states" => {
            let (names, next) = match query.contains("marker=next%26") {
                false => (["team/a benv:y", "team/a benv:y.weft/"], "next&amp;"),
                true => (["team/a benv:x", "team/a benv:z"], ""),
            };
            let names = names.map(|name| format!("<Blob><Name>{name}</Name></Blob>")).concat();
            json!(format!(
                "<EnumerationResults><Blobs>{names}</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>"
            ))
        }
        "GET metadata.example/metadata/endpoints" => json!({
            "authentication": {"loginEndpoint": "https://login.microsoftonline.com/", "audiences": ["https://arm/"]},
            "resourceManager": "https://management.azure.com/", "suffixes": {"storage": "store.example"}}),
        "GET provider.example/token" if query.contains("audience=") => json!({"value": "foreign-token"}),
        "POST pipeline.example/oidc" if query.contains("serviceConnectionId=i") => json!({"oidcToken": "pipe-token"}),
        "GET 169.254.169.254/metadata/identity/oauth2/token" => {
            json!({"access_token": "machine-token", "expires_on": "4000000000"})
        }
        "POST management.azure.com/subscriptions/sub-1/resourceGroups/group-1/providers/Microsoft.Storage/\
         storageAccounts/states1/listKeys" => json!({"keys": [{"keyName": "key1", "value": key}]}),
        _ => return None,
    })
}
