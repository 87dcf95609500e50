//! The requirements on a server: version, settings, permissions and replicas. They are checked before anything is
//! written. Settings and replicas are checked again during runs.

use std::collections::BTreeMap;

use redis::aio::MultiplexedConnection;
use redis::{RedisError, Value};

use super::dial::{Dialer, Trouble};
use super::permissions;
use super::problems::{self, LoginFault, REQUIREMENTS, Requirement};
use super::replication::{self, SentinelView, ServerFacts};
use crate::error::StoreError;

/// The minimum version of the server. Older servers do not refuse a script before its first write when memory is full.
const OLDEST_SERVER: (u32, u32) = (7, 0);
/// The channel to which Sentinels subscribe at the servers that they watch.
const SENTINEL_CHANNEL: &str = "__sentinel__:hello";

/// How writes become durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Durability {
    /// The number of replicas that must confirm each write.
    pub(super) replicas: u32,
    /// Whether these replicas must have written each write to their append-only files.
    pub(super) files: bool,
}

/// Checks a new connection.
///
/// # Errors
/// Returns an error if the server is not fit or does not respond.
pub(super) async fn check(
    dialer: &Dialer,
    line: &mut MultiplexedConnection,
    sentinels: Option<&SentinelView>,
    key: &str,
) -> Result<Durability, Trouble> {
    let facts = match info(line).await {
        // The check below reports the missing permission.
        Err(error) if error.code() == Some("NOPERM") => None,
        answer => Some(answer.map_err(|error| dialer.trouble(&error))?),
    };
    if let Some(facts) = facts.filter(|facts| facts.version < OLDEST_SERVER) {
        return Err(Trouble::Final(problems::old_server(&dialer.place(), &facts.version_text)));
    }
    let missing = permissions::missing(line, key).await.map_err(|error| dialer.trouble(&error))?;
    if !missing.is_nothing() {
        let key = missing.keys.then_some(key);
        let user = dialer.address.user_name();
        return Err(Trouble::Final(problems::missing_permissions(&dialer.place(), user, &missing.commands, key)));
    }
    again(dialer, line).await?.durability(dialer, sentinels).map_err(Trouble::Final)
}

/// The properties of a server that is fit.
pub(super) struct Seen {
    facts: ServerFacts,
    /// Whether Sentinels watch the server.
    watched: bool,
}

impl Seen {
    /// How writes become durable.
    ///
    /// # Errors
    /// Returns an error if a failover could lose writes.
    pub(super) fn durability(
        &self,
        dialer: &Dialer,
        sentinels: Option<&SentinelView>,
    ) -> Result<Durability, StoreError> {
        let Seen { facts, watched } = self;
        let replicas = replication::wanted(facts, sentinels, *watched, dialer.address.replicas);
        let replicas = replicas.map_err(|fault| problems::replicas(&dialer.place(), fault))?;
        Ok(Durability { replicas, files: facts.waits_for_files() })
    }
}

/// Repeats the checks of the properties that may change while a connection is open.
///
/// # Errors
/// See [`check`].
pub(super) async fn again(dialer: &Dialer, line: &mut MultiplexedConnection) -> Result<Seen, Trouble> {
    let place = dialer.place();
    let trouble = |error: RedisError| dialer.trouble(&error);
    let facts = info(line).await.map_err(trouble)?;
    if facts.is_replica {
        if !dialer.has_sentinels() {
            return Err(Trouble::Final(problems::no_connection(&place, &LoginFault::Replica)));
        }
        dialer.distrust();
        return Err(Trouble::Again(problems::no_master_there()));
    }
    settings(&place, line).await?;
    let mut watching = redis::cmd("PUBSUB");
    watching.arg("NUMSUB").arg(SENTINEL_CHANNEL);
    let (_, watching): (Value, u32) = watching.query_async(line).await.map_err(trouble)?;
    Ok(Seen { facts, watched: watching > 0 })
}

async fn info(line: &mut MultiplexedConnection) -> Result<ServerFacts, RedisError> {
    let info: String = redis::cmd("INFO").query_async(line).await?;
    Ok(ServerFacts::read(&info))
}

/// Checks the settings without which an acknowledged write could be lost.
async fn settings(place: &str, line: &mut MultiplexedConnection) -> Result<(), Trouble> {
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg(&REQUIREMENTS.map(|required| required.name));
    let found: BTreeMap<String, String> = match command.query_async(line).await {
        Ok(found) => found,
        Err(error) if error.is_io_error() || error.is_timeout() || error.is_connection_dropped() => {
            return Err(Trouble::Again(error.to_string()));
        }
        // Cloud services often do not support `CONFIG GET`.
        Err(error) => {
            let Requirement { name, value, .. } = REQUIREMENTS[0];
            return Err(Trouble::Final(problems::setting_unreadable(place, name, value, &error)));
        }
    };
    match wrong(&found) {
        Some((required, value)) => Err(Trouble::Final(problems::wrong_setting(place, required, &value))),
        None => Ok(()),
    }
}

/// The first required setting whose value on the server is wrong, and that value.
fn wrong(found: &BTreeMap<String, String>) -> Option<(Requirement, String)> {
    let value = |required: &Requirement| found.get(required.name).cloned().unwrap_or_default();
    let wrong = REQUIREMENTS.iter().find(|required| value(required) != required.value)?;
    Some((*wrong, value(wrong)))
}

/// Waits until the replicas have confirmed everything that the connection has written, or until the wait times out.
/// Returns the number of replicas that have confirmed everything. If `durability.files` is set, the server itself must
/// confirm everything, too. If it does not, returns 0.
///
/// # Errors
/// Returns an error if the connection is broken.
pub(super) async fn confirmed(
    line: &mut MultiplexedConnection,
    durability: Durability,
    milliseconds: u64,
) -> Result<u32, RedisError> {
    let Durability { replicas, files } = durability;
    if files {
        let mut command = redis::cmd("WAITAOF");
        command.arg(1).arg(replicas).arg(milliseconds);
        let (own, others): (u32, u32) = command.query_async(line).await?;
        return Ok(if own > 0 { others } else { 0 });
    }
    let mut command = redis::cmd("WAIT");
    command.arg(replicas).arg(milliseconds);
    command.query_async(line).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_setting_is_named() {
        let good = [("maxmemory-policy", "noeviction"), ("appendonly", "yes"), ("appendfsync", "always")];
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        assert!(wrong(&map(&good)).is_none());
        for (name, _) in good {
            let pairs: Vec<_> =
                good.iter().map(|(known, value)| (*known, if *known == name { "no" } else { value })).collect();
            let (required, value) = wrong(&map(&pairs)).unwrap();
            assert_eq!((required.name, value.as_str()), (name, "no"));
            let without: Vec<_> = good.iter().filter(|(known, _)| *known != name).copied().collect();
            assert_eq!(wrong(&map(&without)).unwrap().0.name, name);
        }
    }
}
