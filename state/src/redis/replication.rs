//! Decides how many replicas must confirm a write, so that no failover loses it.
//!
//! A replica that may be promoted must have every acknowledged write. `WAIT` does not say which replicas have confirmed
//! a write. So if any replica may be promoted, all replicas must confirm, except for those that are down while the
//! Sentinels have a quorum.

use std::collections::BTreeMap;

use super::problems::ReplicaFault;

/// The first version with `WAITAOF`.
const WAITS_FOR_FILES: (u32, u32) = (7, 2);

/// A replica, as a Sentinel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeenReplica {
    /// Whether the replica responds.
    pub(super) up: bool,
    /// Whether a failover may promote the replica.
    pub(super) promotable: bool,
}

impl SeenReplica {
    /// Reads an entry of `SENTINEL REPLICAS`.
    pub(super) fn read(entry: &BTreeMap<String, String>) -> SeenReplica {
        let text = |name: &str| entry.get(name).map(String::as_str).unwrap_or_default();
        let down = text("flags").split(',').any(|flag| matches!(flag, "s_down" | "o_down" | "disconnected"));
        // A replica with the priority 0 is never promoted.
        SeenReplica { up: !down, promotable: text("slave-priority") != "0" }
    }
}

/// What a Sentinel knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentinelView {
    /// Whether the Sentinels can agree on a failover now, as far as the asked Sentinel sees the others.
    pub(super) quorum: bool,
    pub(super) replicas: Vec<SeenReplica>,
}

/// What a server reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerFacts {
    pub(super) version: (u32, u32),
    pub(super) version_text: String,
    pub(super) is_replica: bool,
    /// The number of connected replicas.
    pub(super) connected: u32,
    pub(super) is_cluster: bool,
}

impl ServerFacts {
    /// Parses the answer to `INFO`.
    pub(super) fn read(info: &str) -> ServerFacts {
        let field = |name: &str| {
            let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.map(str::trim).unwrap_or_default()
        };
        let version = field("redis_version");
        let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
        ServerFacts {
            version: (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()),
            version_text: if version.is_empty() { "unknown".to_owned() } else { version.to_owned() },
            is_replica: field("role") == "slave",
            connected: field("connected_slaves").parse().unwrap_or_default(),
            is_cluster: field("cluster_enabled") == "1",
        }
    }

    /// Whether the server can wait until its replicas have written to their files.
    pub(super) fn waits_for_files(&self) -> bool {
        self.version >= WAITS_FOR_FILES
    }
}

/// The number of replicas that must confirm each write.
///
/// # Errors
/// Returns an error if the server is part of a cluster, or if a failover could lose writes and the address does not say
/// how to avoid this.
pub(super) fn wanted(
    facts: &ServerFacts,
    sentinels: Option<&SentinelView>,
    watched: bool,
    declared: Option<u32>,
) -> Result<u32, ReplicaFault> {
    if facts.is_cluster {
        return Err(ReplicaFault::Cluster);
    }
    let Some(SentinelView { quorum, replicas }) = sentinels else {
        return match declared {
            Some(number) if number > 0 || !watched => Ok(number),
            _ if watched => Err(ReplicaFault::Watched),
            _ if facts.connected > 0 => Err(ReplicaFault::Undeclared(facts.connected)),
            _ => Ok(0),
        };
    };
    // A Sentinel that does not see the others may be cut off by a network partition. A replica that this Sentinel
    // considers dead may be the new master. So without a quorum of Sentinels, all replicas count.
    let counted: Vec<&SeenReplica> = replicas.iter().filter(|replica| replica.up || !quorum).collect();
    let connected = usize::try_from(facts.connected).unwrap_or(usize::MAX);
    // The server knows a new replica a few seconds before the Sentinels do.
    let promotable = counted.iter().any(|replica| replica.promotable) || connected > replicas.len();
    let number = if promotable { counted.len().max(connected) } else { 0 };
    Ok(u32::try_from(number).unwrap_or(u32::MAX).max(declared.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: SeenReplica = SeenReplica { up: true, promotable: true };
    const DOWN: SeenReplica = SeenReplica { up: false, promotable: true };
    const SPARE: SeenReplica = SeenReplica { up: true, promotable: false };

    #[test]
    fn replicas_that_may_be_promoted_must_confirm() {
        let view = |quorum, replicas: &[SeenReplica]| Some(SentinelView { quorum, replicas: replicas.to_vec() });
        type Row = (u32, Option<SentinelView>, bool, Option<u32>, Result<u32, ReplicaFault>);
        let rows: [Row; 18] = [
            // Without Sentinels in the address.
            (0, None, false, None, Ok(0)),
            (2, None, false, None, Err(ReplicaFault::Undeclared(2))),
            (2, None, false, Some(2), Ok(2)),
            (2, None, false, Some(1), Ok(1)),
            (2, None, false, Some(0), Ok(0)),
            (0, None, false, Some(1), Ok(1)),
            (0, None, true, None, Err(ReplicaFault::Watched)),
            (1, None, true, Some(0), Err(ReplicaFault::Watched)),
            (1, None, true, Some(1), Ok(1)),
            // With Sentinels.
            (0, view(true, &[]), true, None, Ok(0)),
            (1, view(true, &[]), true, None, Ok(1)),
            (2, view(true, &[UP, UP]), true, None, Ok(2)),
            (2, view(true, &[UP, SPARE]), true, None, Ok(2)),
            (2, view(true, &[SPARE, SPARE]), true, None, Ok(0)),
            // After a failover, the former master is down.
            (0, view(true, &[DOWN]), true, None, Ok(0)),
            (0, view(true, &[DOWN]), true, Some(1), Ok(1)),
            // A Sentinel that does not see the others is not trusted when it says that a replica is down.
            (0, view(false, &[DOWN]), true, None, Ok(1)),
            (1, view(true, &[UP, DOWN]), true, None, Ok(1)),
        ];
        for (connected, sentinels, watched, declared, expected) in rows {
            let facts = ServerFacts { connected, ..ServerFacts::default() };
            let found = wanted(&facts, sentinels.as_ref(), watched, declared);
            assert_eq!(found, expected, "{connected} {sentinels:?} {watched} {declared:?}");
        }
        let cluster = ServerFacts { is_cluster: true, ..ServerFacts::default() };
        assert_eq!(wanted(&cluster, None, false, Some(1)), Err(ReplicaFault::Cluster));
    }

    #[test]
    fn answers_are_read() {
        let info = "# Server\r\nredis_version:7.2.4\r\n\r\n# Replication\r\nrole:master\r\nconnected_slaves:2\r\n\
                    # Cluster\r\ncluster_enabled:0\r\n";
        let facts = ServerFacts::read(info);
        assert_eq!((facts.version, facts.connected, facts.is_replica, facts.is_cluster), ((7, 2), 2, false, false));
        assert!(facts.waits_for_files());
        assert_eq!(ServerFacts::read("").version_text, "unknown");
        assert!(ServerFacts::read("role:slave\r\n").is_replica);
        for (flags, priority, expected) in [
            ("slave", "100", UP),
            ("slave", "0", SPARE),
            ("s_down,slave,disconnected", "100", DOWN),
            ("slave,disconnected", "100", DOWN),
        ] {
            let entry = [("flags", flags), ("slave-priority", priority)];
            let entry = entry.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            assert_eq!(SeenReplica::read(&entry), expected, "{flags} {priority}");
        }
    }
}
