//! The backend `pg` with PostgreSQL: the holders of locks, and the errors that end a run.

#![cfg(feature = "pg")]

mod checks;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use checks::{done, info, locked};
use serde_json::{Value, json};
use weft_backends::catalog::connect;
use weft_state::remote::{Backend, BackendError, Expected, LockAnswer, LockInfo};

/// A server with the database `postgres`, in a directory that the server's user owns.
struct Postgres {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A program of PostgreSQL: from the system's package, or else from PATH.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin").join(name)).filter(|path| path.exists());
    found.max().unwrap_or_else(|| PathBuf::from(name))
}

/// A command that runs as another user if this user is root, because the server refuses root.
fn unprivileged(folder: &Path, name: &str) -> Command {
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let mut command = match root {
        false => Command::new(program(name)),
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program(name));
            command
        }
    };
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Postgres {
    /// Starts a server. `None`, with a loud message, if PostgreSQL is not installed.
    async fn start() -> Option<Postgres> {
        let folder = tempfile::Builder::new().prefix("weft-postgres-").tempdir().unwrap().keep();
        // The server requires that a user other than root owns the directory of the data. If the tests do not run as
        // root, this command fails, which is harmless.
        let _ = Command::new("chown").arg("postgres").arg(&folder).stderr(Stdio::null()).status();
        let data = folder.join("data");
        let made =
            unprivileged(&folder, "initdb").arg("-D").arg(&data).args(["-U", "weft", "-A", "trust", "-N"]).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("\n*** SKIPPED: initdb is not there or does not work, PostgreSQL was NOT tested ***\n");
            return None;
        }
        let port = checks::free_port();
        let child = unprivileged(&folder, "postgres")
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .arg("-c")
            .arg(format!("unix_socket_directories={}", folder.display()))
            .spawn()
            .unwrap();
        let server = Postgres { child, folder, port };
        let begin = Instant::now();
        while server.client().await.is_none() {
            assert!(begin.elapsed() < Duration::from_secs(60), "PostgreSQL does not start");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Some(server)
    }

    /// Opens a session in addition to those of the backend.
    async fn client(&self) -> Option<tokio_postgres::Client> {
        let text = format!("host=127.0.0.1 port={} user=weft dbname=postgres", self.port);
        let (client, connection) = tokio_postgres::connect(&text, tokio_postgres::NoTls).await.ok()?;
        tokio::spawn(connection);
        Some(client)
    }

    fn backend(&self, more: &str) -> Arc<dyn Backend> {
        self.backend_as("weft@", "postgres", more, json!({}))
    }

    /// A backend with this user, this database, and these settings.
    fn backend_as(&self, user: &str, database: &str, more: &str, settings: Value) -> Arc<dyn Backend> {
        let text = format!("postgres://{user}127.0.0.1:{}/{database}?sslmode=disable{more}", self.port);
        let mut settings = settings;
        settings["conn_str"] = json!(text);
        connect("pg", settings.as_object().unwrap(), &|_| None).unwrap().backend
    }
}

#[tokio::test]
async fn the_holder_of_a_lock_is_named() {
    let Some(server) = Postgres::start().await else { return };
    let who = LockInfo { who: "ann@here".to_owned(), ..info("1") };
    for (exists, words) in [(false, "Already locked for workspace creation"), (true, "Workspace is already locked")] {
        let first = server.backend("").state("default").unwrap();
        if exists {
            done(first.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
        }
        locked(first.lock(&who).await.unwrap());
        let second = server.backend("").state("default").unwrap();
        let LockAnswer::Held { message, .. } = second.lock(&info("2")).await.unwrap() else { panic!("locked twice") };
        let named = "application weft ann@here, user weft, from 127.0.0.1, since 2";
        for part in [words, ": default, by the session of the server process ", named, "pg_terminate_backend("] {
            assert!(message.contains(part), "{message}");
        }
        first.unlock("1").await.unwrap();
    }
}

/// A backend outlives the runtime of its first request, for example if a state is read before a command runs.
#[test]
fn a_connection_outlives_the_runtime_that_opened_it() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let Some(server) = first.block_on(Postgres::start()) else { return };
    let state = server.backend("").state("default").unwrap();
    assert_eq!(first.block_on(state.read()).unwrap(), None);
    // From now on, the first runtime executes no tasks, like a runtime that is shutting down.
    let limit = Duration::from_secs(20);
    let read = second.block_on(async { tokio::time::timeout(limit, state.read()).await });
    assert_eq!(read.unwrap().unwrap(), None);
}

#[tokio::test]
async fn statements_that_the_server_ends_are_named() {
    let Some(server) = Postgres::start().await else { return };
    let state = server.backend("&statement_timeout=200").state("default").unwrap();
    done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    let read = state.read().await.unwrap().unwrap();
    let other = server.client().await.unwrap();
    // Another session locks the row, so the write waits.
    other.batch_execute("BEGIN; SELECT * FROM terraform_remote_state.states FOR UPDATE").await.unwrap();
    let error = state.write(Bytes::from("[]"), &Expected::Version(read.version.clone()), None).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("writing the state failed") && text.contains("(57014). If statement_timeout"), "{text}");
    other.batch_execute("ROLLBACK").await.unwrap();
    done(state.write(Bytes::from("[]"), &Expected::Version(read.version), None).await.unwrap());
}

#[tokio::test]
async fn a_run_that_loses_its_session_ends() {
    let Some(server) = Postgres::start().await else { return };
    let state = server.backend("").state("default").unwrap();
    locked(state.lock(&info("1")).await.unwrap());
    let other = server.client().await.unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'weft'";
    other.batch_execute(end).await.unwrap();
    let mut errors = Vec::new();
    for _ in 0..2 {
        let error = state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap_err();
        assert!(matches!(error, BackendError::Unreachable { .. } | BackendError::Refused { .. }));
        errors.push(error.to_string());
    }
    assert!(errors[1].contains("the session that held the lock has ended, which released the lock"), "{errors:?}");
    // Another process takes the lock now.
    locked(server.backend("").state("default").unwrap().lock(&info("2")).await.unwrap());
}

#[tokio::test]
async fn each_refusal_names_the_way_out() {
    let Some(server) = Postgres::start().await else { return };
    let admin = server.client().await.unwrap();
    let prepare = "
        CREATE ROLE low LOGIN; CREATE ROLE reader LOGIN; CREATE DATABASE closed;
        CREATE SCHEMA ready; GRANT USAGE ON SCHEMA ready TO reader;
        CREATE TABLE ready.states (id bigserial PRIMARY KEY, name text UNIQUE, data text);
        CREATE TABLE ready.states_weft (state text, name text, data bytea, version bigint DEFAULT 1,
          PRIMARY KEY (state, name));
        CREATE SCHEMA foreign_ones; CREATE TABLE foreign_ones.states (id int, city text);
        CREATE TABLE foreign_ones.typed (id int, name text UNIQUE, data jsonb);
        INSERT INTO foreign_ones.typed VALUES (1, 'default', '{}');
        CREATE TABLE foreign_ones.states_weft (x int); CREATE TABLE foreign_ones.typed_weft (x int)";
    for statement in prepare.split(';') {
        // Each statement is sent separately, because `CREATE DATABASE` cannot run together with other statements.
        admin.batch_execute(statement).await.unwrap();
    }
    let no_table = json!({"schema_name": "ready", "table_name": "none", "skip_table_creation": true,
        "skip_index_creation": true});
    let no_schema = json!({"schema_name": "none", "skip_schema_creation": true});
    for (user, database, more, settings, want) in [
        // Users and databases.
        ("weft@", "absent", "", json!({}), "Create the database with: createdb -h 127.0.0.1 -p "),
        ("absent1@", "postgres", "", json!({}), "Create the user with: CREATE ROLE \"absent1\" LOGIN"),
        // Missing schemas and tables that must not be created.
        ("weft@", "postgres", "", no_schema, "Create the schema with: CREATE SCHEMA \"none\""),
        ("weft@", "postgres", "", no_table, "Create the table with: CREATE TABLE \"ready\".\"none\""),
        // Permissions.
        ("low@", "postgres", "", json!({}), "GRANT CREATE ON DATABASE \"postgres\" TO \"low\""),
        ("low@", "postgres", "", json!({"schema_name": "ready"}), "GRANT USAGE, CREATE ON SCHEMA \"ready\" TO \"low\""),
        (
            "reader@",
            "postgres",
            "",
            json!({"schema_name": "ready"}),
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"ready\" TO \"reader\"",
        ),
        ("weft@", "postgres", "&default_transaction_read_only=on", json!({}), "The server is read-only"),
        // Tables that do not belong to the backend.
        ("weft@", "postgres", "", json!({"schema_name": "foreign_ones"}), "is not a table of states"),
        (
            "weft@",
            "postgres",
            "",
            json!({"schema_name": "foreign_ones", "table_name": "typed"}),
            "\"foreign_ones\".\"typed\" is not a table of states",
        ),
    ] {
        let backend = server.backend_as(user, database, more, settings.clone());
        let error = backend.state("default").unwrap().read().await.unwrap_err().to_string();
        assert!(error.contains(want), "{settings}: {want}: {error}");
    }
    // The server does not run, or does not support encryption.
    let closed = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    for (text, want) in [
        (
            format!("postgres://weft@127.0.0.1:{closed}/postgres?sslmode=disable"),
            format!("Check host (127.0.0.1) and port ({closed})"),
        ),
        (format!("postgres://weft@127.0.0.1:{}/postgres?sslmode=require", server.port), "sslmode=disable".to_owned()),
        (
            format!("postgres://weft@no-such-host.invalid:{closed}/postgres?sslmode=disable"),
            "Check host (no-such-host.invalid)".to_owned(),
        ),
    ] {
        let backend = connect("pg", json!({ "conn_str": text }).as_object().unwrap(), &|_| None).unwrap().backend;
        let error = backend.state("default").unwrap().read().await.unwrap_err().to_string();
        assert!(error.contains(&want), "{text}: {error}");
    }
    // From now on, the server requires passwords.
    let hba = server.folder.join("data/pg_hba.conf");
    std::fs::write(&hba, "host all weft 127.0.0.1/32 scram-sha-256\nhost all low 127.0.0.1/32 trust\n").unwrap();
    admin.batch_execute("ALTER ROLE weft PASSWORD 'right'; SELECT pg_reload_conf()").await.unwrap();
    for (user, want) in [
        ("weft:wrong@", "Check user and password in conn_str"),
        ("reader@", "Add a line for this user, database and address to pg_hba.conf"),
    ] {
        let begin = Instant::now();
        let error = loop {
            // The server reads its changed file after a short time.
            let state = server.backend_as(user, "postgres", "", json!({"schema_name": "ready"})).state("default");
            match state.unwrap().read().await {
                Err(error) if error.to_string().contains(want) || begin.elapsed() > Duration::from_secs(60) => {
                    break error;
                }
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        let error = error.to_string();
        assert!(error.contains(want) && !error.contains("wrong"), "{error}");
    }
}

/// The server in this test accepts connections, and never responds.
#[tokio::test]
async fn a_silent_server_ends_the_run() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = format!("postgres://weft@127.0.0.1:{port}/postgres?sslmode=disable&connect_timeout=1");
    let backend = connect("pg", json!({ "conn_str": text }).as_object().unwrap(), &|_| None).unwrap().backend;
    let error = backend.state("default").unwrap().read().await.unwrap_err().to_string();
    assert!(error.contains("connecting failed") && error.contains("did not respond within 1 seconds"), "{error}");
    drop(listener);
}

/// A statement that waits for too long must not take effect after its error. Its session must end, so that its lock is
/// free.
#[tokio::test]
async fn a_statement_without_an_answer_is_cancelled() {
    let Some(server) = Postgres::start().await else { return };
    let state = server.backend("").state("default").unwrap();
    let first = done(state.write(Bytes::from("{}"), &Expected::Absent, None).await.unwrap());
    locked(state.lock(&info("1")).await.unwrap());
    let mut other = server.client().await.unwrap();
    let blocking = other.transaction().await.unwrap();
    blocking.execute("UPDATE terraform_remote_state.states SET data = data", &[]).await.unwrap();
    let watch = server.client().await.unwrap();
    let expected = Expected::Version(first);
    let late = state.write(Bytes::from("{\"late\":1}"), &expected, None);
    let time_limit = async {
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        while watch.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Only the limit of the statement passes at once. The request that cancels it has its own limit.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(3_600)).await;
        tokio::time::resume();
    };
    let error = tokio::join!(late, time_limit).0.unwrap_err().to_string();
    assert!(error.contains("did not respond within"), "{error}");
    blocking.commit().await.unwrap();
    let second = server.backend("").state("default").unwrap();
    let begin = Instant::now();
    while !matches!(second.lock(&info("2")).await.unwrap(), LockAnswer::Locked(_)) {
        assert!(begin.elapsed() < Duration::from_secs(20), "the session of the failed statement has not ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(second.read().await.unwrap().unwrap().content, Bytes::from("{}"));
}
