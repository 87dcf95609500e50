//! The identity of a worker's process. From this identity, another process on the same machine can determine whether
//! the worker is dead.
//!
//! `BOOT:PIDNS:PID:START`: the machine's boot id, the number of the pid namespace, the process id, and the process's
//! start time in clock ticks since boot. Equal identities mean the same process. Only a process with the same boot id
//! and pid namespace can determine whether another process is dead.
//!
//! A leading zero of `START` means that the worker has a spool: a later process with the same worker name may deliver
//! the results of this process. Versions without spools ignore the zero.

use std::fs;

use weft_state::{WorkerId, process_exists};

use crate::outline::HOME;

/// Precedes the start time of a worker with a spool.
const SPOOL: &str = "0";

/// Stands for a part that this system does not provide.
const UNKNOWN: &str = "-";

/// The incarnation of this process.
pub fn incarnation() -> String {
    let process = std::process::id();
    let start = start_time(process).map_or_else(|| UNKNOWN.to_owned(), |start| start.to_string());
    format!("{}:{process}:{start}", place())
}

/// The incarnation of this process, for a worker with a spool.
pub fn incarnation_with_spool() -> String {
    let process = std::process::id();
    let start = start_time(process).map_or_else(|| UNKNOWN.to_owned(), |start| start.to_string());
    format!("{}:{process}:{SPOOL}{start}", place())
}

/// Whether a worker has a spool, so that another process of the same name may deliver its results.
pub fn has_spool(worker: &WorkerId) -> bool {
    let start = worker.0.rsplit_once(':').map_or("", |(_, start)| start);
    // Without this prefix, the start time has no leading zero.
    start.len() > SPOOL.len() && start.starts_with(SPOOL)
}

/// The full identity of a worker: `NAME/INCARNATION`.
pub fn worker_id(name: &str, incarnation: &str) -> WorkerId {
    WorkerId(format!("{name}/{incarnation}"))
}

/// A worker as named in messages. In a run without a cluster, the only process has a meaningless name.
pub(crate) fn in_words(worker: &WorkerId) -> String {
    match worker_name(worker) {
        HOME => String::from("the process of the run"),
        name => format!("worker {name}"),
    }
}

/// The name in a worker's identity.
pub fn worker_name(worker: &WorkerId) -> &str {
    worker.0.split_once('/').map_or(worker.0.as_str(), |(name, _)| name)
}

/// Whether the process of a worker is known to be dead. `false` if the process is alive or its status is unknown.
pub fn is_dead(worker: &WorkerId) -> bool {
    let Some((_, incarnation)) = worker.0.split_once('/') else { return false };
    let Some((elsewhere, start)) = incarnation.rsplit_once(':') else { return false };
    let Some((elsewhere, process)) = elsewhere.rsplit_once(':') else { return false };
    let (Ok(process), Ok(start)) = (process.parse::<u32>(), start.parse::<u64>()) else { return false };
    if elsewhere != place() || elsewhere.contains(UNKNOWN_PLACE) {
        return false;
    }
    match start_time(process) {
        Some(found) => found != start,
        None => !process_exists(process),
    }
}

const UNKNOWN_PLACE: &str = "unknown";

/// The boot id and pid namespace of this process.
fn place() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().replace('-', ""));
    let namespace = fs::read_link("/proc/self/ns/pid")
        .map(|link| link.to_string_lossy().chars().filter(char::is_ascii_digit).collect::<String>());
    match (boot, namespace) {
        (Ok(boot), Ok(namespace)) if !boot.is_empty() && !namespace.is_empty() => format!("{boot}:{namespace}"),
        _ => format!("{UNKNOWN_PLACE}:{UNKNOWN_PLACE}"),
    }
}

/// The start time of a process in ticks since boot: field 22 of `/proc/PID/stat` (proc(5)). 0 if the process has ended
/// and is a zombie. `None` if the process does not exist.
fn start_time(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the command is in parentheses and may contain any character.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return Some(0);
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_dead_only_after_it_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let start = start_time(child.id()).unwrap();
        let id = worker_id("w", &format!("{}:{}:{start}", place(), child.id()));
        assert!(!is_dead(&id));
        assert!(!is_dead(&worker_id("me", &incarnation())));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_dead(&id));
        assert_eq!(worker_name(&id), "w");
    }

    #[test]
    fn a_worker_with_a_spool_says_so_in_its_identity() {
        let (with, without) = (worker_id("w", &incarnation_with_spool()), worker_id("w", &incarnation()));
        assert!(has_spool(&with) && !has_spool(&without) && !has_spool(&worker_id("w", "1")));
        assert!(!is_dead(&with), "the number is the same");
        let number = |id: &WorkerId| id.0.rsplit(':').next().and_then(|start| start.parse::<u64>().ok());
        assert_eq!(number(&with), number(&without));
    }

    #[test]
    fn processes_on_other_machines_are_never_taken_as_dead() {
        assert!(!is_dead(&worker_id("w", "0123:4:999999:1")));
        assert!(!is_dead(&worker_id("w", "unknown:unknown:999999:1")));
        assert!(!is_dead(&WorkerId("w".to_owned())));
        assert!(!is_dead(&WorkerId(String::new())));
    }
}
