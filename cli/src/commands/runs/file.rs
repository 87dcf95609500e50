//! Decisions about operations in doubt, in a file for pipelines.
//!
//! ```json
//! {
//!   "format_version": 1,
//!   "run": "run-3a8114e0413c0c77",
//!   "resolutions": [
//!     {"address": "aws_instance.web", "decision": "adopt", "id": "i-0abc12"},
//!     {"address": "aws_instance.db", "deposed": "0badcafe", "decision": "absent"}
//!   ]
//! }
//! ```
//!
//! All entries are checked before the first one is applied.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use weft_coordinator::event::Decision;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{IdOwners, RunId};

use super::doubts::OpenDoubt;
use super::problems;

/// The version of the format.
pub(super) const FORMAT_VERSION: u32 = 1;
/// The maximum size of a file. Decisions for ten thousand operations fit into it.
const MOST_BYTES: u64 = 8 << 20;

/// A file of decisions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resolutions {
    format_version: u32,
    /// The run that the decisions are for.
    run: String,
    resolutions: Vec<Entry>,
}

/// A decision about one operation in doubt.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    address: String,
    /// The key of the deposed object. Without it, the entry is about the current object.
    #[serde(default)]
    deposed: Option<String>,
    /// `adopt`, `absent`, `retry` or `forget`.
    decision: String,
    /// The id of the object to adopt.
    #[serde(default)]
    id: Option<String>,
}

/// Why a text is not a file of decisions.
#[derive(Debug, thiserror::Error)]
pub(super) enum DocumentProblem {
    #[error("it is larger than {MOST_BYTES} bytes")]
    TooLarge,
    #[error("it is not a JSON object")]
    NotAnObject,
    #[error("{0}")]
    Form(#[from] serde_json::Error),
    #[error("format_version is {0}, but this version of Weft reads only {FORMAT_VERSION}")]
    Version(u32),
    /// The decisions are for another run than the one that the command names.
    #[error("it is for run {0}")]
    OtherRun(RunId),
}

/// An entry that cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[error("resolutions[{place}] ({address}): {problem}")]
pub(super) struct InvalidEntry {
    place: usize,
    address: String,
    problem: EntryProblem,
}

/// Why an entry cannot be carried out.
#[derive(Debug, thiserror::Error)]
enum EntryProblem {
    #[error("this object is not in doubt")]
    NotInDoubt,
    /// The decision does not fit the doubt.
    #[error("{}", .0.detail)]
    Unfit(Box<Diagnostic>),
    #[error("it is listed twice")]
    Twice,
    #[error("another entry adopts {0} too")]
    AdoptedTwice(String),
    #[error("adopt needs an id")]
    NoId,
    #[error("{0} takes no id")]
    UnwantedId(String),
    #[error("the decision is {0:?}: use adopt, absent, retry or forget")]
    Decision(String),
}

impl Resolutions {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is too large, or is not a valid document.
    pub(super) fn read(path: &str) -> Result<Resolutions, Diagnostic> {
        let unreadable = |error: std::io::Error| problems::resolutions_unreadable(path, &error);
        let size = std::fs::metadata(path).map_err(unreadable)?.len();
        if size > MOST_BYTES {
            return Err(problems::resolutions_invalid(path, &[DocumentProblem::TooLarge]));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Resolutions::parse(&text).map_err(|why| problems::resolutions_invalid(path, &[why]))
    }

    fn parse(text: &str) -> Result<Resolutions, DocumentProblem> {
        // serde would also accept a JSON array, with the fields of the document in order.
        if !text.trim_start().starts_with('{') {
            return Err(DocumentProblem::NotAnObject);
        }
        let found: Resolutions = serde_json::from_str(text)?;
        match found.format_version {
            FORMAT_VERSION => Ok(found),
            other => Err(DocumentProblem::Version(other)),
        }
    }

    /// The run that the decisions are for.
    ///
    /// # Errors
    /// Returns an error if the text is not the id of a run.
    pub(super) fn run(&self) -> Result<RunId, Diagnostic> {
        RunId::parse(&self.run).ok_or_else(|| problems::invalid_run_id(&self.run))
    }

    /// Each decision with its doubt, if all decisions can be carried out.
    ///
    /// # Errors
    /// Returns the problems of the entries, one for each invalid entry.
    pub(super) fn matched(
        self,
        doubts: &[OpenDoubt],
        owners: &IdOwners,
    ) -> Result<Vec<(OpenDoubt, Decision)>, Vec<InvalidEntry>> {
        let by_object: BTreeMap<(&str, Option<&str>), &OpenDoubt> =
            doubts.iter().map(|doubt| ((doubt.address.as_str(), doubt.deposed.as_deref()), doubt)).collect();
        let (mut matched, mut wrong) = (Vec::new(), Vec::new());
        let (mut named, mut adopted) = (BTreeSet::new(), BTreeSet::new());
        for (place, entry) in self.resolutions.into_iter().enumerate() {
            let invalid = |problem| InvalidEntry { place, address: entry.address.clone(), problem };
            let checked = entry.decision().and_then(|decision| {
                let key = (entry.address.as_str(), entry.deposed.as_deref());
                let doubt = by_object.get(&key).ok_or(EntryProblem::NotInDoubt)?;
                doubt.check(&decision, owners).map_err(|problem| EntryProblem::Unfit(Box::new(problem)))?;
                Ok(((*doubt).clone(), decision))
            });
            match checked {
                Err(problem) => wrong.push(invalid(problem)),
                Ok((doubt, _)) if !named.insert(doubt.name()) => wrong.push(invalid(EntryProblem::Twice)),
                Ok((doubt, decision)) => {
                    let kind = doubt.instance.as_ref().map(|address| address.resource.type_name.clone());
                    if let Decision::Adopt(id) = &decision
                        && !adopted.insert((kind, id.clone()))
                    {
                        wrong.push(invalid(EntryProblem::AdoptedTwice(id.clone())));
                    }
                    matched.push((doubt, decision));
                }
            }
        }
        if wrong.is_empty() { Ok(matched) } else { Err(wrong) }
    }
}

impl Entry {
    fn decision(&self) -> Result<Decision, EntryProblem> {
        match (self.decision.as_str(), self.id.as_deref()) {
            ("adopt", Some(id)) if !id.is_empty() => Ok(Decision::Adopt(id.to_owned())),
            ("adopt", _) => Err(EntryProblem::NoId),
            ("absent" | "retry" | "forget", Some(_)) => Err(EntryProblem::UnwantedId(self.decision.clone())),
            ("absent", None) => Ok(Decision::Absent),
            ("retry", None) => Ok(Decision::Retry),
            ("forget", None) => Ok(Decision::Forget),
            (other, _) => Err(EntryProblem::Decision(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt(address: &str, action: &str, deposed: Option<&str>) -> OpenDoubt {
        OpenDoubt {
            operation: 1,
            address: address.to_owned(),
            instance: address.parse().ok(),
            deposed: deposed.map(str::to_owned),
            action: action.into(),
            reason: String::new(),
            candidate: None,
        }
    }

    fn matched(entries: &str) -> Result<Vec<(String, Decision)>, Vec<InvalidEntry>> {
        let text = format!(r#"{{"format_version": 1, "run": "run-1", "resolutions": [{entries}]}}"#);
        let doubts = [
            doubt("a.b", "create", None),
            doubt("a.c", "provision", None),
            doubt("a.d", "delete", Some("0badcafe")),
            doubt("a.e", "create", None),
        ];
        let matched = Resolutions::parse(&text).unwrap().matched(&doubts, &IdOwners::default())?;
        Ok(matched.into_iter().map(|(doubt, decision)| (doubt.name(), decision)).collect())
    }

    #[test]
    fn each_entry_is_matched_with_its_doubt() {
        let found = matched(
            r#"{"address": "a.b", "decision": "adopt", "id": "i-1"}, {"address": "a.c", "decision": "retry"},
               {"address": "a.d", "deposed": "0badcafe", "decision": "absent"}"#,
        );
        let wanted = [
            ("a.b".to_owned(), Decision::Adopt("i-1".to_owned())),
            ("a.c".to_owned(), Decision::Retry),
            ("a.d (deposed object 0badcafe)".to_owned(), Decision::Absent),
        ];
        assert_eq!(found.unwrap(), wanted);
    }

    #[test]
    fn every_wrong_entry_is_named() {
        let found = matched(
            r#"{"address": "a.c", "decision": "adopt", "id": "i-1"}, {"address": "a.x", "decision": "retry"},
               {"address": "a.b", "decision": "adopt"}, {"address": "a.b", "decision": "keep"},
               {"address": "a.b", "decision": "absent", "id": "i-1"}, {"address": "a.d", "decision": "retry"},
               {"address": "a.b", "decision": "adopt", "id": "i-1"}, {"address": "a.b", "decision": "forget"},
               {"address": "a.e", "decision": "adopt", "id": "i-1"}"#,
        );
        expect_test::expect![[r#"
            resolutions[0] (a.c): adopt does not fit a.c, because the operation in doubt is provision. Use one of absent, retry, forget.
            resolutions[1] (a.x): this object is not in doubt
            resolutions[2] (a.b): adopt needs an id
            resolutions[3] (a.b): the decision is "keep": use adopt, absent, retry or forget
            resolutions[4] (a.b): absent takes no id
            resolutions[5] (a.d): this object is not in doubt
            resolutions[7] (a.b): it is listed twice
            resolutions[8] (a.e): another entry adopts i-1 too"#]]
        .assert_eq(&found.unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn only_a_resource_instance_can_adopt() {
        let other = doubt("not an address", "create", None);
        let adopt = Decision::Adopt("i-1".to_owned());
        let Err(problem) = other.check(&adopt, &IdOwners::default()) else { panic!("a problem") };
        assert_eq!(
            problem.detail,
            "not an address cannot adopt an object, because it is not the address of a resource instance."
        );
        assert_eq!(other.check(&Decision::Retry, &IdOwners::default()), Ok(()));
    }

    #[test]
    fn other_documents_are_refused() {
        let why = |text: &str| Resolutions::parse(text).unwrap_err().to_string();
        assert_eq!(why("[1, \"r\", []]"), "it is not a JSON object");
        assert!(why(r#"{"format_version": 2, "run": "r", "resolutions": []}"#).contains("format_version is 2"));
        assert!(why(r#"{"format_version": 1, "run": "r", "resolutions": [], "x": 1}"#).contains("unknown field"));
    }
}
