//! The errors of requests, as constructors, each with the way out.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::error::SqlState;
use weft_state::remote::BackendError;

use super::settings::PgSettings;

impl PgSettings {
    /// The error of a request.
    pub(super) fn failed(&self, doing: &'static str, error: &tokio_postgres::Error) -> BackendError {
        let place = self.place();
        let Some(code) = error.code() else {
            let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            return BackendError::Unreachable { place, doing, error };
        };
        let advice = advice(code);
        let message = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
        let error = format!("{message} ({})", code.code());
        BackendError::Refused { place, doing, error, advice: advice.to_owned() }
    }

    /// The server does not answer, although the connection lives.
    pub(super) fn silent(&self, doing: &'static str, limit: Duration) -> BackendError {
        let error = format!(
            "no answer came within {} seconds, and the connection was given up. If the server lives, see \
             pg_stat_activity for what the session waits for",
            limit.as_secs()
        );
        BackendError::Unreachable { place: self.place(), doing, error }
    }

    /// The connection cannot even be tried.
    pub(super) fn setup(&self, doing: &'static str, error: String) -> BackendError {
        BackendError::Refused { place: self.place(), doing, error, advice: String::new() }
    }

    /// The session with the lock has ended.
    pub(super) fn lost_lock(&self) -> BackendError {
        BackendError::Unreachable {
            place: self.place(),
            doing: "keeping the lock",
            error: "the session that holds the lock has ended, and the lock with it".to_owned(),
        }
    }

    /// The content cannot be stored in a text column.
    pub(super) fn not_text(&self, doing: &'static str) -> BackendError {
        BackendError::Damaged { place: self.place(), doing, error: "the content is not UTF-8".to_owned() }
    }
}

/// The way out of an error with this code.
fn advice(code: &SqlState) -> &'static str {
    const ADVICE: [(&SqlState, &str); 15] = [
        (
            &SqlState::INSUFFICIENT_PRIVILEGE,
            "Grant the user the rights on schema and tables, or let an administrator create them and set \
             skip_schema_creation, skip_table_creation and skip_index_creation",
        ),
        (&SqlState::INVALID_CATALOG_NAME, "Create the database, with \"createdb\" for example"),
        (&SqlState::INVALID_PASSWORD, USER),
        (&SqlState::INVALID_AUTHORIZATION_SPECIFICATION, USER),
        (&SqlState::UNDEFINED_TABLE, "Create the table, or do not set skip_table_creation"),
        (
            &SqlState::QUERY_CANCELED,
            "If its statement_timeout ended the statement, set a longer one for this user, or in conn_str",
        ),
        (&SqlState::LOCK_NOT_AVAILABLE, "Another session holds the table or the row: see pg_stat_activity"),
        (&SqlState::ADMIN_SHUTDOWN, ENDED),
        (&SqlState::CRASH_SHUTDOWN, ENDED),
        (&SqlState::IDLE_SESSION_TIMEOUT, ENDED),
        (&SqlState::CANNOT_CONNECT_NOW, "The server starts or stops. Try again later"),
        (&SqlState::TOO_MANY_CONNECTIONS, "Try again later, or raise max_connections of the server"),
        (
            &SqlState::READ_ONLY_SQL_TRANSACTION,
            "The server takes no writes. Set the host of the primary one in conn_str",
        ),
        (&SqlState::DISK_FULL, "Make room on the disk of the server"),
        (&SqlState::PROGRAM_LIMIT_EXCEEDED, "The state is too large for a column of PostgreSQL"),
    ];
    const USER: &str = "Check user and password in conn_str, PGUSER and PGPASSWORD";
    const ENDED: &str = "The server ended the session, and its locks with it. Run the command again";
    ADVICE.iter().find(|(known, _)| *known == code).map_or("", |(_, advice)| advice)
}

/// A session, with its application, user, address and start, and how it is ended.
pub(super) fn session(pid: i32, [application, user, address, start]: [Option<String>; 4]) -> String {
    let mut text = format!(", by the session of the process {pid}");
    for (words, part) in [("application", application), ("user", user), ("from", address), ("since", start)] {
        if let Some(part) = part {
            text.push_str(&format!(", {words} {part}"));
        }
    }
    text.push_str(&format!("; its lock ends with it, for example by SELECT pg_terminate_backend({pid})"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_way_out() {
        for (code, want) in [
            ("42501", "Grant the user"),
            ("3D000", "Create the database"),
            ("28P01", "Check user and password"),
            ("42P01", "Create the table"),
            ("57014", "statement_timeout"),
            ("57P01", "The server ended the session"),
            ("57P05", "The server ended the session"),
            ("53300", "max_connections"),
            ("25006", "takes no writes"),
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
            ", by the session of the process 7, application weft ann@host, user ann, since 2026-01-01T00:00:00Z; its \
             lock ends with it, for example by SELECT pg_terminate_backend(7)"
        );
    }
}
