//! `weft runs settle`: settles the operations in doubt of a run, one at a time.

use std::io::IsTerminal as _;

use serde_json::json;
use weft_coordinator::event::Decision;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::choice::{commands, quoted, width};
use weft_state::{Choice, IdOwners, RunId};

use super::doubts::{Desk, OpenDoubt, Settled, outcome};
use super::file::{DocumentProblem, FORMAT_VERSION, Resolutions};
use super::{LIST, PLACE, problems, run_id};
use crate::command::{self, Command, CommandResult, Invocation};
use crate::exit::Exit;
use crate::options::{switch_on, text};
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::store::Access;

/// The command.
pub const SETTLE: Command = Command {
    words: &["runs", "settle"],
    operands: "[RUN]",
    about: "Settle the operations in doubt of a run one by one",
    flags: &[
        command::VIEW,
        command::JSON_DOCUMENT,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STORE,
        command::COORDINATOR_OF_RUNS,
        command::TLS,
        PLACE,
        &[
            text("resolutions", "FILE", "Take the decisions from FILE, a JSON document, instead of asking."),
            text("plugin-dir", "DIR", "Also look for provider packages in DIR. Can be repeated."),
            switch_on("input", "Print the doubts instead of asking."),
        ],
    ],
    run: |invocation| invocation.conclude(block_on(settle(invocation))),
    ..LIST
};

/// A possible decision about a doubt.
struct Offer {
    /// The text that the user types as an answer. With a dash before it, the text is an option of `weft runs resolve`.
    usage: String,
    meaning: &'static str,
}

fn offered(doubt: &OpenDoubt) -> Vec<Offer> {
    let found = doubt.candidate.iter().map(|found| {
        let usage = format!("{} {}", Choice::Adopt.word(), found.id);
        Offer { usage, meaning: "it is the object that was found" }
    });
    let fitting = doubt
        .decisions()
        .iter()
        .map(|choice| Offer { usage: choice.usage().to_owned(), meaning: choice.meaning(doubt.action.kind()) });
    found.chain(fitting).collect()
}

async fn settle(invocation: &Invocation<'_>) -> CommandResult {
    let Invocation { arguments, view, .. } = invocation;
    if arguments.positionals.len() > 1 {
        return Ok(invocation.mistake(&problems::run_id_expected()));
    }
    let one = |problem: Diagnostic| vec![problem];
    let named = arguments.positionals.first().map(String::as_str).map(run_id).transpose()?;
    if let Some(path) = arguments.value("resolutions") {
        return settle_as_written(invocation, path, Resolutions::read(path).map_err(one)?, named).await;
    }
    let json = arguments.switch("json", false);
    let access = if json { Access::Read } else { Access::Change };
    let Some(mut desk) = Desk::open(invocation, named, access).await? else {
        if json {
            view.document(&document(None, &[]));
        } else {
            view.line("Nothing is in doubt.");
        }
        return Ok(Exit::DONE);
    };
    let doubts = desk.doubts().await?;
    if json {
        view.document(&document(Some(&desk.run), &doubts));
        return Ok(if doubts.is_empty() { Exit::DONE } else { Exit::FAILED });
    }
    let doubts = looked_up(&mut desk, doubts).await?;
    if doubts.is_empty() {
        return Ok(concluded_well(invocation, &desk.run));
    }
    if !invocation.asks() || !std::io::stdin().is_terminal() {
        doubts.iter().for_each(|doubt| view.line(&typed(doubt, &desk.run)));
        return Err(vec![problems::nothing_settled(&desk.run, doubts.len())]);
    }
    let left = ask(&mut desk, doubts).await?;
    if left == 0 {
        return Ok(concluded_well(invocation, &desk.run));
    }
    view.line(&format!("\nStill in doubt: {left}. To continue with them: weft runs settle {}", desk.run));
    Ok(Exit::FAILED)
}

fn concluded_well(invocation: &Invocation<'_>, run: &RunId) -> Exit {
    invocation.view.line(&format!("Nothing is in doubt in run {run}. To continue it: weft runs resume {run}"));
    Exit::DONE
}

/// Looks up the objects in doubt. Reports doubts that the look-up has settled, and returns the remaining ones.
async fn looked_up(desk: &mut Desk<'_, '_>, before: Vec<OpenDoubt>) -> Result<Vec<OpenDoubt>, Vec<Diagnostic>> {
    if before.is_empty() {
        return Ok(before);
    }
    let left = desk.look_up().await?;
    for doubt in settled_by_evidence(&before, &left) {
        desk.say(&format!("{} is settled: its outcome was found.", doubt.name()));
    }
    Ok(left)
}

/// The doubts of `before` that are no longer in `left`.
fn settled_by_evidence<'d>(before: &'d [OpenDoubt], left: &[OpenDoubt]) -> Vec<&'d OpenDoubt> {
    let left: std::collections::BTreeSet<u32> = left.iter().map(|doubt| doubt.operation).collect();
    before.iter().filter(|doubt| !left.contains(&doubt.operation)).collect()
}

/// Carries out the decisions in a file.
async fn settle_as_written(
    invocation: &Invocation<'_>,
    path: &str,
    written: Resolutions,
    named: Option<RunId>,
) -> CommandResult {
    let run = written.run().map_err(|problem| vec![problem])?;
    if named.is_some_and(|named| named != run) {
        return Err(vec![problems::resolutions_invalid(path, &[DocumentProblem::OtherRun(run)])]);
    }
    let Some(mut desk) = Desk::open(invocation, Some(run), Access::Change).await? else {
        return Err(vec![problems::no_runs()]);
    };
    let doubts = desk.doubts().await?;
    let owners = desk.owners().await?;
    let decisions =
        written.matched(&doubts, &owners).map_err(|wrong| vec![problems::resolutions_invalid(path, &wrong)])?;
    let settled = if decisions.is_empty() { Vec::new() } else { desk.settle(decisions).await? };
    let mut still = Vec::new();
    for settled in &settled {
        match settled.is_settled() {
            true => invocation.view.line(&format!("{} is settled: {}.", settled.name, outcome(settled))),
            false => still.push(problems::still_in_doubt(&settled.name, &settled.reason).about(&settled.name)),
        }
    }
    let left = doubts.len() - settled.iter().filter(|settled| settled.is_settled()).count();
    if left == 0 {
        return Ok(concluded_well(invocation, &desk.run));
    }
    if still.is_empty() {
        still.push(problems::nothing_settled(&desk.run, left));
    }
    Err(still)
}

/// Asks about each doubt, and carries out each decision immediately. Returns the number of remaining doubts.
async fn ask(desk: &mut Desk<'_, '_>, doubts: Vec<OpenDoubt>) -> Result<usize, Vec<Diagnostic>> {
    let (count, prompt) = (doubts.len(), Prompt::new());
    let mut left = count;
    for (place, doubt) in doubts.into_iter().enumerate() {
        let question = format!("{} of {count}: {}", place + 1, doubt.name());
        loop {
            let Some(answer) = prompt.answer(&question, &explained(&doubt), false) else { return Ok(left) };
            let decision = match decision(&answer, &doubt, &desk.owners().await?) {
                Ok(Answer::Skip) => break,
                Ok(Answer::Quit) => return Ok(left),
                Ok(Answer::Decided(decision)) => decision,
                Err(problem) => {
                    desk.report(&problem);
                    continue;
                }
            };
            let settled = desk.settle(vec![(doubt.clone(), decision)]).await?;
            let Some(settled) = settled.first() else { break };
            if settled.is_settled() {
                desk.say(&told(settled));
                left -= 1;
                break;
            }
            desk.report(&problems::still_in_doubt(&settled.name, &settled.reason));
        }
    }
    Ok(left)
}

fn told(settled: &Settled) -> String {
    format!("{} is settled: {}.", settled.name, outcome(settled))
}

/// An answer of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Decided(Decision),
    Skip,
    Quit,
}

/// Parses an answer.
///
/// # Errors
/// Returns an error if the answer is not one of the offered ones, or if it does not fit the doubt.
fn decision(answer: &str, doubt: &OpenDoubt, owners: &IdOwners) -> Result<Answer, Diagnostic> {
    let (word, rest) = answer.split_once(char::is_whitespace).unwrap_or((answer, ""));
    let rest = rest.trim();
    let decision = match (word, rest.is_empty()) {
        ("adopt", false) => Decision::Adopt(rest.to_owned()),
        ("absent", true) => Decision::Absent,
        ("retry", true) => Decision::Retry,
        ("forget", true) => Decision::Forget,
        ("skip", true) => return Ok(Answer::Skip),
        ("quit", true) => return Ok(Answer::Quit),
        _ => return Err(problems::answer_unknown(answer, doubt.decisions())),
    };
    doubt.check(&decision, owners)?;
    Ok(Answer::Decided(decision))
}

/// The explanation of a question: what is known about a doubt, and the possible answers.
fn explained(doubt: &OpenDoubt) -> String {
    let reason = if doubt.reason.is_empty() { "nothing was reported" } else { doubt.reason.as_str() };
    let mut text = format!("The outcome of its {} is unknown: {reason}.\n", doubt.action);
    text.push_str(&attributes(doubt, ""));
    let offers = offered(doubt);
    let width = width(offers.iter().map(|offer| offer.usage.as_str()));
    for Offer { usage, meaning } in offers {
        text.push_str(&format!("\n{usage:<width$}  {meaning}"));
    }
    text.push_str(&format!("\n{:<width$}  decide later", "skip"));
    text.push_str(&format!("\n{:<width$}  leave this and all others in doubt", "quit"));
    text
}

/// The attributes of the object that a look-up found, one per line.
fn attributes(doubt: &OpenDoubt, indent: &str) -> String {
    let Some(found) = &doubt.candidate else { return String::new() };
    let line = |(name, value): &(String, String)| format!("\n{indent}  {name} = {value}");
    found.attributes.iter().map(line).collect::<String>() + if indent.is_empty() { "\n" } else { "" }
}

/// Describes a doubt, with the commands that settle it.
fn typed(doubt: &OpenDoubt, run: &RunId) -> String {
    let reason = if doubt.reason.is_empty() { String::new() } else { format!(": {}", doubt.reason) };
    let name = doubt.name();
    let mut text = format!("{name}\n  The outcome of its {} is unknown{reason}.", doubt.action);
    text.push_str(&attributes(doubt, "  "));
    let offers: Vec<Offer> = offered(doubt)
        .into_iter()
        .map(|offer| match offer.usage.split_once(' ') {
            Some((word, id)) if id != "ID" => Offer { usage: format!("{word} {}", quoted(id)), ..offer },
            _ => offer,
        })
        .collect();
    let offers = offers.iter().map(|offer| (offer.usage.as_str(), offer.meaning));
    for command in commands(run.as_str(), &name, offers) {
        text.push_str(&format!("\n  {command}"));
    }
    text
}

/// The doubts as a JSON document. The fields `address` and `deposed` have the same form as in a file of decisions. The
/// entries of such a file must not have the other fields of a doubt.
fn document(run: Option<&RunId>, doubts: &[OpenDoubt]) -> String {
    let entry = |doubt: &OpenDoubt| {
        let mut entry = json!({
            "address": doubt.address,
            "action": doubt.action,
            "reason": doubt.reason,
            "decisions": doubt.decisions().iter().map(|choice| choice.word()).collect::<Vec<_>>(),
        });
        if let Some(key) = &doubt.deposed {
            entry["deposed"] = key.as_str().into();
        }
        entry
    };
    let doubts: Vec<_> = doubts.iter().map(entry).collect();
    let document = json!({ "format_version": FORMAT_VERSION, "run": run.map(RunId::as_str), "doubts": doubts });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_coordinator::doubts::KnownDoubt;
    use weft_protocol::Candidate;

    use super::*;

    fn doubt(action: &str) -> OpenDoubt {
        OpenDoubt {
            operation: 3,
            address: "aws_instance.web".to_owned(),
            instance: "aws_instance.web".parse().ok(),
            deposed: None,
            action: action.into(),
            reason: "its worker is gone".to_owned(),
            candidate: None,
        }
    }

    #[test]
    fn an_object_that_was_found_is_shown_and_offered() {
        let found = Candidate {
            reason: "an object with the id b exists, but it may be older than the operation".to_owned(),
            id: "b".to_owned(),
            attributes: vec![("id".to_owned(), "\"b\"".to_owned()), ("arn".to_owned(), "\"arn:x:b\"".to_owned())],
        };
        let known = KnownDoubt { reason: found.reason.clone(), candidate: Some(Box::new(found)) };
        let mut doubt = doubt("create");
        doubt.learn(known, &IdOwners::default());
        expect![[r#"
            The outcome of its create is unknown: an object with the id b exists, but it may be older than the operation.

              id = "b"
              arn = "arn:x:b"

            adopt b   it is the object that was found
            adopt ID  it exists, with this id
            absent    it does not exist; the operation is carried out again
            retry     carry the operation out again, and accept a possible duplicate
            forget    give up the operation, and leave the state as it is
            skip      decide later
            quit      leave this and all others in doubt"#]]
        .assert_eq(&explained(&doubt));
        let run = RunId::parse("run-1").unwrap();
        expect![[r#"
            aws_instance.web
              The outcome of its create is unknown: an object with the id b exists, but it may be older than the operation.
                id = "b"
                arn = "arn:x:b"
              weft runs resolve run-1 'aws_instance.web' -adopt 'b'  it is the object that was found
              weft runs resolve run-1 'aws_instance.web' -adopt ID   it exists, with this id
              weft runs resolve run-1 'aws_instance.web' -absent     it does not exist; the operation is carried out again
              weft runs resolve run-1 'aws_instance.web' -retry      carry the operation out again, and accept a possible duplicate
              weft runs resolve run-1 'aws_instance.web' -forget     give up the operation, and leave the state as it is"#]]
        .assert_eq(&typed(&doubt, &run));
    }

    #[test]
    fn only_what_fits_is_offered() {
        expect![[r#"
            The outcome of its provision is unknown: its worker is gone.

            absent    the operation had no effect; it is carried out again
            retry     carry the operation out again, and accept a possible duplicate
            forget    give up the operation, and leave the state as it is
            skip      decide later
            quit      leave this and all others in doubt"#]]
        .assert_eq(&explained(&doubt("provision")));
        let run = RunId::parse("run-1").unwrap();
        expect![[r#"
            aws_instance.web
              The outcome of its create is unknown: its worker is gone.
              weft runs resolve run-1 'aws_instance.web' -adopt ID  it exists, with this id
              weft runs resolve run-1 'aws_instance.web' -absent    it does not exist; the operation is carried out again
              weft runs resolve run-1 'aws_instance.web' -retry     carry the operation out again, and accept a possible duplicate
              weft runs resolve run-1 'aws_instance.web' -forget    give up the operation, and leave the state as it is"#]]
        .assert_eq(&typed(&doubt("create"), &run));
    }

    #[test]
    fn answers_are_decisions() {
        let answer = |text: &str, action: &str| decision(text, &doubt(action), &IdOwners::default());
        assert_eq!(answer("adopt i-1", "create"), Ok(Answer::Decided(Decision::Adopt("i-1".to_owned()))));
        assert_eq!(answer("retry", "provision"), Ok(Answer::Decided(Decision::Retry)));
        assert_eq!(answer("skip", "create"), Ok(Answer::Skip));
        assert_eq!(answer("quit", "create"), Ok(Answer::Quit));
        for wrong in ["adopt", "yes", "", "absent now"] {
            assert!(answer(wrong, "create").is_err(), "{wrong}");
        }
        assert!(answer("adopt i-1", "provision").is_err());
    }

    #[test]
    fn the_document_names_the_decisions_that_fit() {
        let run = RunId::parse("run-1").unwrap();
        let found: serde_json::Value = serde_json::from_str(&document(Some(&run), &[doubt("delete")])).unwrap();
        assert_eq!(found["doubts"][0]["decisions"], json!(["absent", "retry", "forget"]));
        assert_eq!((&found["run"], &found["format_version"]), (&json!("run-1"), &json!(1)));
    }
}
