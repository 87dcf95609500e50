//! Connections through proxies.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use weft_sealing::Secret;

use crate::error::{AttemptError, TcpError, TunnelError};
use crate::target::{Proxy, ProxyScheme, address_of};

/// The time limit for a machine or proxy to accept a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(15);
/// The maximum length of a proxy's response. Real responses have a few hundred bytes.
const LONGEST_ANSWER: usize = 16 * 1024;

/// Opens a TCP connection, through the proxy if the caller gives a proxy.
pub(crate) async fn open(proxy: Option<&Proxy>, host: &str, port: u16) -> Result<TcpStream, AttemptError> {
    match proxy {
        None => tcp(host, port).await.map_err(AttemptError::Tcp),
        Some(proxy) => {
            let place = address_of(&proxy.host, proxy.port);
            let mut stream = tcp(&proxy.host, proxy.port).await.map_err(AttemptError::Proxy)?;
            let tunnel = async {
                match proxy.scheme {
                    ProxyScheme::Http => http(&mut stream, proxy, host, port).await,
                    ProxyScheme::Socks5 => socks5(&mut stream, proxy, host, port).await,
                }
            };
            match timeout(CONNECT_WAIT, tunnel).await {
                Ok(Ok(())) => Ok(stream),
                Ok(Err(error)) => Err(AttemptError::Tunnel { place, error }),
                Err(_) => Err(AttemptError::Tunnel { place, error: TunnelError::Silent(CONNECT_WAIT) }),
            }
        }
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, TcpError> {
    let place = address_of(host, port);
    match timeout(CONNECT_WAIT, TcpStream::connect((host, port))).await {
        Ok(Ok(stream)) => {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "small packets may be delayed");
            }
            Ok(stream)
        }
        Ok(Err(error)) => Err(TcpError::Refused { place, error }),
        Err(_) => Err(TcpError::Silent { place, limit: CONNECT_WAIT }),
    }
}

async fn http(stream: &mut TcpStream, proxy: &Proxy, host: &str, port: u16) -> Result<(), TunnelError> {
    let target = address_of(host, port);
    if target.contains(|c: char| c.is_control() || c == ' ') {
        return Err(TunnelError::HostName);
    }
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if proxy.user.is_some() || proxy.password.is_some() {
        let user = proxy.user.as_deref().unwrap_or_default();
        let password = proxy.password.as_ref().map_or("", Secret::text);
        let token = STANDARD.encode(format!("{user}:{password}"));
        request.push_str(&format!("Proxy-Authorization: Basic {token}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await?;
    // The response is read byte by byte: all bytes after it belong to the tunnel.
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= LONGEST_ANSWER {
            return Err(TunnelError::TooLong);
        }
        answer.push(stream.read_u8().await?);
    }
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.lines().next().unwrap_or_default();
    match status.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(TunnelError::Refused(status.to_owned())),
    }
}

async fn socks5(stream: &mut TcpStream, proxy: &Proxy, host: &str, port: u16) -> Result<(), TunnelError> {
    let user = proxy.user.as_deref().unwrap_or_default();
    let password = proxy.password.as_ref().map_or("", Secret::text);
    let named = !user.is_empty() || !password.is_empty();
    let short = |text: &str| u8::try_from(text.len()).map_err(|_| TunnelError::LongName);
    stream.write_all(if named { &[5, 2, 0, 2][..] } else { &[5, 1, 0][..] }).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    match answer {
        [5, 0] => {}
        [5, 2] if named => {
            let mut request = vec![1, short(user)?];
            request.extend(user.as_bytes());
            request.push(short(password)?);
            request.extend(password.as_bytes());
            stream.write_all(&request).await?;
            stream.read_exact(&mut answer).await?;
            if answer[1] != 0 {
                return Err(TunnelError::WrongPassword);
            }
        }
        _ => return Err(TunnelError::NoMethod),
    }
    let mut request = vec![5, 1, 0, 3, short(host)?];
    request.extend(host.as_bytes());
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    if head[1] != 0 {
        return Err(TunnelError::Code(head[1]));
    }
    let length = match head[3] {
        1 => 4,
        4 => 16,
        3 => usize::from(stream.read_u8().await?),
        _ => return Err(TunnelError::NotSocks),
    };
    let mut rest = vec![0; length + 2];
    stream.read_exact(&mut rest).await?;
    Ok(())
}
