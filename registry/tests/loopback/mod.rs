//! A host on this machine: TLS with a certificate of its own authority, and a table of responses.

#![allow(dead_code, reason = "each suite uses a part of it")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use weft_registry::HttpSettings;
use weft_registry::http::CertificatePlaces;

/// A response of the host.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The number of responses with status 503 before this response.
    pub failures: u32,
    /// The header that a request must have.
    pub authorization: Option<String>,
    pub delay: Duration,
}

impl Reply {
    pub fn json(value: serde_json::Value) -> Reply {
        Reply::bytes("application/json", value.to_string().into_bytes())
    }

    pub fn bytes(kind: &str, body: Vec<u8>) -> Reply {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Reply { status: 200, headers, body, failures: 0, authorization: None, delay: Duration::ZERO }
    }

    pub fn redirect(to: &str) -> Reply {
        let mut reply = Reply::bytes("text/plain", Vec::new());
        reply.status = 302;
        reply.headers.push(("location".to_owned(), to.to_owned()));
        reply
    }

    pub fn status(status: u16) -> Reply {
        Reply { status, ..Reply::bytes("text/plain", Vec::new()) }
    }

    pub fn failing(self, failures: u32) -> Reply {
        Reply { failures, ..self }
    }

    pub fn only_with(self, authorization: &str) -> Reply {
        Reply { authorization: Some(authorization.to_owned()), ..self }
    }
}

#[derive(Default)]
struct Table {
    replies: BTreeMap<String, Reply>,
    asked: Vec<(String, Option<String>)>,
}

/// A running host.
pub struct Host {
    pub port: u16,
    folder: tempfile::TempDir,
    table: Arc<Mutex<Table>>,
}

impl Host {
    /// Starts a host.
    pub async fn start() -> Host {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), root.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        let own_key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let own = own.signed_by(&own_key, &issuer).unwrap();
        Host::with(folder, own.der().clone(), own_key).await
    }

    /// Starts a host with a self-signed certificate for these names.
    pub async fn alone(names: &[&str]) -> Host {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), own.pem()).unwrap();
        Host::with(folder, own.der().clone(), key).await
    }

    async fn with(folder: tempfile::TempDir, own: CertificateDer<'static>, own_key: KeyPair) -> Host {
        let own_key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own], own_key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let table = Arc::new(Mutex::new(Table::default()));
        let host = Host { port, folder, table: table.clone() };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, table) = (acceptor.clone(), table.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request| answer(request, table.clone()));
                    let served = hyper::server::conn::http1::Builder::new();
                    let _ = served.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        host
    }

    /// The name of the host, as in source addresses.
    pub fn name(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// A URL on the host.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.name())
    }

    /// Sets the response for a path.
    pub fn put(&self, path: &str, reply: Reply) {
        self.table.lock().unwrap().replies.insert(path.to_owned(), reply);
    }

    /// The number of requests for a path.
    pub fn count(&self, path: &str) -> usize {
        self.table.lock().unwrap().asked.iter().filter(|(asked, _)| asked == path).count()
    }

    /// The credentials of the last request for a path.
    pub fn authorization(&self, path: &str) -> Option<String> {
        let table = self.table.lock().unwrap();
        table.asked.iter().rev().find(|(asked, _)| asked == path).and_then(|(_, credentials)| credentials.clone())
    }

    /// The certificate of the host's authority.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The settings of a client that trusts the host and has short pauses.
    pub fn settings(&self) -> HttpSettings {
        let certificates = CertificatePlaces { file: Some(self.authority()), directories: Some(Vec::new()) };
        HttpSettings { first_wait: Duration::from_millis(5), certificates, ..HttpSettings::default() }
    }
}

async fn answer(
    request: Request<Incoming>,
    table: Arc<Mutex<Table>>,
) -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let credentials = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let reply = {
        let mut table = table.lock().unwrap();
        table.asked.push((path.clone(), credentials.clone()));
        match table.replies.get_mut(&path) {
            None => Reply::status(404),
            Some(reply) if reply.failures > 0 => {
                reply.failures -= 1;
                Reply::status(503)
            }
            Some(reply) if reply.authorization.is_some() && reply.authorization != credentials => {
                let challenge = reply.headers.iter().filter(|(name, _)| name == "www-authenticate").cloned();
                Reply { headers: challenge.collect(), ..Reply::status(401) }
            }
            Some(reply) => reply.clone(),
        }
    };
    tokio::time::sleep(reply.delay).await;
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(Bytes::from(reply.body))).unwrap())
}
