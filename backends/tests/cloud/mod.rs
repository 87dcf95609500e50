//! A server that replaces the services of AWS in the tests of credentials. A function of the test computes the
//! responses. The server records all requests.

// Each test uses only some of these items.
#![allow(dead_code)]

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request that the server received.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The headers. Their names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Seen {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The parts of the scope of the signature: key id, date, region, service.
    pub fn scope(&self) -> Option<[String; 4]> {
        let scope = self.header("authorization")?.split_once("Credential=")?.1.split(',').next()?;
        let parts: Vec<&str> = scope.split('/').collect();
        Some([0, 1, 2, 3].map(|part| parts.get(part).copied().unwrap_or_default().to_owned()))
    }

    /// The id of the key that signed the request.
    pub fn id(&self) -> String {
        self.scope().map(|[id, ..]| id).unwrap_or_default()
    }

    /// The service for which the request was signed.
    pub fn service(&self) -> String {
        self.scope().map(|[.., service]| service).unwrap_or_default()
    }
}

/// A response: a status, headers as lines, and a body.
pub type Reply = (u16, String, String);

/// A response without additional headers.
pub fn reply(status: u16, body: impl Into<String>) -> Reply {
    (status, String::new(), body.into())
}

/// A response with an error in the format of S3 and STS.
pub fn refusal(status: u16, code: &str) -> Reply {
    reply(status, format!("<Error><Code>{code}</Code><Message>No.</Message></Error>"))
}

/// A running server.
pub struct Cloud {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Cloud {
    /// Starts a server whose responses come from this function.
    pub async fn start(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Cloud {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (all, answer) = (Arc::clone(&seen), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                // The result is ignored, because a client may close its connection at any time.
                tokio::spawn(async move { serve(stream, &all, answer.as_ref()).await });
            }
        });
        Cloud { port, seen }
    }

    /// The URL of the server.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests since the last call of this function.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

async fn serve(mut stream: TcpStream, all: &Mutex<Vec<Seen>>, answer: &(impl Fn(&Seen) -> Reply + Sync)) -> Option<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).ok()?;
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ').map(str::to_owned);
        let (method, path) = (first.next()?, first.next()?);
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let mut seen = Seen { method, path, headers, body: String::new() };
        let length = seen.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        seen.body = String::from_utf8(body).ok()?;
        let (status, headers, text) = answer(&seen);
        all.lock().unwrap().push(seen);
        let answer = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n{text}", text.len());
        stream.write_all(answer.as_bytes()).await.ok()?;
    }
}
