//! The names of keys. All keys of one workspace of one state share a hash tag.

use crate::run::{Digest, RunId};

/// String: the time when the bucket of a budget will be full. All states of a server share budgets, because they share
/// the accounts of providers.
pub(super) fn budget(name: &str) -> String {
    format!("weft:budget:{}", Digest::of(name.as_bytes()).hex())
}

/// The kinds of fields that the hash of a run may have in large numbers, by the prefixes of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunField {
    /// Operation to status and result.
    Op,
    /// Subject to mode: the claims of the run.
    Own,
    /// Subject to the revision at which the run wrote it.
    Wrote,
}

impl RunField {
    /// All kinds.
    pub(super) const ALL: [RunField; 3] = [RunField::Op, RunField::Own, RunField::Wrote];

    /// The prefix of the names.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            RunField::Op => "op:",
            RunField::Own => "own:",
            RunField::Wrote => "wrote:",
        }
    }
}

/// The keys of one workspace.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(state: &str, workspace: &str) -> Keys {
        Keys { prefix: format!("weft:{{{state}/{workspace}}}:") }
    }

    /// The pattern of the meta records of all workspaces of a state, for SCAN.
    pub(super) fn pattern(state: &str) -> String {
        Keys::new(state, "*").meta()
    }

    /// The workspace of the meta record with this key.
    pub(super) fn workspace<'key>(state: &str, meta: &'key str) -> Option<&'key str> {
        meta.strip_prefix(&format!("weft:{{{state}/"))?.strip_suffix("}:meta")
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Hash: identity, lineage, counters, check results.
    pub(super) fn meta(&self) -> String {
        self.key("meta")
    }

    /// Hash: address to revision and record.
    pub(super) fn records(&self) -> String {
        self.key("records")
    }

    /// Hash: output name to revision and record.
    pub(super) fn outputs(&self) -> String {
        self.key("outputs")
    }

    /// Hash: subject to revision, for present and removed subjects.
    pub(super) fn revisions(&self) -> String {
        self.key("revisions")
    }

    /// Hash: address to its dependencies.
    pub(super) fn dependencies(&self) -> String {
        self.key("dependencies")
    }

    /// Hash: subject to mode and runs.
    pub(super) fn claims(&self) -> String {
        self.key("claims")
    }

    /// Hash: object to open doubt.
    pub(super) fn doubts(&self) -> String {
        self.key("doubts")
    }

    /// Hash: run to time of creation.
    pub(super) fn runs(&self) -> String {
        self.key("runs")
    }

    /// Hash: the header, lease and counts of a run, its operations, its claims and its written revisions
    /// ([`RunField`]).
    pub(super) fn run(&self, run: &RunId) -> String {
        self.key(&format!("run:{run}"))
    }

    /// List: the journal.
    pub(super) fn journal(&self, run: &RunId) -> String {
        self.key(&format!("run:{run}:journal"))
    }

    /// Hash: digest to stray.
    pub(super) fn strays(&self, run: &RunId) -> String {
        self.key(&format!("run:{run}:strays"))
    }

    /// String: the plan file.
    pub(super) fn plan(&self, run: &RunId) -> String {
        self.key(&format!("run:{run}:plan"))
    }

    /// The keys for writes outside of any run, in the order of `writes.lua`. The keys of a run are empty.
    pub(super) fn of_no_run(&self) -> [String; 9] {
        let spare = |name: &str| self.key(&format!("edit:{name}"));
        [
            self.meta(),
            spare("run"),
            spare("journal"),
            self.records(),
            self.outputs(),
            self.revisions(),
            self.dependencies(),
            self.claims(),
            self.doubts(),
        ]
    }

    /// All keys of the workspace that do not belong to a run.
    pub(super) fn of_workspace(&self) -> Vec<String> {
        vec![
            self.meta(),
            self.runs(),
            self.records(),
            self.outputs(),
            self.revisions(),
            self.dependencies(),
            self.claims(),
            self.doubts(),
        ]
    }

    /// All keys of one run, its header first.
    pub(super) fn all_of(&self, run: &RunId) -> Vec<String> {
        vec![self.run(run), self.journal(run), self.strays(run), self.plan(run)]
    }
}
