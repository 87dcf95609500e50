//! A plan as text: the changes, and the lines about an apply. Scripts match these lines.
//!
//! [`human`] is the whole text. `resource` renders one change, `outputs` the changes to outputs, and [`lines`] single
//! lines. The fixed texts are those of OpenTofu, and contain the name OpenTofu, because pipelines look for them.

mod by_provider;
mod compact;
mod drift;
mod lines;
mod outputs;
mod resource;
#[cfg(test)]
mod tests;

use weft_graph_format::address::ResourceMode;
use weft_graph_format::changes::{ChangeAction, ResourceChange};
use weft_graph_format::graph::Action;
use weft_graph_format::plan_file::{PlanFile, UiMode};

pub use lines::{
    applied_line, destroyed_line, digest_line, done_line, duration, ephemeral_words, import_line, next_steps,
    plan_line, progress_line, provisioning_line, refused_line, started_line, with_id,
};

use super::counts::ChangeCounts;
use super::style::Style;
use resource::Told;

/// The changes of a plan, with the summary line at the end.
pub fn human(plan: &PlanFile, style: &Style) -> String {
    let shown: Vec<&ResourceChange> = plan.changes.resources.iter().filter(|change| is_shown(change)).collect();
    let outputs = outputs::changes(&plan.changes.outputs, style);
    let drift = drift(plan, style);
    if shown.is_empty() && outputs.is_empty() {
        return format!("{drift}{}", nothing_to_do(plan, !drift.is_empty(), style));
    }
    let mut text = String::new();
    if !drift.is_empty() {
        text.push_str(&drift);
        text.push_str(&format!("\n{}\n", "─".repeat(style.width.saturating_sub(1))));
    }
    if !shown.is_empty() {
        let signs = legend(&shown, style);
        if !signs.is_empty() {
            text.push('\n');
            text.push_str(&style.wrapped(
                "OpenTofu used the selected providers to generate the following execution plan. Resource actions are \
                 indicated with the following symbols:",
            ));
            text.push('\n');
            text.push_str(&signs);
        }
        text.push_str(if plan.manifest.errored {
            "\nOpenTofu planned the following actions, but then encountered a problem:\n\n"
        } else {
            "\nOpenTofu will perform the following actions:\n\n"
        });
        for change in changes(plan, &shown, style) {
            text.push_str(&change);
            text.push_str("\n\n");
        }
        let counts = ChangeCounts::of_plan(&plan.changes);
        text.push_str(&plan_line(&counts).replacen("Plan:", &style.bold("Plan:"), 1));
        text.push('\n');
        text.push_str(&by_provider::table(&shown));
    }
    if !outputs.is_empty() {
        text.push_str("\nChanges to Outputs:\n");
        text.push_str(&outputs);
        // Moves and imports change no objects.
        if shown.iter().all(|change| change.action.is_no_op()) {
            text.push('\n');
            text.push_str(&style.wrapped(
                "You can apply this plan to save these new output values to the OpenTofu state, without changing any \
                 real infrastructure.",
            ));
            text.push('\n');
        }
    }
    text
}

/// The changes as text, one string for each change. With `-compact`, equal changes share one string.
fn changes(plan: &PlanFile, shown: &[&ResourceChange], style: &Style) -> Vec<String> {
    let told = |change: &ResourceChange| {
        let written = change.action.is_no_op() && plan.manifest.generated.contains_key(&change.address.to_string());
        if written { Told::Generated } else { Told::Plan }
    };
    if style.compact_changes {
        return compact::grouped(shown.iter().map(|change| (*change, told(change))), &plan.schemas, style);
    }
    shown.iter().map(|change| resource::change(change, &plan.schemas, told(change), style)).collect()
}

/// Whether a change is shown: an object changes, or is moved or imported.
fn is_shown(change: &ResourceChange) -> bool {
    let data_goes = change.address.resource.mode == ResourceMode::Data
        && matches!(change.action, ChangeAction::Only(Action::Delete | Action::Forget));
    let moves = change.previous_address.as_deref().is_some_and(|previous| *previous != change.address);
    !data_goes && (!change.action.is_no_op() || moves || change.importing.is_some())
}

/// The meanings of the signs in these changes.
fn legend(shown: &[&ResourceChange], style: &Style) -> String {
    const ALL: [(ChangeAction, &str); 8] = [
        (ChangeAction::Only(Action::Create), "create"),
        (ChangeAction::Only(Action::Update), "update in-place (current -> planned)"),
        (ChangeAction::Only(Action::Delete), "destroy"),
        (ChangeAction::DeleteThenCreate, "destroy and then create replacement"),
        (ChangeAction::CreateThenDelete, "create replacement and then destroy"),
        (ChangeAction::Only(Action::Read), "read (data resources)"),
        (ChangeAction::ForgetThenCreate, "forget and then create replacement"),
        (ChangeAction::Only(Action::Forget), "forget"),
    ];
    ALL.iter()
        .filter(|(action, _)| shown.iter().any(|change| change.action == *action))
        .map(|(action, words)| format!("{} {words}\n", resource::sign(*action, style)))
        .collect()
}

fn nothing_to_do(plan: &PlanFile, drifted: bool, style: &Style) -> String {
    let title = |words: &str| format!("\n{} {}\n\n", style.paint("1;32", "No changes."), style.bold(words));
    if plan.manifest.errored {
        return "\nPlanning failed. OpenTofu encountered an error while generating this plan.\n\n".to_owned();
    }
    let (heading, words) = match plan.manifest.ui_mode {
        UiMode::Destroy => (
            title("No objects need to be destroyed."),
            "Either you have not created any objects yet or the existing objects were already deleted outside of OpenTofu.",
        ),
        // The text of the detected changes ends with its own note.
        UiMode::RefreshOnly if drifted => return String::new(),
        UiMode::RefreshOnly => (
            title("Your infrastructure still matches the configuration."),
            "OpenTofu has checked that the real remote objects still match the result of your most recent changes, and found \
             no differences.",
        ),
        UiMode::Normal if drifted => (
            title("Your infrastructure matches the configuration."),
            "The real objects match the configuration, but some of them differ from the state. Apply this plan to \
            update the state.",
        ),
        UiMode::Normal => (
            title("Your infrastructure matches the configuration."),
            "OpenTofu has compared your real infrastructure against your configuration and found no differences, so no \
             changes are needed.",
        ),
    };
    format!("{heading}{}\n", style.wrapped(words))
}

/// The detected changes. A refresh-only plan shows all of them. A destroy plan shows none, because it destroys the
/// objects anyway. Other plans show only the changes that affect the plan.
fn drift(plan: &PlanFile, style: &Style) -> String {
    if plan.manifest.ui_mode == UiMode::Destroy {
        return String::new();
    }
    let everything = plan.manifest.ui_mode == UiMode::RefreshOnly;
    let shown = |change: &ResourceChange| resource::change(change, &plan.schemas, Told::Drift, style);
    let told: Vec<String> = if plan.manifest.ui_mode == UiMode::RefreshOnly {
        plan.changes.drift.iter().map(shown).collect()
    } else if plan.changes.is_empty() {
        Vec::new()
    } else {
        drift::relevant(&plan.changes).iter().map(shown).collect()
    };
    if told.is_empty() {
        return String::new();
    }
    let note = style.paint("1;36", "Note:");
    let mut text = format!("\n{note} {}\n\n", style.bold("Objects have changed outside of OpenTofu"));
    text.push_str(
        &style.wrapped("OpenTofu detected the following changes made outside of OpenTofu since the last \"tofu apply\" which may have affected this plan:"),
    );
    text.push_str("\n\n");
    for change in told {
        text.push_str(&change);
        text.push_str("\n\n");
    }
    text.push('\n');
    text.push_str(&style.wrapped(if everything {
        "This is a refresh-only plan, so OpenTofu will not take any actions to undo these. If you were expecting these \
         changes then you can apply this plan to record the updated values in the OpenTofu state without changing any \
         remote objects."
    } else {
        "Unless you have made equivalent changes to your configuration, or ignored the relevant attributes using \
         ignore_changes, the following plan may include actions to undo or respond to these changes."
    }));
    text.push('\n');
    text
}
