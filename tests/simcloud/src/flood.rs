//! A flood of connections that a server must refuse.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::join_all;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

/// The number of concurrent connections.
const WIDTH: usize = 128;
/// The beginning of a TLS 1.3 handshake record with a greeting of 512 bytes. The rest of the greeting is never sent.
const GREETING: [u8; 11] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
/// The number of random bytes that every second connection sends.
const NOISE: usize = 64;

/// A flood.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// The address of the server.
    pub target: SocketAddr,
    /// The address from which the connections come. `None` for the one that the system chooses. A coordinator limits
    /// the handshakes of each address.
    pub source: Option<IpAddr>,
    /// How long the flood lasts.
    pub length: Duration,
    /// The maximum number of new connections per second. `None` for as many as possible.
    pub rate: Option<u32>,
    /// The number of further connections that stay open for the whole time, and send nothing.
    pub silent: usize,
}

/// What a flood did.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct FloodReport {
    /// The connections that were opened, and closed after a few bytes.
    pub connections: u64,
    /// The connections that could not be opened, or that failed before the bytes were sent.
    pub failed: u64,
    /// The connections that stayed open.
    pub silent: usize,
    /// Opened connections per second.
    pub per_second: u64,
}

#[derive(Default)]
struct Counts {
    begun: AtomicU64,
    made: AtomicU64,
    failed: AtomicU64,
}

impl Flood {
    /// Opens connections until the time is over. Each connection sends random bytes or the beginning of a TLS greeting,
    /// and is then closed. In addition, `silent` connections stay open all the time and send nothing.
    pub async fn run(self) -> FloodReport {
        let attempts = (0..self.silent).map(|_| self.connect());
        let silent: Vec<TcpStream> = join_all(attempts).await.into_iter().flatten().collect();
        let (start, counts) = (Instant::now(), Arc::new(Counts::default()));
        join_all((0..WIDTH).map(|_| self.connect_repeatedly(start, Arc::clone(&counts)))).await;
        let connections = counts.made.load(Ordering::Relaxed);
        let milliseconds = start.elapsed().as_millis().max(1);
        let per_second = u128::from(connections) * 1000 / milliseconds;
        FloodReport {
            connections,
            failed: counts.failed.load(Ordering::Relaxed),
            silent: silent.len(),
            per_second: u64::try_from(per_second).unwrap_or(u64::MAX),
        }
    }

    async fn connect_repeatedly(self, start: Instant, counts: Arc<Counts>) {
        while start.elapsed() < self.length {
            let number = counts.begun.fetch_add(1, Ordering::Relaxed);
            if let Some(rate) = self.rate {
                let due = Duration::from_nanos(number.saturating_mul(1_000_000_000 / u64::from(rate.max(1))));
                tokio::time::sleep_until(start + due.min(self.length)).await;
            }
            let count = if self.connect_once(number).await.is_ok() { &counts.made } else { &counts.failed };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn connect(self) -> std::io::Result<TcpStream> {
        let socket = if self.target.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if let Some(source) = self.source {
            socket.bind(SocketAddr::new(source, 0))?;
        }
        socket.connect(self.target).await
    }

    async fn connect_once(self, number: u64) -> std::io::Result<()> {
        let mut stream = self.connect().await?;
        // Closing does not wait for the last packets, so that ports are free again at once.
        stream.set_zero_linger()?;
        if number.is_multiple_of(2) {
            return stream.write_all(&GREETING).await;
        }
        let noise: Vec<u8> =
            std::iter::repeat_with(uuid::Uuid::new_v4).flat_map(uuid::Uuid::into_bytes).take(NOISE).collect();
        stream.write_all(&noise).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_are_counted() {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let target = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { while listener.accept().await.is_ok() {} });
        let flood = Flood { target, source: None, length: Duration::from_millis(300), rate: Some(200), silent: 3 };
        let report = flood.run().await;
        server.abort();
        assert_eq!(report.silent, 3);
        assert!(report.connections > 0 && report.connections <= 200, "{report:?}");
    }
}
