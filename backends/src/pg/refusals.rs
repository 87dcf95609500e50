//! The errors of requests, as constructors, each with the way out.

use std::error::Error as _;

use tokio_postgres::error::SqlState;
use weft_state::remote::BackendError;

use super::connection::SILENCE_TIMEOUT;
use super::settings::PgSettings;

impl PgSettings {
    /// The error of a request.
    pub(super) fn failed(&self, doing: &'static str, error: &tokio_postgres::Error) -> BackendError {
        let place = self.place();
        let Some(code) = error.code() else {
            let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            return BackendError::Unreachable { place, doing, error };
        };
        let advice = match code {
            code if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                "Grant the user the rights on schema and tables, or let an administrator create them and set \
                 skip_schema_creation, skip_table_creation and skip_index_creation"
            }
            code if *code == SqlState::INVALID_CATALOG_NAME => "Create the database, with \"createdb\" for example",
            code if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                "Check user and password in conn_str, PGUSER and PGPASSWORD"
            }
            code if *code == SqlState::UNDEFINED_TABLE => "Create the table, or do not set skip_table_creation",
            _ => "",
        };
        let message = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
        let error = format!("{message} ({})", code.code());
        BackendError::Refused { place, doing, error, advice: advice.to_owned() }
    }

    /// The connection cannot even be tried.
    pub(super) fn setup(&self, doing: &'static str, error: String) -> BackendError {
        BackendError::Refused { place: self.place(), doing, error, advice: String::new() }
    }

    /// The server does not answer.
    pub(super) fn silent(&self, doing: &'static str) -> BackendError {
        let error = format!("there was no answer within {} s: it timed out", SILENCE_TIMEOUT.as_secs());
        BackendError::Unreachable { place: self.place(), doing, error }
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
