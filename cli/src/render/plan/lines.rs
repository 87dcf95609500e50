//! Single lines about plans and applies. Scripts match most of them.

use weft_executor::EphemeralStep;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::shown::ShownName;
use weft_state::choice::quoted;

use super::super::counts::ChangeCounts;
use super::super::hook::{Hook, HookAction};
use super::super::style::Style;

/// `Plan: 1 to add, ...`
pub fn plan_line(counts: &ChangeCounts) -> String {
    let import = if counts.import > 0 { format!("{} to import, ", counts.import) } else { String::new() };
    let forget = if counts.forget > 0 { format!(", {} to forget", counts.forget) } else { String::new() };
    format!("Plan: {import}{} to add, {} to change, {} to destroy{forget}.", counts.add, counts.change, counts.remove)
}

/// `Apply complete! ...`
pub fn applied_line(counts: &ChangeCounts) -> String {
    let import = if counts.import > 0 { format!("{} imported, ", counts.import) } else { String::new() };
    let forget = if counts.forget > 0 { format!(", {} forgotten", counts.forget) } else { String::new() };
    format!(
        "Apply complete! Resources: {import}{} added, {} changed, {} destroyed{forget}.",
        counts.add, counts.change, counts.remove
    )
}

/// `Destroy complete! ...`
pub fn destroyed_line(counts: &ChangeCounts) -> String {
    let forget = if counts.forget > 0 { format!(", {} forgotten", counts.forget) } else { String::new() };
    format!("Destroy complete! Resources: {} destroyed{forget}.", counts.remove)
}

/// The digest of a saved plan. It identifies the plan for signatures and reviews.
pub fn digest_line(digest: &str) -> String {
    format!("Digest of the plan: {digest}")
}

/// The note below a plan: where it was saved and how to apply it, or that it was not saved. `store` is the address in
/// the option `-store`.
pub fn next_steps(out: Option<&str>, store: Option<&str>, style: &Style) -> String {
    let rule = style.paint("90", &"─".repeat(style.width.saturating_sub(1)));
    let store = store.map(|address| format!("-store={} ", quoted(address))).unwrap_or_default();
    match out {
        Some(path) => format!(
            "\n{rule}\n\nSaved the plan to: {path}\n\nTo perform exactly these actions, run the following command to \
             apply:\n    weft apply {store}\"{path}\""
        ),
        // This is the text of the recorded case `workflow/json-into`, including OpenTofu's name of the command.
        None => format!(
            "\n{rule}\n\n{}",
            style.wrapped(
                "Note: You didn't use the -out option to save this plan, so OpenTofu can't guarantee to take exactly these \
                 actions if you run \"tofu apply\" now."
            )
        ),
    }
}

/// The suffix with the id of the object, for lines about the object.
pub fn with_id(hook: &Hook) -> String {
    name_behind(hook.id.as_ref())
}

fn name_behind(name: Option<&ShownName>) -> String {
    name.map(|name| format!(" [{}={}]", name.attribute, name.value)).unwrap_or_default()
}

/// A duration as text: `7s`, `3m7s`, `1h0m7s`.
pub fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s}s"),
        (h, m, s) => format!("{h}h{m}m{s}s"),
    }
}

/// The provider refused a call and asked for a pause.
pub fn refused_line(address: &str, pause_ms: u64) -> String {
    let seconds = pause_ms.div_ceil(1000);
    format!("{address}: The provider refused the request for now. Trying again in {seconds}s...")
}

/// An operation begins.
pub fn started_line(hook: &Hook) -> String {
    let verb = match hook.action {
        HookAction::Create => "Creating...",
        HookAction::Update => "Modifying...",
        HookAction::Delete => "Destroying...",
        HookAction::Read => "Reading...",
        HookAction::Refresh => "Refreshing state...",
        HookAction::Forget => "Forgetting...",
    };
    format!("{}: {verb}{}", hook.object_name(), with_id(hook))
}

/// A step of the import of an object by its id.
pub fn import_line(address: &ResourceInstance, step: &str, name: Option<&ShownName>) -> String {
    format!("{address}: {step}{}", name_behind(name))
}

/// The text for a step of an ephemeral object. Scripts look for it.
pub fn ephemeral_words(step: EphemeralStep) -> &'static str {
    match step {
        EphemeralStep::OpenStarted => "Opening...",
        EphemeralStep::OpenDone => "Open complete",
        EphemeralStep::RenewStarted => "Renewing...",
        EphemeralStep::RenewDone => "Renew complete",
        EphemeralStep::CloseStarted => "Closing...",
        EphemeralStep::CloseDone => "Close complete",
    }
}

/// A provisioner begins.
pub fn provisioning_line(address: &ResourceInstance, provisioner: &str) -> String {
    format!("{address}: Provisioning with '{provisioner}'...")
}

/// An operation is still running.
pub fn progress_line(hook: &Hook) -> String {
    let verb = match hook.action {
        HookAction::Create => "Still creating...",
        HookAction::Update => "Still modifying...",
        HookAction::Delete => "Still destroying...",
        HookAction::Read => "Still reading...",
        HookAction::Forget | HookAction::Refresh => "Still going...",
    };
    let id = hook.id.as_ref().map(|id| format!("{}={}, ", id.attribute, id.value)).unwrap_or_default();
    format!("{}: {verb} [{id}{} elapsed]", hook.address, duration(hook.elapsed_seconds))
}

fn noun(hook: &Hook) -> &'static str {
    match hook.action {
        HookAction::Create => "Creation",
        HookAction::Update => "Modifications",
        HookAction::Delete => "Destruction",
        HookAction::Read => "Read",
        HookAction::Forget => "Removal from state",
        HookAction::Refresh => "Work",
    }
}

/// An operation is done.
pub fn done_line(hook: &Hook) -> String {
    if hook.action == HookAction::Refresh {
        return format!("{}: Refresh complete{}", hook.address, with_id(hook));
    }
    format!("{}: {} complete after {}{}", hook.address, noun(hook), duration(hook.elapsed_seconds), with_id(hook))
}

#[cfg(test)]
mod tests {
    use weft_protocol::ShownName;

    use super::*;

    fn hook(action: HookAction, id: Option<&str>, elapsed_seconds: u64) -> Hook {
        let Ok(address) = "aws_x.y[0]".parse() else { panic!("an address") };
        Hook {
            address,
            deposed: None,
            action,
            id: id.map(|id| ShownName { attribute: "id".into(), value: id.into() }),
            elapsed_seconds,
        }
    }

    #[test]
    fn summary_lines_have_the_words_that_scripts_match() {
        let counts = ChangeCounts { add: 1, change: 2, remove: 3, ..ChangeCounts::default() };
        assert_eq!(plan_line(&counts), "Plan: 1 to add, 2 to change, 3 to destroy.");
        assert_eq!(applied_line(&counts), "Apply complete! Resources: 1 added, 2 changed, 3 destroyed.");
        assert_eq!(destroyed_line(&counts), "Destroy complete! Resources: 3 destroyed.");
        let more = ChangeCounts { import: 4, forget: 5, ..counts };
        assert_eq!(plan_line(&more), "Plan: 4 to import, 1 to add, 2 to change, 3 to destroy, 5 to forget.");
        assert_eq!(
            applied_line(&more),
            "Apply complete! Resources: 4 imported, 1 added, 2 changed, 3 destroyed, 5 forgotten."
        );
    }

    #[test]
    fn the_command_that_applies_a_plan_names_its_store() {
        let (colour, width, boxes, reveal) = (false, 20, false, false);
        let style = Style { colour, width, compact_warnings: false, compact_changes: false, reveal, boxes };
        assert!(next_steps(Some("p"), None, &style).ends_with("apply:\n    weft apply \"p\""));
        let steps = next_steps(Some("p"), Some("redis://h/0?state=a"), &style);
        assert!(steps.ends_with("\n    weft apply -store='redis://h/0?state=a' \"p\""), "{steps}");
    }

    #[test]
    fn operations_have_progress_lines() {
        assert_eq!(started_line(&hook(HookAction::Create, None, 0)), "aws_x.y[0]: Creating...");
        assert_eq!(
            done_line(&hook(HookAction::Create, Some("i-1"), 2)),
            "aws_x.y[0]: Creation complete after 2s [id=i-1]"
        );
        assert_eq!(
            progress_line(&hook(HookAction::Update, Some("i-1"), 75)),
            "aws_x.y[0]: Still modifying... [id=i-1, 1m15s elapsed]"
        );
        assert_eq!(started_line(&hook(HookAction::Delete, Some("i-1"), 0)), "aws_x.y[0]: Destroying... [id=i-1]");
    }
}
