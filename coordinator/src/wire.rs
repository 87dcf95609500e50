//! The streams below HTTP/2: TLS over TCP, or a Unix socket, on both sides of a connection.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::{client, server};
use tonic::transport::server::Connected;
use weft_identity::Peer;
use weft_identity::tls::{ConnectionSide, TlsFailure};

/// An accepted connection, with its peer.
pub(crate) struct Wire {
    stream: Stream,
    peer: Peer,
}

/// The reason for the end of a run that the store has lost.
pub(crate) const LOST_REASON: &str = "lost";

/// A connection to a coordinator. If TLS breaks the connection, the reason is stored.
pub(crate) struct Dialed {
    stream: Stream,
    trouble: Trouble,
}

/// Why a connection broke, if TLS is the cause.
pub(crate) type Trouble = Arc<OnceLock<TlsFailure>>;

enum Stream {
    Accepted(Box<server::TlsStream<TcpStream>>),
    Dialed(Box<client::TlsStream<TcpStream>>),
    Unix(UnixStream),
}

impl Wire {
    pub(crate) fn tls(stream: server::TlsStream<TcpStream>, peer: Peer) -> Wire {
        Wire { stream: Stream::Accepted(Box::new(stream)), peer }
    }

    pub(crate) fn unix(stream: UnixStream, peer: Peer) -> Wire {
        Wire { stream: Stream::Unix(stream), peer }
    }
}

impl Dialed {
    pub(crate) fn tls(stream: client::TlsStream<TcpStream>, trouble: Trouble) -> Dialed {
        Dialed { stream: Stream::Dialed(Box::new(stream)), trouble }
    }

    pub(crate) fn unix(stream: UnixStream) -> Dialed {
        Dialed { stream: Stream::Unix(stream), trouble: Trouble::default() }
    }

    fn remember<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &result
            && let Some(failure) = TlsFailure::of(error, ConnectionSide::Caller)
        {
            let _ = self.trouble.set(failure);
        }
        result
    }
}

impl Connected for Wire {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

/// Calls a method of the stream, whichever kind it is.
macro_rules! each {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Accepted(inner) => {
                let $inner = Pin::new(inner.as_mut());
                $call
            }
            Stream::Dialed(inner) => {
                let $inner = Pin::new(inner.as_mut());
                $call
            }
            Stream::Unix(inner) => {
                let $inner = Pin::new(inner);
                $call
            }
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        each!(&mut self.stream, stream => stream.poll_read(cx, buf))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        each!(&mut self.stream, stream => stream.poll_write(cx, buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(&mut self.stream, stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(&mut self.stream, stream => stream.poll_shutdown(cx))
    }
}

impl AsyncRead for Dialed {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = each!(&mut self.stream, stream => stream.poll_read(cx, buf));
        self.remember(read)
    }
}

impl AsyncWrite for Dialed {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = each!(&mut self.stream, stream => stream.poll_write(cx, buf));
        self.remember(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = each!(&mut self.stream, stream => stream.poll_flush(cx));
        self.remember(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(&mut self.stream, stream => stream.poll_shutdown(cx))
    }
}
