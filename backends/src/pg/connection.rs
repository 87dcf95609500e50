//! Connections, and the tables that the backend needs.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};
use weft_state::remote::BackendError;

use super::names::quoted;
use super::settings::PgSettings;
use super::tls;

/// The default time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The time limit for a response of the server. States and journals are small, so a statement that takes longer is
/// probably waiting for a lock of another session.
pub(super) const ANSWER: Duration = Duration::from_secs(120);
/// The time limit for the request that cancels a statement.
const CANCEL: Duration = Duration::from_secs(5);
/// The time without data after which a connection is checked, the pause between two checks, and the number of checks.
/// With these values, the disappearance of a server that does not close the connection is noticed within a minute.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);
/// The time limit for the other side to acknowledge sent data.
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);
/// The keys of a connection string that are not sent to the server as parameters.
const OWN_KEYS: [&str; 14] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "passfile",
    "options",
    "application_name",
    "sslmode",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "connect_timeout",
];

/// An open connection.
pub(super) struct Link {
    client: Client,
    tls: Option<tls::Connector>,
    /// The task that reads and writes the socket.
    task: JoinHandle<Result<(), tokio_postgres::Error>>,
}

impl Deref for Link {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Link {
    /// Cancels the statement that the server has not answered, and closes the connection.
    ///
    /// Closing the socket would not cancel the statement, because the server does not look at the socket while a
    /// statement waits for a lock. The server does not confirm a request to cancel. So this function waits at most
    /// [`CANCEL`] until the statement itself is answered. A server that cannot be reached may continue to execute the
    /// statement.
    pub(super) async fn cancel(self) {
        let Link { client, tls, task } = self;
        let token = client.cancel_token();
        let abort = task.abort_handle();
        let request = async move {
            let sent = match tls {
                Some(tls) => token.cancel_query(tls).await,
                None => token.cancel_query(tokio_postgres::NoTls).await,
            };
            // Without its client, the task ends as soon as the statement is answered.
            drop(client);
            if sent.is_ok() {
                let _ = task.await;
            }
        };
        if let Ok(carrier) = carrier() {
            // The statement has failed already. A failed request to cancel it changes nothing.
            let _ = carrier.spawn(async move { tokio::time::timeout(CANCEL, request).await }).await;
        }
        abort.abort();
    }
}

/// Opens a connection, and creates missing tables.
pub(super) async fn open(settings: &PgSettings) -> Result<Link, BackendError> {
    const DOING: &str = "connecting";
    let config = config(settings);
    let tls = tls::connector(settings).map_err(|error| settings.setup(DOING, &error))?;
    // The time limit of the library covers only the TCP connection. A server may accept a connection and then stay
    // silent.
    let limit = connect_timeout(settings);
    let connecting = carrier()
        .map_err(|error| settings.setup(DOING, error))?
        .spawn(async move { tokio::time::timeout(limit, connect(&config, tls)).await });
    let connected = connecting.await.map_err(|error| settings.setup(DOING, &error))?;
    let connected = connected.map_err(|_| settings.silent(DOING, limit))?;
    let link = connected.map_err(|error: tokio_postgres::Error| settings.failed(DOING, &error))?;
    match within(prepare(settings, &link)).await {
        Some(prepared) => prepared.map(|()| link),
        None => {
            link.cancel().await;
            Err(settings.silent("creating the tables", ANSWER))
        }
    }
}

async fn connect(config: &Config, tls: Option<tls::Connector>) -> Result<Link, tokio_postgres::Error> {
    let (client, task) = match tls.clone() {
        Some(tls) => {
            let (client, connection) = config.connect(tls).await?;
            (client, tokio::spawn(connection))
        }
        None => {
            let (client, connection) = config.connect(tokio_postgres::NoTls).await?;
            (client, tokio::spawn(connection))
        }
    };
    Ok(Link { client, tls, task })
}

/// The runtime of all connections. It lives as long as the process. The runtimes of the callers are not suitable,
/// because a connection ends with its runtime, and a backend may outlive the runtime of its caller.
fn carrier() -> Result<&'static Runtime, &'static std::io::Error> {
    static CARRIER: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let start = || Builder::new_multi_thread().worker_threads(1).thread_name("weft-pg").enable_all().build();
    CARRIER.get_or_init(start).as_ref()
}

fn connect_timeout(settings: &PgSettings) -> Duration {
    let seconds = settings.key("connect_timeout").and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
    seconds.map_or(CONNECT_TIMEOUT, Duration::from_secs)
}

/// The response to a statement. `None` if it takes too long.
pub(super) async fn within<T>(answer: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(ANSWER, answer).await.ok()
}

fn config(settings: &PgSettings) -> Config {
    let mut config = Config::new();
    config.host(settings.key("host").unwrap_or("localhost"));
    if let Some(address) = settings.key("hostaddr").and_then(|text| text.parse().ok()) {
        config.hostaddr(address);
    }
    config.port(settings.key("port").and_then(|text| text.parse().ok()).unwrap_or(5432));
    let user = settings.key("user").map(str::to_owned).or_else(|| std::env::var("USER").ok()).unwrap_or_default();
    config.user(&user);
    config.dbname(settings.key("dbname").unwrap_or(&user));
    if let Some(password) = settings.key("password").map(str::to_owned).or_else(|| from_file(settings, &user)) {
        config.password(password);
    }
    config.connect_timeout(connect_timeout(settings));
    config.keepalives(true).keepalives_idle(KEEPALIVE.0).keepalives_interval(KEEPALIVE.1);
    config.keepalives_retries(KEEPALIVE.2).tcp_user_timeout(UNACKNOWLEDGED);
    config.application_name(settings.key("application_name").unwrap_or("weft"));
    let others = settings.keys.iter().filter(|(key, _)| !OWN_KEYS.contains(&key.as_str()));
    let others = others.map(|(key, value)| format!("-c {key}={}", value.replace('\\', "\\\\").replace(' ', "\\ ")));
    let options: Vec<String> = settings.key("options").map(str::to_owned).into_iter().chain(others).collect();
    if !options.is_empty() {
        config.options(options.join(" "));
    }
    config.ssl_mode(match settings.key("sslmode") {
        Some("disable") => tokio_postgres::config::SslMode::Disable,
        _ => tokio_postgres::config::SslMode::Require,
    });
    config
}

/// The password in `~/.pgpass`, or in the file that the settings name. The lines have the form
/// `host:port:database:user:password`.
fn from_file(settings: &PgSettings, user: &str) -> Option<String> {
    let path = settings.key("passfile").map(PathBuf::from).or_else(|| Some(settings.home.as_ref()?.join(".pgpass")))?;
    password_in(
        &path,
        [
            settings.key("host").unwrap_or("localhost"),
            settings.key("port").unwrap_or("5432"),
            settings.key("dbname").unwrap_or(user),
            user,
        ],
    )
}

fn password_in(path: &Path, wanted: [&str; 4]) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line).into_iter();
        let fits = wanted.iter().all(|want| fields.next().is_some_and(|field| field == "*" || field == *want));
        if fits { fields.next() } else { None }
    })
}

/// The fields of a line, which are separated by colons. A backslash escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ':' => found.push(String::new()),
            other => {
                let literal = if other == '\\' { characters.next() } else { Some(other) };
                if let Some(last) = found.last_mut() {
                    last.extend(literal);
                }
            }
        }
    }
    found
}

/// Creates the sequence, the schema, the tables and the index, unless they exist or the settings forbid their creation.
async fn prepare(settings: &PgSettings, client: &Client) -> Result<(), BackendError> {
    const DOING: &str = "creating the tables";
    let failed = |error| settings.failed(DOING, &error);
    let (names, skips) = (&settings.names, settings.skips);
    let (table, objects) = (names.table(), names.objects());
    let query = "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL";
    let found = client.query_one(query, &[&table, &objects]).await.map_err(failed)?;
    let (has_table, has_objects): (bool, bool) =
        (found.try_get(0).unwrap_or_default(), found.try_get(1).unwrap_or_default());
    let run = async |statement: &str| client.batch_execute(statement).await.map_err(failed);
    if !has_table && !skips.schema {
        let query = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = $1";
        let row = client.query_one(query, &[&names.schema]).await.map_err(failed)?;
        if row.try_get::<_, i64>(0).unwrap_or_default() == 0 {
            run(&format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(&names.schema))).await?;
        }
    }
    if !has_table && !skips.table {
        run("CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint").await?;
        run(&format!(
            "CREATE TABLE IF NOT EXISTS {table} (\
             id bigint NOT NULL DEFAULT nextval('public.global_states_id_seq') PRIMARY KEY, \
             name text UNIQUE, data text)"
        ))
        .await?;
    }
    if !has_table && !skips.index {
        run(&format!("CREATE UNIQUE INDEX IF NOT EXISTS {} ON {table} (name)", quoted(&names.index))).await?;
    }
    if !has_objects {
        run(&format!(
            "CREATE TABLE IF NOT EXISTS {objects} (state text NOT NULL, name text NOT NULL, data bytea NOT NULL, \
             version bigint NOT NULL DEFAULT 1, PRIMARY KEY (state, name))"
        ))
        .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_in_files() {
        let file = std::env::temp_dir().join(format!("weft-pgpass-{}", std::process::id()));
        std::fs::write(&file, "# a comment\nh:*:db:ann:one\\:two\n*:*:*:*:three\n").unwrap();
        assert_eq!(password_in(&file, ["h", "5432", "db", "ann"]).as_deref(), Some("one:two"));
        assert_eq!(password_in(&file, ["h", "5432", "db", "bob"]).as_deref(), Some("three"));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(password_in(&file, ["h", "5432", "db", "ann"]), None);
    }
}
