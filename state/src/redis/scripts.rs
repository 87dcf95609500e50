//! The scripts. One call executes one step, or a sequence of intents and results. The server executes a script
//! completely or not at all.
//!
//! Because of the first line (`#!lua` without flags), the server refuses the script before its first write when memory
//! is full.

use redis::Cmd;

/// The common part of all scripts.
const SHARED: &str = include_str!("scripts/shared.lua");
/// The common part of the scripts that write to the state.
const WRITES: &str = include_str!("scripts/writes.lua");

/// The scripts by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    CreateStore,
    CreateRun,
    Acquire,
    Renew,
    Claim,
    Unclaim,
    Steps,
    Resolve,
    Doubt,
    Mark,
    Stray,
    Finish,
    Prune,
    Edit,
    Checks,
    Freeze,
    Thaw,
    Drop,
    RemoveStore,
    Declare,
    Tokens,
}

/// All scripts in the order of [`Script`].
const SOURCES: [(Script, bool, &str); 21] = [
    (Script::CreateStore, false, include_str!("scripts/create_store.lua")),
    (Script::CreateRun, false, include_str!("scripts/create_run.lua")),
    (Script::Acquire, false, include_str!("scripts/acquire.lua")),
    (Script::Renew, false, include_str!("scripts/renew.lua")),
    (Script::Claim, false, include_str!("scripts/claim.lua")),
    (Script::Unclaim, false, include_str!("scripts/unclaim.lua")),
    (Script::Steps, true, include_str!("scripts/steps.lua")),
    (Script::Resolve, true, include_str!("scripts/resolve.lua")),
    (Script::Doubt, false, include_str!("scripts/doubt.lua")),
    (Script::Mark, false, include_str!("scripts/mark.lua")),
    (Script::Stray, false, include_str!("scripts/stray.lua")),
    (Script::Finish, false, include_str!("scripts/finish.lua")),
    (Script::Prune, false, include_str!("scripts/prune.lua")),
    (Script::Edit, true, include_str!("scripts/edit.lua")),
    (Script::Checks, true, include_str!("scripts/checks.lua")),
    (Script::Freeze, false, include_str!("scripts/freeze.lua")),
    (Script::Thaw, false, include_str!("scripts/thaw.lua")),
    (Script::Drop, false, include_str!("scripts/drop.lua")),
    (Script::RemoveStore, false, include_str!("scripts/remove_store.lua")),
    (Script::Declare, false, include_str!("scripts/declare.lua")),
    (Script::Tokens, false, include_str!("scripts/tokens.lua")),
];

/// The scripts with their names on the server.
#[derive(Clone, Debug)]
pub(super) struct Scripts {
    texts: Vec<String>,
    hashes: Vec<String>,
}

impl Scripts {
    pub(super) fn new() -> Scripts {
        let text = |(_, writes, source): &(Script, bool, &str)| {
            format!("#!lua\n{SHARED}\n{}\n{source}", if *writes { WRITES } else { "" })
        };
        let texts: Vec<String> = SOURCES.iter().map(text).collect();
        let hashes = texts.iter().map(|text| sha1_hex(text.as_bytes())).collect();
        Scripts { texts, hashes }
    }

    /// The commands that load all scripts into the server.
    pub(super) fn loading(&self) -> Vec<Cmd> {
        let load = |text: &String| {
            let mut command = redis::cmd("SCRIPT");
            command.arg("LOAD").arg(text);
            command
        };
        self.texts.iter().map(load).collect()
    }

    /// A call with its keys. The caller adds the arguments.
    pub(super) fn call(&self, script: Script, keys: &[String]) -> Cmd {
        let hash = self.hashes.get(script as usize).map(String::as_str).unwrap_or_default();
        let mut command = redis::cmd("EVALSHA");
        command.arg(hash).arg(keys.len()).arg(keys);
        command
    }
}

/// The hash by which Redis names scripts. Scripts can compute it, too.
pub(super) fn sha1_hex(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, bytes);
    data_encoding::HEXLOWER.encode(digest.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_listed_in_order() {
        for (position, (script, _, _)) in SOURCES.iter().enumerate() {
            assert_eq!(*script as usize, position);
        }
        assert_eq!(sha1_hex(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}
