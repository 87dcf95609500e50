//! `weft state replace-provider`: changes the provider of objects in the state.

use weft_evaluator::config::provider_source;
use weft_graph_format::address::{AbsResource, ProviderConfig, ProviderInstance, ProviderParts, ProviderSource};
use weft_graph_format::bare::BareResource;
use weft_state::StoredProvider;
use weft_state::tfstate::StateFile;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::commands::state::problems as state_problems;
use crate::edits::{Change, change, file_of};
use crate::exit::Exit;
use crate::options::switch;
use crate::prompt::Prompt;
use crate::render::events;
use crate::store::StoreLocation;
use crate::view::View;

/// The command.
pub const REPLACE_PROVIDER: Command = Command {
    words: &["state", "replace-provider"],
    alias: None,
    operands: "FROM TO",
    about: "Change the provider of objects",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::INPUT,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STATE_IN_PLACE,
        command::STORE,
        &[switch("auto-approve", "Do not ask for approval."), switch("ignore-remote-version", "")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: |arguments| {
        let unapproved = arguments.switch("json", false) && !arguments.switch("auto-approve", false);
        unapproved.then(state_problems::json_without_approval).into_iter().collect()
    },
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        replace(invocation).unwrap_or_else(|exit| exit)
    },
};

fn replace(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let [from, to] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::two_arguments()));
    };
    let source = |role: &str, text: &str| {
        provider_source(text).map_err(|problem| state_problems::invalid_provider(role, text, problem.detail))
    };
    let (from, to) = match (source("from", from), source("to", to)) {
        (Ok(from), Ok(to)) => (from, to),
        (from, to) => return Err(invocation.fail(&[from.err(), to.err()].into_iter().flatten().collect::<Vec<_>>())),
    };
    let place = StoreLocation::for_edit(invocation, "state-replace-provider", true)?;
    let approved = arguments.switch("auto-approve", false);
    let asks = invocation.asks_for_approval();
    let count = change(invocation, &place, |snapshot| {
        super::present(snapshot)?;
        let mut file = file_of(snapshot);
        let mut resources: Vec<AbsResource> = Vec::new();
        for record in file.instances.values_mut() {
            let Ok(provider) = record.provider.instance() else { continue };
            if provider.source != from {
                continue;
            }
            let replaced = ProviderParts { source: to.clone(), ..(**provider).clone() };
            record.provider = StoredProvider::from(&ProviderInstance::from(replaced));
            resources.extend(record.address.resource.is_valid().then(|| record.address.all()));
        }
        resources.extend(replace_of_bare(&mut file, &from, &to));
        resources.sort_by(|a, b| (a.module.0.len(), a).cmp(&(b.module.0.len(), b)));
        resources.dedup();
        if resources.is_empty() {
            return Ok((Change::Nothing, None));
        }
        announce(view, &from, &to, &resources);
        if !approved {
            if !asks {
                return Err(vec![state_problems::replacement_not_approved()]);
            }
            let question = "Do you want to make these changes?";
            match Prompt::colored(view).decide(question, "Only 'yes' will be accepted to continue.\n") {
                Some(true) => {}
                Some(false) => return Ok((Change::Nothing, Some(None))),
                None => {
                    return Err(vec![state_problems::no_answer()]);
                }
            }
        }
        Ok((Change::Content(Box::new(file)), Some(Some(resources.len()))))
    })?;
    match count {
        None => view.sentence("No matching resources found"),
        Some(None) => view.line("Cancelled replacing providers."),
        Some(Some(count)) => view.sentence(&format!("Successfully replaced provider for {count} resources")),
    }
    Ok(Exit::DONE)
}

/// Replaces the provider of resources without instances. Returns these resources.
fn replace_of_bare(file: &mut StateFile, from: &ProviderSource, to: &ProviderSource) -> Vec<AbsResource> {
    let mut bare = file.bare_resources();
    bare.retain(|bare| bare.provider.source == *from);
    for found in &bare {
        file.outputs.remove(&found.to_string());
        let provider = ProviderConfig { source: to.clone(), ..found.provider.clone() };
        let replaced = BareResource { provider, ..found.clone() };
        file.outputs.insert(replaced.to_string(), BareResource::record());
    }
    bare.into_iter().map(|bare| bare.resource).collect()
}

/// Prints the planned replacement. The text and colors are OpenTofu's, because scripts look for them.
fn announce(view: &View, from: &ProviderSource, to: &ProviderSource, resources: &[AbsResource]) {
    view.event(events::replace_provider(from, to, resources));
    if view.is_json() {
        return;
    }
    let code = |code: &str| view.escape(code);
    let reset = code("0");
    view.document(&format!(
        "OpenTofu will perform the following actions:\n\n  {}~{reset} Updating provider:{reset}\n    {}-{reset} \
         {}{reset}\n    {}+{reset} {}\n{reset}\n{}Changing{reset} {} resources:\n{reset}\n",
        code("33"),
        code("31"),
        from,
        code("32"),
        to,
        code("1"),
        resources.len()
    ));
    for resource in resources {
        view.document(&format!("  {resource}\n"));
    }
}
