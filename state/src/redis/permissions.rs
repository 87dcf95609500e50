//! Checks the permissions of the user of a connection, so that a missing permission is found before anything is
//! written.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, Value};

/// Placeholder for a key of the store.
const KEY: &str = "KEY";

/// The commands that the store sends after the login or that its scripts call, without those of [`TRANSACTION`]. Each
/// has its name in ACL rules and the words of a call. The ACL rule in `docs/operate.md` contains these names.
const COMMANDS: [(&str, &[&str]); 27] = [
    ("config|get", &["CONFIG", "GET", "appendonly"]),
    ("evalsha", &["EVALSHA", "0", "0"]),
    ("exists", &["EXISTS", KEY]),
    ("get", &["GET", KEY]),
    ("hdel", &["HDEL", KEY, "-"]),
    ("hexists", &["HEXISTS", KEY, "-"]),
    ("hget", &["HGET", KEY, "-"]),
    ("hgetall", &["HGETALL", KEY]),
    ("hincrby", &["HINCRBY", KEY, "-", "1"]),
    ("hlen", &["HLEN", KEY]),
    ("hmget", &["HMGET", KEY, "-"]),
    ("hscan", &["HSCAN", KEY, "0"]),
    ("hset", &["HSET", KEY, "-", "-"]),
    ("hsetnx", &["HSETNX", KEY, "-", "-"]),
    ("info", &["INFO"]),
    ("lindex", &["LINDEX", KEY, "0"]),
    ("llen", &["LLEN", KEY]),
    ("lrange", &["LRANGE", KEY, "0", "0"]),
    ("pubsub|numsub", &["PUBSUB", "NUMSUB"]),
    ("rpush", &["RPUSH", KEY, "-"]),
    ("scan", &["SCAN", "0"]),
    ("script|load", &["SCRIPT", "LOAD", "-"]),
    ("set", &["SET", KEY, "-"]),
    ("time", &["TIME"]),
    ("unlink", &["UNLINK", KEY]),
    ("wait", &["WAIT", "0", "0"]),
    ("waitaof", &["WAITAOF", "0", "0", "0"]),
];

/// The commands of a transaction, which the user needs in addition to [`COMMANDS`].
const TRANSACTION: [&str; 3] = ["multi", "exec", "discard"];

/// The missing permissions of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) commands: Vec<String>,
    pub(super) keys: bool,
}

impl Missing {
    pub(super) fn is_nothing(&self) -> bool {
        self.commands.is_empty() && !self.keys
    }
}

/// Whether a command was denied. `EXEC` answers with the error of the transaction.
fn is_denied(error: &redis::ServerError) -> bool {
    const DENIED: &str = "NOPERM";
    error.code() == DENIED
        || error.code() == "EXECABORT" && error.details().is_some_and(|details| details.contains(DENIED))
}

fn command(words: &[&str], key: &str) -> Cmd {
    let mut words = words.iter().map(|word| if *word == KEY { key } else { word });
    let mut command = redis::cmd(words.next().unwrap_or_default());
    for word in words {
        command.arg(word);
    }
    command
}

/// The missing permissions of the user of a connection. The server checks permissions when it queues a command in a
/// transaction. So this function queues all commands in a transaction and then discards the transaction, which changes
/// nothing.
///
/// # Errors
/// Errors of the server, except for denied commands.
pub(super) async fn missing(line: &mut MultiplexedConnection, key: &str) -> Result<Missing, RedisError> {
    let mut missing = Missing::default();
    // Outside of a transaction, the commands would be executed. So the transaction must have begun before the commands
    // are sent.
    let begun: Result<(), RedisError> = redis::cmd("MULTI").query_async(line).await;
    if let Err(error) = begun {
        if error.code() != Some("NOPERM") {
            return Err(error);
        }
        missing.commands = TRANSACTION.map(str::to_owned).to_vec();
        return Ok(missing);
    }
    let mut pipeline = Pipeline::new();
    for (_, words) in COMMANDS {
        pipeline.add_command(command(words, key));
    }
    pipeline.add_command(redis::cmd("DISCARD")).add_command(redis::cmd("MULTI")).add_command(redis::cmd("EXEC"));
    pipeline.ignore_errors();
    let answers: Vec<Value> = pipeline.query_async(line).await?;
    let names = COMMANDS.iter().map(|(name, _)| *name).chain(["discard", "multi", "exec"]);
    for (name, answer) in names.zip(&answers) {
        let Value::ServerError(error) = answer else { continue };
        match error.details().unwrap_or_default() {
            _ if !is_denied(error) => {}
            details if details.contains("key") && !details.contains('\'') => missing.keys = true,
            _ => missing.commands.push(name.to_owned()),
        }
    }
    Ok(missing)
}
