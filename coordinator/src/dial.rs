//! Connections from command lines and workers to coordinators.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::{TcpStream, UnixStream};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Request, Status};
use tower::Service;
use weft_graph_format::diagnostic::Diagnostic;
use weft_identity::files::Reloading;
use weft_identity::tls::{self, TlsFailure};

use crate::operation_event::MalformedEvent;
use crate::timing::{KEEP_ALIVE, KEEP_ALIVE_WAIT};
use crate::wire::{Dialed, Trouble};

/// The time limit for a connection, and for the coordinator to open a worker's stream.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The prefix of the address of a Unix socket.
const UNIX: &str = "unix:";

/// Why a request to a coordinator failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is invalid.
    #[error("{0:?} is not the address of a coordinator: give HOST:PORT or unix:PATH")]
    Address(String),
    /// Traffic on the network must be encrypted.
    #[error(
        "the connection to {0} would not be encrypted: name the certificates with -tls-ca, -tls-cert and -tls-key, or \
         the Unix socket of a coordinator on this machine with -coordinator unix:PATH"
    )]
    NeedsTls(String),
    /// A connection failed because of TLS.
    #[error("no secure connection to the coordinator at {address}: {failure}")]
    Tls {
        /// The address.
        address: String,
        /// The cause of the failure.
        failure: TlsFailure,
    },
    /// The coordinator does not allow the request.
    #[error("{reason}")]
    NotAllowed {
        /// The address.
        address: String,
        /// The reason: which caller lacks which role for which state.
        reason: String,
    },
    /// The token has characters that are not allowed in a header.
    #[error("the token contains characters that are not allowed in a token")]
    Token,
    /// No coordinator responds at the address.
    #[error("the coordinator at {address} does not respond: {cause}")]
    Unreachable {
        /// The address.
        address: String,
        /// The cause.
        cause: NoResponse,
    },
    /// A message of the coordinator cannot be decoded.
    #[error("the coordinator at {address} sent a message that cannot be decoded: {error}")]
    Malformed {
        /// The address.
        address: String,
        /// What is wrong with the message.
        error: MalformedEvent,
    },
    /// The coordinator refused the request.
    #[error("{message}")]
    Refused {
        /// The message.
        message: String,
        /// Details, if a plan was refused.
        diagnostics: Vec<Diagnostic>,
    },
}

/// Why a coordinator does not respond.
#[derive(Debug, thiserror::Error)]
pub enum NoResponse {
    /// The connection cannot be opened.
    #[error("{}", innermost(.0))]
    Connect(#[source] tonic::transport::Error),
    /// The connection ended during a request.
    #[error("the connection broke")]
    Broke,
    /// The connection is open, but nothing comes.
    #[error("it accepted the connection but sent nothing for {seconds} seconds")]
    Silent {
        /// How long nothing came.
        seconds: u64,
    },
}

impl ClientError {
    /// Whether the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        !matches!(self, ClientError::Address(_) | ClientError::NeedsTls(_) | ClientError::Token)
    }
}

/// The address of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// On the network, with TLS.
    Tcp {
        /// A name or an address; an IPv6 address without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// On a Unix socket of this machine.
    Unix(PathBuf),
}

impl Address {
    /// Reads `HOST:PORT` or `unix:PATH`. `None` for anything else.
    pub fn parse(text: &str) -> Option<Address> {
        if let Some(path) = text.strip_prefix(UNIX) {
            return (!path.is_empty()).then(|| Address::Unix(PathBuf::from(path)));
        }
        let (host, port) = text.strip_prefix("https://").unwrap_or(text).rsplit_once(':')?;
        let host = match host.strip_prefix('[') {
            Some(host) => host.strip_suffix(']')?,
            None if host.contains(':') => return None,
            None => host,
        };
        let port = port.parse().ok()?;
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        (!host.is_empty() && host.chars().all(valid)).then(|| Address::Tcp { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(out, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(out, "{host}:{port}"),
            Address::Unix(path) => write!(out, "{UNIX}{}", path.display()),
        }
    }
}

/// Connects to coordinators, with the credentials of this program.
#[derive(Clone, Debug, Default)]
pub struct Dialer {
    tls: Option<Arc<Reloading<ClientConfig>>>,
    token: Option<BearerToken>,
}

/// A token for each request. It is never displayed.
#[derive(Clone)]
pub(crate) struct BearerToken(MetadataValue<Ascii>);

impl fmt::Debug for BearerToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("BearerToken(..)")
    }
}

/// Adds the token to requests.
#[derive(Clone, Debug)]
pub(crate) struct AddToken(Option<BearerToken>);

impl Interceptor for AddToken {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(BearerToken(value)) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

/// A channel to a coordinator that adds the token to each request.
pub(crate) type TokenChannel = InterceptedService<Channel, AddToken>;

impl Dialer {
    /// A dialer that connects with TLS, and presents a token if there is one. Without TLS, it connects to Unix sockets
    /// only.
    ///
    /// # Errors
    /// Returns an error if the token has characters that a header cannot have.
    pub fn new(tls: Option<Reloading<ClientConfig>>, token: Option<&str>) -> Result<Dialer, ClientError> {
        let token = token.map(|token| {
            let mut value: MetadataValue<Ascii> =
                format!("Bearer {}", token.trim()).parse().map_err(|_| ClientError::Token)?;
            value.set_sensitive(true);
            Ok(BearerToken(value))
        });
        Ok(Dialer { tls: tls.map(Arc::new), token: token.transpose()? })
    }

    /// When the program's own certificate expires. Reads the files again if they have changed.
    pub fn expires(&self) -> Option<SystemTime> {
        let tls = self.tls.as_ref()?;
        tls.current();
        tls.own().map(|own| own.expires)
    }

    /// Connects to an address. If a request fails later, the returned `Trouble` says whether TLS is the cause.
    pub(crate) async fn connect(&self, text: &str) -> Result<(TokenChannel, Trouble), ClientError> {
        let address = Address::parse(text).ok_or_else(|| ClientError::Address(text.to_owned()))?;
        let tls = match (&address, &self.tls) {
            (Address::Unix(_), _) => None,
            (Address::Tcp { .. }, Some(tls)) => Some(Arc::clone(tls)),
            (Address::Tcp { .. }, None) => return Err(ClientError::NeedsTls(address.to_string())),
        };
        // The host name in requests. It has no effect on the connection.
        let authority = match &address {
            Address::Tcp { .. } => address.to_string(),
            Address::Unix(_) => "localhost".to_owned(),
        };
        let uri = format!("http://{authority}");
        let endpoint = Endpoint::from_shared(uri).map_err(|_| ClientError::Address(text.to_owned()))?;
        let endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_WAIT)
            .keep_alive_while_idle(true);
        let trouble = Trouble::default();
        let connector = Connector { address: address.clone(), tls, trouble: Arc::clone(&trouble) };
        match endpoint.connect_with_connector(connector).await {
            Ok(channel) => Ok((InterceptedService::new(channel, AddToken(self.token.clone())), trouble)),
            Err(error) => Err(match trouble.get() {
                Some(failure) => ClientError::Tls { address: address.to_string(), failure: failure.clone() },
                None => ClientError::Unreachable { address: address.to_string(), cause: NoResponse::Connect(error) },
            }),
        }
    }
}

/// The innermost cause of an error: the message of the operating system.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Opens the stream of a connection.
#[derive(Clone)]
struct Connector {
    address: Address,
    tls: Option<Arc<Reloading<ClientConfig>>>,
    trouble: Trouble,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Dialed>;
    type Error = tls::TlsHandshakeError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Connector { address, tls, trouble } = self.clone();
        Box::pin(async move {
            let stream = match (address, tls) {
                (Address::Tcp { host, port }, Some(tls)) => {
                    let stream =
                        TcpStream::connect((host.as_str(), port)).await.map_err(tls::TlsHandshakeError::Stream)?;
                    let _ = stream.set_nodelay(true);
                    let connected = tls::connect(&host, stream, tls.current()).await.inspect_err(|error| {
                        if let tls::TlsHandshakeError::Tls(failure) = error {
                            let _ = trouble.set(failure.clone());
                        }
                    })?;
                    Dialed::tls(connected, trouble)
                }
                (Address::Unix(path), _) => {
                    Dialed::unix(UnixStream::connect(path).await.map_err(tls::TlsHandshakeError::Stream)?)
                }
                // `connect` has refused this case.
                (Address::Tcp { .. }, None) => return Err(tls::TlsFailure::NotTls.into()),
            };
            Ok(TokioIo::new(stream))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let tcp = |host: &str, port| Some(Address::Tcp { host: host.to_owned(), port });
        assert_eq!(Address::parse("127.0.0.1:7438"), tcp("127.0.0.1", 7438));
        assert_eq!(Address::parse("https://weft.example.org:1"), tcp("weft.example.org", 1));
        assert_eq!(Address::parse("[::1]:7438"), tcp("::1", 7438));
        assert_eq!(Address::parse("unix:/run/weft.sock"), Some(Address::Unix("/run/weft.sock".into())));
        for bad in ["", "host", "host:", "host:x", "host:70000", ":1", "::1:7438", "[::1:1", "unix:", "a b:1", "a/b:1"]
        {
            assert_eq!(Address::parse(bad), None, "{bad}");
        }
        for text in ["127.0.0.1:7438", "[::1]:7438", "unix:/run/weft.sock"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
    }
}
