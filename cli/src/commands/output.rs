//! `weft output`: shows the outputs of the root module in the state.

use serde_json::{Map, Value as Json};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::stored::is_provider_memory;
use weft_graph_format::value::Kind;
use weft_state::{OutputRecord, Snapshot};

use super::state::current;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::render::events;
use crate::render::values;
use crate::view::View;

/// The command.
pub const OUTPUT: Command = Command {
    words: &["output"],
    alias: None,
    operands: "[NAME]",
    about: "Show output values of the root module",
    main: false,
    flags: &[
        command::VIEW,
        command::DOCUMENT,
        command::SENSITIVE,
        command::VARIABLES_UNLISTED,
        command::STORE,
        &[
            text("state", "FILE", "Read the state from FILE. [default: terraform.tfstate]"),
            switch("raw", "Print the value as it is, without quotes."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Hint,
    check: command::unchecked,
    events: false,
    run: |invocation| output(invocation).unwrap_or_else(|exit| exit),
};

fn output(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let (json, raw) = (arguments.switch("json", false), arguments.switch("raw", false));
    invocation.at_most(1, problems::output_arguments)?;
    if json && raw {
        return Err(invocation.mistake(&problems::raw_with_json()));
    }
    let name = arguments.positionals.first().filter(|name| !name.is_empty());
    if raw && name.is_none() {
        return Err(invocation.mistake(&problems::output_name_required()));
    }
    let state = current(invocation).map_err(|problems| invocation.fail(&problems))?;
    let mut outputs = state.map(|state| state.outputs).unwrap_or_default();
    outputs.retain(|name, _| !is_provider_memory(name));
    let Some(name) = name else {
        let all = || {
            let all: Map<String, Json> = outputs.iter().map(|(name, output)| (name.clone(), object(output))).collect();
            pretty(&Json::Object(all)) + "\n"
        };
        if invocation.document(all)? {
            return Ok(Exit::DONE);
        }
        if outputs.is_empty() {
            none_found(view);
        } else {
            let reveal = arguments.switch("show-sensitive", false);
            let lines: Vec<String> =
                outputs.iter().map(|(name, output)| format!("{name} = {}\n", values::stored(output, reveal))).collect();
            view.document(&lines.concat());
        }
        return Ok(Exit::DONE);
    };
    if outputs.is_empty() && !json {
        none_found(view);
        return Ok(Exit::DONE);
    }
    let Some(found) = outputs.get(name) else {
        return Err(invocation.fail(&[problems::unknown_output(name)]));
    };
    if invocation.document(|| parse(&found.value).to_string() + "\n")? {
        return Ok(Exit::DONE);
    }
    if raw {
        view.document(&plain(name, found).map_err(|problem| invocation.fail(&[problem]))?);
    } else {
        view.document(&(values::stored(found, true) + "\n"));
    }
    Ok(Exit::DONE)
}

/// Reports that the state has no outputs. The text is OpenTofu's, because scripts look for it.
fn none_found(view: &View) {
    view.warning_in_output(problems::no_outputs());
}

fn parse(raw: &weft_state::RawJson) -> Json {
    serde_json::from_str(raw.as_str()).unwrap_or(Json::Null)
}

fn object(output: &OutputRecord) -> Json {
    let mut object = Map::new();
    object.insert("sensitive".to_owned(), output.sensitive.into());
    if let Some(notice) = &output.deprecated {
        object.insert("deprecated".to_owned(), notice.clone().into());
    }
    object.insert("type".to_owned(), parse(&output.value_type));
    object.insert("value".to_owned(), parse(&output.value));
    Json::Object(object)
}

fn pretty(value: &Json) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn plain(name: &str, output: &OutputRecord) -> Result<String, Diagnostic> {
    let unsupported = |what: &str| Err(problems::no_raw_form(name, what));
    let Some(value) = values::decoded(output) else { return unsupported("damaged in the state") };
    match value.open().1 {
        Kind::String(text) => Ok(text.to_string()),
        Kind::Number(number) => Ok(number.to_string()),
        Kind::Bool(truth) => Ok(truth.to_string()),
        Kind::Null(_) => unsupported("null"),
        _ => unsupported("a collection"),
    }
}

/// Prints the outputs in the state.
pub fn show_outputs(invocation: &Invocation<'_>, snapshot: &Snapshot) {
    let view = &invocation.view;
    let outputs: Vec<_> = snapshot.named_outputs().map(|(name, stored)| (name.as_str(), &stored.record)).collect();
    view.event(events::stored_outputs(outputs.iter().copied()));
    if !outputs.is_empty() {
        let reveal = invocation.arguments.switch("show-sensitive", false);
        let lines: Vec<String> =
            outputs.iter().map(|(name, output)| format!("{name} = {}\n", values::stored(output, reveal))).collect();
        view.line(&format!("\nOutputs:\n\n{}", lines.concat()));
    }
}
