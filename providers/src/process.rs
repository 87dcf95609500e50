//! Plugin processes. All plugin processes are started from one thread that lives as long as this process, and are
//! watched until they end.
//!
//! On Linux, the signal that ends a plugin with its parent is sent when the *thread* that forked it ends. Threads of
//! the async runtime come and go, so a dedicated thread does all the forking.

use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::plugin_log;

/// The maximum length of a line of a plugin's output. The rest of a longer line is logged as a separate line.
const MAX_LOG_LINE: u64 = 64 * 1024;

/// The number of lines of standard error that are kept for the message about a crash. This is about the length of a Go
/// panic.
const KEPT_LINES: usize = 60;

/// The maximum length of a kept line, in bytes.
const KEPT_LINE_BYTES: usize = 2_000;

/// The time limit for the last lines of a process that has ended. Another process that the plugin started may keep the
/// pipe open.
const LAST_LINES: Duration = Duration::from_millis(500);

type SpawnRequest = (Command, Handle, oneshot::Sender<std::io::Result<Child>>);

/// Starts a process from the dedicated thread. Must be called within a tokio runtime.
pub(crate) async fn spawn(command: Command) -> std::io::Result<Child> {
    static SPAWNER: OnceLock<Option<mpsc::Sender<SpawnRequest>>> = OnceLock::new();
    let gone = || std::io::Error::other("the thread that starts plugins is not running");
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<SpawnRequest>();
        let thread = std::thread::Builder::new().name("plugin-spawner".into()).spawn(move || {
            while let Ok((mut command, runtime, reply)) = receiver.recv() {
                let _inside = runtime.enter();
                // The caller may have stopped waiting. In this case, the child is dropped and thereby killed.
                let _ = reply.send(command.spawn());
            }
        });
        thread.ok().map(|_| sender)
    });
    let (reply, answer) = oneshot::channel();
    spawner.as_ref().ok_or_else(gone)?.send((command, Handle::current(), reply)).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

/// A running plugin as the session sees it: its status and its last output. Dropping it kills the process.
pub(crate) struct PluginProcess {
    pid: u32,
    ended: watch::Receiver<Option<String>>,
    kill: Mutex<Option<oneshot::Sender<()>>>,
    last_lines: Arc<Mutex<VecDeque<String>>>,
}

impl PluginProcess {
    /// Takes over a child whose streams are all piped or null. Returns its standard output.
    pub(crate) fn watch(mut child: Child, name: &str) -> (PluginProcess, Option<ChildStdout>) {
        let pid = child.id().unwrap_or_default();
        let stdout = child.stdout.take();
        let last_lines = Arc::new(Mutex::new(VecDeque::new()));
        let stderr = child.stderr.take().map(|s| tokio::spawn(read_stderr(s, name.to_owned(), last_lines.clone())));
        let (kill, killed) = oneshot::channel::<()>();
        let (tell, ended) = watch::channel(None);
        tokio::spawn(async move {
            let status = tokio::select! {
                status = child.wait() => status,
                // The session asked to kill the process, or was dropped.
                _ = killed => {
                    let _ = child.start_kill();
                    child.wait().await
                }
            };
            if let Some(stderr) = stderr {
                let _ = tokio::time::timeout(LAST_LINES, stderr).await;
            }
            let _ = tell.send(Some(describe(status)));
        });
        (PluginProcess { pid, ended, kill: Mutex::new(Some(kill)), last_lines }, stdout)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// How the process ended; `None` while it is running.
    pub(crate) fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Waits for the end of the process, and returns how it ended.
    pub(crate) fn wait(&self) -> impl Future<Output = String> + Send + 'static {
        let mut ended = self.ended.clone();
        async move {
            match ended.wait_for(Option::is_some).await {
                Ok(status) => status.clone().unwrap_or_default(),
                Err(_) => "the process is no longer watched".to_owned(),
            }
        }
    }

    /// The last lines that the process wrote to standard error.
    pub(crate) fn last_lines(&self) -> String {
        self.last_lines.lock().iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Kills the process.
    pub(crate) fn kill(&self) {
        *self.kill.lock() = None;
    }
}

fn describe(status: std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(error) => format!("its exit status is unknown: {error}"),
    }
}

async fn read_stderr(stream: ChildStderr, name: String, kept: Arc<Mutex<VecDeque<String>>>) {
    for_each_line(stream, |line| {
        if plugin_log::relay(&name, line) {
            let mut kept = kept.lock();
            if kept.len() == KEPT_LINES {
                kept.pop_front();
            }
            kept.push_back(shortened(line, KEPT_LINE_BYTES).to_owned());
        }
    })
    .await;
}

/// Logs what a plugin prints to its standard output after the handshake, which should be nothing.
pub(crate) fn relay_stdout(stream: BufReader<ChildStdout>, name: String) {
    tokio::spawn(for_each_line(stream, move |line| plugin_log::relay_stdout(&name, line)));
}

async fn for_each_line(stream: impl AsyncRead + Unpin, mut each: impl FnMut(&str)) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(MAX_LOG_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => each(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])),
        }
    }
}

/// The longest prefix of at most `limit` bytes.
fn shortened(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Sets the streams of a plugin: no input, both outputs piped. The plugin is killed when its handle is dropped.
pub(crate) fn piped(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
}
