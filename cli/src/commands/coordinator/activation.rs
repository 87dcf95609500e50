//! A socket that the service manager opened before it started this process (`sd_listen_fds(3)`).

use std::io;

use listenfd::ListenFd;
use weft_coordinator::Inherited;
use weft_graph_format::diagnostic::Diagnostic;

use crate::commands::problems;
use crate::context::environment;

/// The variable with the process id of the receiver of the sockets.
const PROCESS: &str = "LISTEN_PID";
/// The variable with the number of sockets.
const SOCKETS: &str = "LISTEN_FDS";

/// The socket that was passed to this process. `None` if there is none.
///
/// # Errors
/// Returns an error if there are several sockets, or if the socket does not accept connections.
pub(super) fn inherited() -> Result<Option<Inherited>, Diagnostic> {
    // The variables may be inherited from a parent process that was the receiver.
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
