//! The messages of events about operations. For reads and removals, they differ from the lines of the text output.

use super::hook::{Hook, HookAction};
use super::plan::{duration, with_id};

/// An object is about to be read from its provider.
pub fn refreshing(hook: &Hook) -> String {
    begins("Refreshing state", hook)
}

/// An object was read from its provider.
pub fn refreshed(hook: &Hook) -> String {
    format!("{}: Refresh complete{}", hook.address, with_id(hook))
}

/// An operation begins.
pub fn started(hook: &Hook) -> String {
    let verb = match hook.action {
        HookAction::Create => "Creating",
        HookAction::Update => "Modifying",
        HookAction::Delete => "Destroying",
        HookAction::Read => "Refreshing",
        HookAction::Forget => "Removing",
        HookAction::Refresh => "Applying",
    };
    begins(verb, hook)
}

/// An operation is still running.
pub fn going_on(hook: &Hook) -> String {
    let verb = match hook.action {
        HookAction::Create => "creating",
        HookAction::Update => "modifying",
        HookAction::Delete => "destroying",
        HookAction::Read => "refreshing",
        HookAction::Forget => "removing",
        HookAction::Refresh => "applying",
    };
    format!("{}: Still {verb}... [{} elapsed]", hook.address, duration(hook.elapsed_seconds))
}

/// An operation is done.
pub fn done(hook: &Hook) -> String {
    format!("{}: {} complete after {}{}", hook.address, noun(hook), duration(hook.elapsed_seconds), with_id(hook))
}

/// An operation failed.
pub fn failed(hook: &Hook) -> String {
    format!("{}: {} errored after {}", hook.address, noun(hook), duration(hook.elapsed_seconds))
}

fn begins(verb: &str, hook: &Hook) -> String {
    format!("{}: {verb}...{}", hook.address, with_id(hook))
}

fn noun(hook: &Hook) -> &'static str {
    match hook.action {
        HookAction::Create => "Creation",
        HookAction::Update => "Modifications",
        HookAction::Delete => "Destruction",
        HookAction::Read => "Refresh",
        HookAction::Forget => "Removal",
        HookAction::Refresh => "Apply",
    }
}

#[cfg(test)]
mod tests {
    use weft_protocol::ShownName;

    use super::*;

    #[test]
    fn events_about_reads_and_removals_have_words_of_their_own() {
        let hook = |action| {
            let Ok(address) = "data.a.b".parse() else { panic!("an address") };
            let id = ShownName { attribute: "id".into(), value: "1".into() };
            Hook { address, deposed: None, action, id: Some(id), elapsed_seconds: 12 }
        };
        assert_eq!(started(&hook(HookAction::Read)), "data.a.b: Refreshing... [id=1]");
        assert_eq!(going_on(&hook(HookAction::Read)), "data.a.b: Still refreshing... [12s elapsed]");
        assert_eq!(done(&hook(HookAction::Read)), "data.a.b: Refresh complete after 12s [id=1]");
        assert_eq!(failed(&hook(HookAction::Forget)), "data.a.b: Removal errored after 12s");
        assert_eq!(refreshing(&hook(HookAction::Refresh)), "data.a.b: Refreshing state... [id=1]");
        assert_eq!(refreshed(&hook(HookAction::Refresh)), "data.a.b: Refresh complete [id=1]");
        assert_eq!(started(&hook(HookAction::Create)), "data.a.b: Creating... [id=1]");
    }
}
