//! What a plan does, for people: the difference, and the lines about an apply that scripts match.

use weft_graph_format::changes::{ChangeAction, Changes, ResourceChange};
use weft_graph_format::graph::Action;
use weft_graph_format::plan_file::{Manifest, PlanFile};

use super::events::{Counts, Hook};
use super::style::Style;
use super::values;

/// The difference that a plan makes, with its summary line at the end.
pub fn human(plan: &PlanFile, style: &Style) -> String {
    let Changes { resources, outputs, .. } = &plan.changes;
    if plan.changes.is_empty() {
        return no_changes(&plan.manifest, style);
    }
    let mut text = String::from("\nWeft will perform the following actions:\n\n");
    for change in resources.iter().filter(|change| !change.action.is_no_op()) {
        text.push_str(&headline(change));
        text.push('\n');
    }
    let counts = Counts::of_plan(&plan.changes);
    text.push('\n');
    text.push_str(&style.bold(&plan_line(&counts)));
    text.push('\n');
    let changed: Vec<_> = outputs.iter().filter(|(_, output)| output.action != Action::NoOp).collect();
    if !changed.is_empty() {
        text.push_str("\nChanges to Outputs:\n");
        for (name, output) in changed {
            let symbol = match output.action {
                Action::Create => "+",
                Action::Delete => "-",
                _ => "~",
            };
            let after = if output.sensitive_after || output.sensitive_before {
                "(sensitive value)".to_owned()
            } else {
                values::human(&output.after, 4)
            };
            text.push_str(&format!("  {symbol} {name} = {after}\n"));
        }
    }
    text
}

fn no_changes(manifest: &Manifest, style: &Style) -> String {
    let what = match manifest.ui_mode {
        weft_graph_format::plan_file::UiMode::Destroy => "No objects need to be destroyed.",
        _ => "Your infrastructure matches the configuration.",
    };
    format!("\n{} {}\n", style.paint("32", "No changes."), style.bold(what))
}

fn headline(change: &ResourceChange) -> String {
    let (symbol, words) = match change.action {
        ChangeAction::Only(Action::Create) => ("  +", "will be created"),
        ChangeAction::Only(Action::Update) => ("  ~", "will be updated in-place"),
        ChangeAction::Only(Action::Delete) => ("  -", "will be destroyed"),
        ChangeAction::Only(Action::Read) => (" <=", "will be read during apply"),
        ChangeAction::Only(Action::Forget) => ("  .", "will be removed from the state but not destroyed"),
        ChangeAction::Only(Action::NoOp) => ("   ", "has not changed"),
        ChangeAction::DeleteThenCreate => ("-/+", "must be replaced"),
        ChangeAction::CreateThenDelete => ("+/-", "must be replaced"),
        ChangeAction::ForgetThenCreate => ("./+", "must be replaced"),
    };
    format!("{symbol} {} {words}", change.address)
}

/// `Plan: 1 to add, ...`
pub fn plan_line(counts: &Counts) -> String {
    let import = if counts.import > 0 { format!("{} to import, ", counts.import) } else { String::new() };
    let forget = if counts.forget > 0 { format!(", {} to forget", counts.forget) } else { String::new() };
    format!("Plan: {import}{} to add, {} to change, {} to destroy{forget}.", counts.add, counts.change, counts.remove)
}

/// `Apply complete! ...`
pub fn applied_line(counts: &Counts) -> String {
    let import = if counts.import > 0 { format!("{} imported, ", counts.import) } else { String::new() };
    let forget = if counts.forget > 0 { format!(", {} forgotten", counts.forget) } else { String::new() };
    format!(
        "Apply complete! Resources: {import}{} added, {} changed, {} destroyed{forget}.",
        counts.add, counts.change, counts.remove
    )
}

/// `Destroy complete! ...`
pub fn destroyed_line(counts: &Counts) -> String {
    let forget = if counts.forget > 0 { format!(", {} forgotten", counts.forget) } else { String::new() };
    format!("Destroy complete! Resources: {} destroyed{forget}.", counts.remove)
}

/// The note below a plan: where it was saved and how to apply it, or that it was not saved.
pub fn next_steps(out: Option<&str>, automation: bool) -> String {
    let rule = "─".repeat(77);
    match out {
        Some(path) if automation => format!("\n{rule}\n\nSaved the plan to: {path}\n"),
        Some(path) => format!(
            "\n{rule}\n\nSaved the plan to: {path}\n\nTo perform exactly these actions, run the following command to apply:\n    \
             weft apply {path}\n"
        ),
        None if automation => String::new(),
        None => format!(
            "\n{rule}\n\nNote: the plan was not saved: \"weft apply\" will plan anew, and may find other actions. Use the -out \
             option to save it.\n"
        ),
    }
}

fn with_id(hook: &Hook) -> String {
    hook.id.as_ref().map(|(key, value)| format!(" [{key}={value}]")).unwrap_or_default()
}

/// An operation begins.
pub fn started_line(hook: &Hook) -> String {
    let verb = match hook.action.as_str() {
        "create" => "Creating...",
        "update" => "Modifying...",
        "delete" => "Destroying...",
        "read" => "Reading...",
        "forget" => "Forgetting...",
        _ => "Starting...",
    };
    format!("{}: {verb}{}", hook.address, with_id(hook))
}

/// An operation takes long.
pub fn progress_line(hook: &Hook) -> String {
    let verb = match hook.action.as_str() {
        "create" => "Still creating...",
        "update" => "Still modifying...",
        "delete" => "Still destroying...",
        "read" => "Still reading...",
        _ => "Still going...",
    };
    format!("{}: {verb} [{}s elapsed]", hook.address, hook.elapsed_seconds)
}

/// An operation is done.
pub fn done_line(hook: &Hook) -> String {
    let noun = match hook.action.as_str() {
        "create" => "Creation",
        "update" => "Modifications",
        "delete" => "Destruction",
        "read" => "Read",
        "forget" => "Removal from state",
        _ => "Work",
    };
    format!("{}: {noun} complete after {}s{}", hook.address, hook.elapsed_seconds, with_id(hook))
}
