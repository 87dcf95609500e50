//! A socket that the service manager opened before it started this process (`sd_listen_fds(3)`).

use std::io;

use listenfd::ListenFd;
use weft_coordinator::Inherited;
use weft_graph_format::diagnostic::Diagnostic;

use crate::commands::problems;
use crate::context::environment;

/// The process for which the sockets are.
const PROCESS: &str = "LISTEN_PID";
/// The number of sockets.
const SOCKETS: &str = "LISTEN_FDS";

/// The socket that was passed to this process; `None` if none was.
///
/// # Errors
/// When there are several, or when it is not a socket for connections.
pub(super) fn inherited() -> Result<Option<Inherited>, Diagnostic> {
    // Variables that were meant for a parent process are inherited, too.
    let ours = environment(PROCESS).and_then(|process| process.parse().ok()) == Some(std::process::id());
    let count: Option<usize> = environment(SOCKETS).and_then(|count| count.parse().ok());
    match count.filter(|count| ours && *count > 0) {
        None => Ok(None),
        Some(1) => take().map(Some).map_err(|error| problems::cannot_listen(&error)),
        Some(count) => Err(problems::several_sockets(count)),
    }
}

fn take() -> io::Result<Inherited> {
    let mut passed = ListenFd::from_env();
    if let Ok(Some(socket)) = passed.take_unix_listener(0) {
        return Ok(Inherited::Unix(socket));
    }
    let socket = passed.take_tcp_listener(0)?;
    socket.map(Inherited::Tcp).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}
