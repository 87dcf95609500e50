//! Encrypted connections to PostgreSQL. `require` verifies no certificate, unless a root certificate is given.
//! `verify-ca` verifies the chain, and `verify-full` the chain and the name.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::settings::PgSettings;
use crate::client::{Check, ClientProblem, ClientSettings, tls_config};

/// Makes encrypted connections.
#[derive(Clone)]
pub(super) struct Connector(TlsConnector);

/// Why no encrypted connection can be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsProblem {
    /// The file in a key of the connection string cannot be read.
    #[error("{key} {path}: {error}")]
    File { key: &'static str, path: String, error: io::Error },
    #[error("{0}")]
    Settings(#[from] ClientProblem),
}

/// The connector for the mode in the settings. `None` without encryption.
///
/// # Errors
/// Returns an error if a certificate or key cannot be read.
pub(super) fn connector(settings: &PgSettings) -> Result<Option<Connector>, TlsProblem> {
    let file = |key: &'static str| match settings.key(key) {
        Some(path) => {
            let content = std::fs::read_to_string(path).map(Some);
            content.map_err(|error| TlsProblem::File { key, path: path.to_owned(), error })
        }
        None => Ok(None),
    };
    let roots = file("sslrootcert")?;
    let check = match settings.key("sslmode") {
        Some("disable") => return Ok(None),
        Some("verify-full") => Check::Whole,
        Some("verify-ca") => Check::Chain,
        _ if roots.is_some() => Check::Chain,
        _ => Check::Nothing,
    };
    let identity = match (file("sslcert")?, file("sslkey")?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        _ => None,
    };
    let config = tls_config(&ClientSettings { roots, identity, check, ..ClientSettings::default() })?;
    Ok(Some(Connector(TlsConnector::from(Arc::new(config)))))
}

/// A connector for one host.
pub(super) struct ToHost {
    connector: TlsConnector,
    host: String,
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Stream;
    type TlsConnect = ToHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<ToHost> {
        Ok(ToHost { connector: self.0.clone(), host: host.to_owned() })
    }
}

impl TlsConnect<Socket> for ToHost {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(|error| io::Error::other(error.to_string()))?;
            Ok(Stream(self.connector.connect(name, stream).await?))
        })
    }
}

/// An encrypted stream.
pub(super) struct Stream(TlsStream<Socket>);

impl tokio_postgres::tls::TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
