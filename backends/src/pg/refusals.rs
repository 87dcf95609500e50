//! Constructors of the errors of requests, each with advice.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::error::SqlState;
use weft_state::remote::BackendError;

use super::names::quoted;
use super::settings::PgSettings;

impl PgSettings {
    /// The error of a request.
    pub(super) fn failed(&self, doing: &'static str, error: &tokio_postgres::Error) -> BackendError {
        let place = self.place();
        let Some(code) = error.code() else {
            let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            let way_out = self.unreached(&error);
            return BackendError::Unreachable { place, doing, error: format!("{error}{way_out}") };
        };
        let message = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
        let advice = self.advice(code, &message);
        let error = format!("{message} ({})", code.code());
        BackendError::Refused { place, doing, error, advice }
    }

    /// Advice for a failed connection.
    fn unreached(&self, error: &str) -> String {
        let has = |words: &[&str]| words.iter().any(|word| error.contains(word));
        let (host, port) = (self.key("host").unwrap_or("localhost"), self.key("port").unwrap_or("5432"));
        if has(&["does not support TLS", "no TLS"]) {
            ". The server does not support TLS: set sslmode=disable in conn_str, or set ssl = on in postgresql.conf"
                .to_owned()
        } else if has(&["certificate", "handshake"]) {
            ". Check sslmode and sslrootcert in conn_str, and the clock of this machine".to_owned()
        } else if has(&["refused", "lookup", "unreachable", "No such file", "timed out"]) {
            format!(". Check host ({host}) and port ({port}) in conn_str, PGHOST and PGPORT, and that the server runs")
        } else {
            String::new()
        }
    }

    /// The user, the database and the schema, quoted as SQL identifiers.
    fn quoted_names(&self) -> [String; 3] {
        let user = self.key("user").unwrap_or("user");
        let database = self.key("dbname").unwrap_or(user);
        [quoted(user), quoted(database), quoted(&self.names.schema)]
    }

    /// Advice for an error with this code.
    fn advice(&self, code: &SqlState, message: &str) -> String {
        let [user, _, schema] = self.quoted_names();
        match *code {
            SqlState::INSUFFICIENT_PRIVILEGE => self.grants(message),
            SqlState::INVALID_CATALOG_NAME => {
                let key = |name: &str, default: &'static str| self.key(name).unwrap_or(default).to_owned();
                let database = self.key("dbname").or(self.key("user")).unwrap_or("NAME");
                format!(
                    "Create the database with: createdb -h {} -p {} -U {} {database}, or set another database in \
                     conn_str",
                    key("host", "localhost"),
                    key("port", "5432"),
                    key("user", "USER")
                )
            }
            SqlState::INVALID_SCHEMA_NAME => {
                format!("Create the schema with: CREATE SCHEMA {schema}, or do not set skip_schema_creation")
            }
            SqlState::UNDEFINED_TABLE => {
                let table = self.names.table();
                format!(
                    "Create the table with: CREATE TABLE {table} (id bigserial PRIMARY KEY, name text UNIQUE, data text), \
                     or do not set skip_table_creation"
                )
            }
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION if message.contains("does not exist") => {
                format!("Create the user with: CREATE ROLE {user} LOGIN, or set another user in conn_str or PGUSER")
            }
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION if message.contains("pg_hba.conf") => {
                "Add a line for this user, database and address to pg_hba.conf on the server, or set another sslmode"
                    .to_owned()
            }
            SqlState::UNDEFINED_COLUMN
            | SqlState::WRONG_OBJECT_TYPE
            | SqlState::UNDEFINED_FUNCTION
            | SqlState::INVALID_COLUMN_REFERENCE
            | SqlState::DATATYPE_MISMATCH => self.foreign(),
            _ => advice(code).to_owned(),
        }
    }

    /// Advice if the table is not a table of states.
    fn foreign(&self) -> String {
        format!(
            "{} is not a table of states (id bigint, name text UNIQUE, data text). Set another schema_name or table_name",
            self.names.table()
        )
    }

    /// Advice about missing permissions. This code recognizes the kind of object only in an English message. For other
    /// messages, the advice covers all kinds.
    fn grants(&self, message: &str) -> String {
        let [user, database, schema] = self.quoted_names();
        let alone = "or let an administrator create the schema and the tables, and set skip_schema_creation, \
                     skip_table_creation and skip_index_creation in the configuration of the backend";
        let create = format!("GRANT CREATE ON DATABASE {database} TO {user}");
        let public = format!("GRANT USAGE, CREATE ON SCHEMA public TO {user}");
        let own = format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}");
        let tables = format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user}");
        let sequence = format!("GRANT USAGE ON SEQUENCE public.global_states_id_seq TO {user}");
        let names = |kind: &str| message.contains(&format!(" for {kind} "));
        if names("database") {
            format!("Let an administrator run: {create}; {alone}")
        } else if names("schema public") {
            format!("Let an administrator run: {public}; {alone}")
        } else if message.contains(" for schema") {
            format!("Let an administrator run: {own}; {alone}")
        } else if names("table") || names("relation") {
            format!("Let an administrator run: {tables}")
        } else if names("sequence") {
            format!("Let an administrator run: {sequence}")
        } else {
            format!("Let an administrator run: {create}; {public}; {own}; {tables}; {sequence}; {alone}")
        }
    }

    /// The server does not respond, although the connection is alive.
    pub(super) fn silent(&self, doing: &'static str, limit: Duration) -> BackendError {
        let error = format!(
            "the server did not respond within {} seconds, so the connection was closed. If the server is running, \
             look in pg_stat_activity for what the session waits for",
            limit.as_secs()
        );
        BackendError::Unreachable { place: self.place(), doing, error }
    }

    /// A connection attempt is impossible, for example because a file cannot be read.
    pub(super) fn setup(&self, doing: &'static str, error: &dyn std::fmt::Display) -> BackendError {
        BackendError::Refused { place: self.place(), doing, error: error.to_string(), advice: String::new() }
    }

    /// The session with the lock has ended.
    pub(super) fn lost_lock(&self) -> BackendError {
        BackendError::Unreachable {
            place: self.place(),
            doing: "keeping the lock",
            error: "the session that held the lock has ended, which released the lock".to_owned(),
        }
    }

    /// The type of a column does not match a table of states or journals.
    pub(super) fn other_type(&self, doing: &'static str) -> BackendError {
        let error = "the column has another type".to_owned();
        BackendError::Refused { place: self.place(), doing, error, advice: self.foreign() }
    }

    /// The content cannot be stored in a text column.
    pub(super) fn not_text(&self, doing: &'static str) -> BackendError {
        BackendError::Damaged { place: self.place(), doing, error: "the content is not UTF-8".to_owned() }
    }
}

/// Advice for an error with this code that does not depend on the settings.
fn advice(code: &SqlState) -> &'static str {
    const ADVICE: [(&SqlState, &str); 12] = [
        (&SqlState::INVALID_PASSWORD, USER),
        (&SqlState::INVALID_AUTHORIZATION_SPECIFICATION, USER),
        (
            &SqlState::QUERY_CANCELED,
            "If statement_timeout ended the statement, set a longer statement_timeout for this user, or in conn_str",
        ),
        (&SqlState::LOCK_NOT_AVAILABLE, "Another session has locked the table or the row: see pg_stat_activity"),
        (&SqlState::ADMIN_SHUTDOWN, ENDED),
        (&SqlState::CRASH_SHUTDOWN, ENDED),
        (&SqlState::IDLE_SESSION_TIMEOUT, ENDED),
        (&SqlState::CANNOT_CONNECT_NOW, "The server is starting or stopping. Try again later"),
        (&SqlState::TOO_MANY_CONNECTIONS, "Try again later, or raise max_connections of the server"),
        (
            &SqlState::READ_ONLY_SQL_TRANSACTION,
            "The server is read-only. Set the host of the primary server in conn_str",
        ),
        (&SqlState::DISK_FULL, "Make room on the disk of the server"),
        (&SqlState::PROGRAM_LIMIT_EXCEEDED, "The state is too large for a column of PostgreSQL"),
    ];
    const USER: &str = "Check user and password in conn_str, PGUSER and PGPASSWORD";
    const ENDED: &str = "The server ended the session, which released its locks. Run the command again";
    ADVICE.iter().find(|(known, _)| *known == code).map_or("", |(_, advice)| advice)
}

/// A description of a session: its process, application, user, address and start, and the statement that ends the
/// session.
pub(super) fn session(pid: i32, [application, user, address, start]: [Option<String>; 4]) -> String {
    let mut text = format!(", by the session of the server process {pid}");
    for (words, part) in [("application", application), ("user", user), ("from", address), ("since", start)] {
        if let Some(part) = part {
            text.push_str(&format!(", {words} {part}"));
        }
    }
    text.push_str(&format!(
        "; ending this session releases the lock, for example with SELECT pg_terminate_backend({pid})"
    ));
    text
}

/// The lock that another session has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldLock {
    /// The lock for the creation of workspaces. The workspace does not exist.
    Creation,
    /// The lock for the creation of workspaces. The workspace exists.
    CreationAgain,
    /// The lock of the workspace.
    Workspace,
}

/// The message about a lock that another session has.
pub(super) fn locked(what: HeldLock, workspace: &str) -> String {
    let words = match what {
        HeldLock::Creation => "Already locked for workspace creation",
        HeldLock::CreationAgain => "Cannot lock workspace; already locked for workspace creation",
        HeldLock::Workspace => "Workspace is already locked",
    };
    format!("{words}: {workspace}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_way_out() {
        for (code, want) in [
            ("28P01", "Check user and password"),
            ("57P03", "The server is starting or stopping"),
            ("57014", "statement_timeout"),
            ("57P01", "The server ended the session"),
            ("57P05", "The server ended the session"),
            ("53300", "max_connections"),
            ("25006", "The server is read-only"),
            ("00000", ""),
        ] {
            let found = advice(&SqlState::from_code(code));
            assert!(found.contains(want) && found.is_empty() == want.is_empty(), "{code}: {found}");
        }
    }

    #[test]
    fn sessions_are_named_as_far_as_they_are_known() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            session(7, [text("weft ann@host"), text("ann"), None, text("2026-01-01T00:00:00Z")]),
            ", by the session of the server process 7, application weft ann@host, user ann, since \
             2026-01-01T00:00:00Z; ending this session releases the lock, for example with SELECT \
             pg_terminate_backend(7)"
        );
    }
}
