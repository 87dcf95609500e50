//! A Redis server for one test.

#![allow(dead_code)]

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_state::{CopyNotices, RemoteOptions, SecondCopyOptions};

/// A time longer than any test.
const NEVER: Duration = Duration::from_secs(3600);

pub struct Server {
    pub port: u16,
    folder: tempfile::TempDir,
    settings: Vec<(&'static str, &'static str)>,
    child: Child,
}

pub const SAFE: [(&str, &str); 3] =
    [("appendonly", "yes"), ("appendfsync", "always"), ("maxmemory-policy", "noeviction")];

/// The ports for servers that restart on the same port. Ports for outgoing connections are higher (32768 and up on
/// Linux), so no client can take the port of a server that is down.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// The directory of the append-only files.
const AOF: &str = "appendonlydir";

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

pub fn free_port() -> u16 {
    loop {
        // Each `RandomState` has its own keys.
        let any = RandomState::new().build_hasher().finish() % u64::from(PORTS.end - PORTS.start);
        let port = PORTS.start + u16::try_from(any).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Server {
    /// Starts a server with the settings that a store requires. Without a redis-server, prints a clear message and
    /// returns `None`.
    pub fn start() -> Option<Server> {
        Server::with(SAFE.to_vec())
    }

    /// Whether a redis-server exists. If not, prints a clear message.
    pub fn there() -> bool {
        if Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().is_err() {
            let _ = writeln!(
                std::io::stderr(),
                "\n*** SKIPPED: no redis-server on PATH, the Redis store was NOT tested ***\n"
            );
            assert!(std::env::var_os("WEFT_TEST_NEEDS_REDIS").is_none(), "redis-server is demanded and not there");
            return false;
        }
        true
    }

    pub fn with(settings: Vec<(&'static str, &'static str)>) -> Option<Server> {
        if !Server::there() {
            return None;
        }
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        let child = launch(port, folder.path(), &settings);
        let server = Server { port, folder, settings, child };
        server.wait();
        Some(server)
    }

    /// The options for opening a store with this copy. The copy is not written at intervals.
    pub fn options(&self, copy: Option<RemoteOptions>, folder: &Path) -> SecondCopyOptions {
        SecondCopyOptions {
            server: self.url("test").into(),
            workspace: "default".to_owned(),
            sealing: Arc::default(),
            copy,
            folder: folder.to_owned(),
            interval: NEVER,
            change: true,
            declared_lost: false,
            notices: CopyNotices::default(),
        }
    }

    pub fn url(&self, state: &str) -> String {
        format!("redis://127.0.0.1:{}/0?state={state}", self.port)
    }

    /// Kills the server and starts it again with the same files.
    pub fn restart(&mut self) {
        self.kill();
        self.child = launch(self.port, self.folder.path(), &self.settings);
        self.wait();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// A copy of the current files of the server.
    pub fn backup(&self) -> tempfile::TempDir {
        let backup = tempfile::tempdir().unwrap();
        copy(&self.folder.path().join(AOF), &backup.path().join(AOF));
        backup
    }

    /// Kills the server, replaces its files with earlier ones, and starts it again.
    pub fn restore(&mut self, backup: &tempfile::TempDir) {
        self.kill();
        let files = self.folder.path().join(AOF);
        std::fs::remove_dir_all(&files).unwrap();
        copy(&backup.path().join(AOF), &files);
        self.child = launch(self.port, self.folder.path(), &self.settings);
        self.wait();
        self.wait_until_loaded();
    }

    /// Runs a command and returns its answer as text.
    pub fn ask(&self, words: &[&str]) -> String {
        let output = Command::new("redis-cli").arg("-p").arg(self.port.to_string()).args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn wait_until_loaded(&self) {
        while self.ask(&["PING"]) != "PONG" {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn command(&self, words: &[&str]) {
        let status = Command::new("redis-cli").arg("-p").arg(self.port.to_string()).args(words).output().unwrap();
        assert!(status.status.success());
    }

    fn wait(&self) {
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(10), "redis-server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn launch(port: u16, folder: &Path, settings: &[(&str, &str)]) -> Child {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]).arg("--dir").arg(folder);
    for (name, value) in settings {
        command.arg(format!("--{name}")).arg(value);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
