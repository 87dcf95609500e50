//! Renders the change of one object: its reasons and its difference.

use std::collections::BTreeMap;

use weft_graph_format::address::{InstanceKey, ProviderSource, ResourceInstance, ResourceMode};
use weft_graph_format::changes::{ChangeAction, Importing, Reason, ResourceChange};
use weft_graph_format::graph::Action;
use weft_graph_format::schema::ProviderSchema;

use super::super::difference::{Pair, Printing, Reasons, object, of_gone, untyped_object};
use super::super::quoting::quoted;
use super::super::schemas::schema_of;
use super::super::show_json;
use super::super::style::Style;

/// The kind of a displayed change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// A planned change.
    Plan,
    /// A planned change with generated configuration.
    Generated,
    /// A change that was detected by the refresh.
    Drift,
}

/// The sign of an action, in three columns.
pub fn sign(action: ChangeAction, style: &Style) -> String {
    let (lead, parts): (&str, &[(&str, &str)]) = match action {
        ChangeAction::Only(Action::NoOp) => ("   ", &[]),
        ChangeAction::Only(Action::Create) => ("  ", &[("32", "+")]),
        ChangeAction::Only(Action::Read) => (" ", &[("36", "<=")]),
        ChangeAction::Only(Action::Update) => ("  ", &[("33", "~")]),
        ChangeAction::Only(Action::Delete) => ("  ", &[("31", "-")]),
        ChangeAction::Only(Action::Forget) => ("  ", &[("31", ".")]),
        ChangeAction::DeleteThenCreate => ("", &[("31", "-"), ("", "/"), ("32", "+")]),
        ChangeAction::CreateThenDelete => ("", &[("32", "+"), ("", "/"), ("31", "-")]),
        ChangeAction::ForgetThenCreate => ("", &[("31", "."), ("", "/"), ("32", "+")]),
    };
    let painted =
        parts.iter().map(|(code, text)| if code.is_empty() { (*text).to_owned() } else { style.paint(code, text) });
    lead.chars().map(String::from).chain(painted).collect()
}

/// The comment, the reasons and the block of one change, without a trailing newline.
pub fn change(
    change: &ResourceChange,
    schemas: &BTreeMap<ProviderSource, ProviderSchema>,
    told: Told,
    style: &Style,
) -> String {
    format!("{}{}", commented(&comment(change, told, style)), block(change, schemas, style))
}

/// Lines as comments above a block.
pub fn commented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  # {line}\n")).collect()
}

/// The block of one change, without a trailing newline.
pub fn block(change: &ResourceChange, schemas: &BTreeMap<ProviderSource, ProviderSchema>, style: &Style) -> String {
    let resource = &change.address.resource;
    let reasons = Reasons::new(&change.replace_paths);
    // An object that is only removed from the state does not change.
    let forgotten = change.action == ChangeAction::Only(Action::Forget);
    let after = if forgotten { &change.before } else { &change.after };
    let pair = Pair { before: Some(&change.before), after: Some(after) };
    let difference = match schema_of(schemas, &change.provider.source, resource.mode, &resource.type_name) {
        Some(schema) if change.action == ChangeAction::Only(Action::Delete) => {
            of_gone(object(pair, &schema.block, &reasons))
        }
        Some(schema) => object(pair, &schema.block, &reasons),
        None => untyped_object(pair, &reasons),
    };
    let block = if resource.mode == ResourceMode::Data { "data" } else { "resource" };
    // Weft shows the whole imported object, because no plan has shown it before.
    let printing = match change.importing {
        _ if forgotten => Printing::still(style),
        Some(_) => Printing::change(style).showing_all(),
        None => Printing::change(style),
    };
    let lead = if change.action == ChangeAction::ForgetThenCreate { "  " } else { "" };
    format!(
        "{lead}{} {block} {} {} {}",
        sign(change.action, style),
        quoted(&resource.type_name),
        quoted(&resource.name),
        printing.part(&difference, 0)
    )
}

fn moved_from(change: &ResourceChange) -> Option<&ResourceInstance> {
    change.previous_address.as_deref().filter(|previous| **previous != change.address)
}

/// The lines of the comment. The first line names the action. Each other line gives a reason or a detail.
pub fn comment(change: &ResourceChange, told: Told, style: &Style) -> Vec<String> {
    let name = match &change.deposed {
        Some(key) => format!("{} (deposed object {})", change.address, key.0),
        None => change.address.to_string(),
    };
    let moved = moved_from(change);
    if let (ChangeAction::Only(Action::NoOp), Some(previous)) = (change.action, moved) {
        let mut lines = vec![style.bold(&format!("{previous} has moved to {}", change.address))];
        lines.extend(origin(change, style));
        return lines;
    }
    let mut lines = vec![style.bold(&format!("{name} {}", what(change, told, style)))];
    if change.deposed.is_some() && told == Told::Plan {
        lines.push("(left over from a partially-failed replacement of this instance)".to_owned());
    }
    lines.extend(why(change).map(|reason| format!("({reason})")));
    if told == Told::Generated {
        lines.push("(config will be generated)".to_owned());
    }
    if let Some(previous) = moved {
        lines.push(format!("(moved from {previous})"));
    }
    lines.extend(origin(change, style));
    lines
}

/// The id or identity of an imported object, and a warning if it will be destroyed.
fn origin(change: &ResourceChange, style: &Style) -> Vec<String> {
    let Some(importing) = change.importing.as_deref() else { return Vec::new() };
    let mut lines: Vec<String> = match importing {
        Importing::Id(id) => vec![format!("(imported from \"{id}\")")],
        Importing::Identity(_) => {
            let named = show_json::importing(importing);
            let identity = format!("imported using resource identity: {:#}", named["identity"]);
            identity.lines().map(str::to_owned).collect()
        }
    };
    if matches!(change.action, ChangeAction::DeleteThenCreate | ChangeAction::CreateThenDelete) {
        lines.push(style.paint("33", "Warning: this will destroy the imported resource"));
    }
    lines
}

fn what(change: &ResourceChange, told: Told, style: &Style) -> String {
    let red = |words: &str| style.paint("1;31", words);
    if told == Told::Drift {
        return match change.action {
            ChangeAction::Only(Action::Delete) => "has been deleted".to_owned(),
            _ => "has changed".to_owned(),
        };
    }
    match change.action {
        ChangeAction::Only(Action::Create) => "will be created".to_owned(),
        ChangeAction::Only(Action::Read) => "will be read during apply".to_owned(),
        ChangeAction::Only(Action::Update) => "will be updated in-place".to_owned(),
        ChangeAction::Only(Action::Delete) => format!("will be {}", red("destroyed")),
        ChangeAction::Only(Action::Forget) => {
            // OpenTofu breaks the line here.
            let because = match change.reason {
                Reason::ForgotBecauseLifecycleDestroyInState => {
                    " \n (because lifecycle.destroy = false was configured before this resource was removed from the \
                     configuration)"
                }
                Reason::ForgotBecauseLifecycleDestroyInConfig => {
                    " \n (because lifecycle.destroy = false is set in the configuration)"
                }
                _ => "",
            };
            format!("will be removed from the OpenTofu state but will not be destroyed{because}")
        }
        ChangeAction::Only(Action::NoOp) if change.importing.is_some() => "will be imported".to_owned(),
        ChangeAction::Only(Action::NoOp) => "has not changed".to_owned(),
        _ => match change.reason {
            Reason::ReplaceBecauseTainted => format!("is tainted, so it must be {}", red("replaced")),
            Reason::ReplaceByRequest => format!("will be {}, as requested", red("replaced")),
            Reason::ReplaceByTriggers => format!("will be {} due to changes in replace_triggered_by", red("replaced")),
            _ if change.action == ChangeAction::ForgetThenCreate => {
                let replaced = red("replaced");
                format!("must be {replaced} - older instance will not be destroyed (lifecycle.destroy = false)")
            }
            _ => format!("must be {}", red("replaced")),
        },
    }
}

fn why(change: &ResourceChange) -> Option<String> {
    let address = &change.address;
    let forgotten = change.action == ChangeAction::Only(Action::Forget);
    Some(match change.reason {
        // The line about the `removed` block already says that nothing is destroyed.
        Reason::DeleteBecauseNoResourceConfig | Reason::DeleteBecauseNoModule if forgotten => return None,
        Reason::DeleteBecauseNoResourceConfig => format!("because {} is not in configuration", address.resource),
        Reason::DeleteBecauseNoMoveTarget => match &change.previous_address {
            Some(previous) => format!("because {previous} was moved to {address}, which is not in configuration"),
            None => format!("because {address}, which it was moved to, is not in configuration"),
        },
        Reason::DeleteBecauseNoModule => format!("because {} is not in configuration", address.module),
        Reason::DeleteBecauseWrongRepetition => match &address.key {
            InstanceKey::None => "because resource uses count or for_each".to_owned(),
            InstanceKey::Int(_) => "because resource does not use count".to_owned(),
            InstanceKey::String(_) => "because resource does not use for_each".to_owned(),
        },
        Reason::DeleteBecauseCountIndex => format!("because index {} is out of range for count", address.key),
        Reason::DeleteBecauseEachKey => format!("because key {} is not in for_each map", address.key),
        Reason::DeleteBecauseEnabledFalse => "because enabled is false".to_owned(),
        Reason::ReadBecauseConfigUnknown => "config refers to values not yet known".to_owned(),
        Reason::ReadBecauseDependencyPending => "depends on a resource or a module with changes pending".to_owned(),
        Reason::ReadBecauseCheckNested => "config will be reloaded to verify a check block".to_owned(),
        // The first line of the comment already gives these reasons.
        Reason::ForgotBecauseLifecycleDestroyInState
        | Reason::ForgotBecauseLifecycleDestroyInConfig
        | Reason::None
        | Reason::ReplaceBecauseCannotUpdate
        | Reason::ReplaceBecauseTainted
        | Reason::ReplaceByRequest
        | Reason::ReplaceByTriggers => return None,
    })
}
