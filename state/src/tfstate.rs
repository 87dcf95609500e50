//! Reads and writes state files of version 4.
//!
//! Reading accepts anything that OpenTofu or Terraform writes, and ignores unknown keys. Writing uses OpenTofu's own
//! layout, byte for byte, so that users can alternate between the tools without noise in a diff. The order of keys, and
//! the place of `provider`, are those of OpenTofu's version 4 writer: `provider` is on each instance if any instance of
//! the resource has a provider instance key. The member `weft_providers` has the memories of provider instances;
//! OpenTofu ignores this member and does not write it. Source: OpenTofu 1.12, `internal/states/statefile/version4.go`.

mod digit;
mod earlier;
mod owner;
mod problems;
mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weft_graph_format::address::ResourceMode;
use weft_graph_format::bare::BareResource;
use weft_graph_format::stored::is_provider_memory;

pub use digit::{FORMAT, FormatDigit, GUARDED_FORMAT, find_format_digit};
pub use earlier::as_version_4;
pub use problems::{Malformation, ObjectMalformation};

use crate::check::CheckRecord;
use crate::record::{InstanceRecord, OutputRecord};
use crate::result::Writes;

/// The version of OpenTofu whose file layout Weft writes, for `terraform_version`.
pub const WRITER_VERSION: &str = "1.12.6";
/// The lineage of a state whose file has none. The lineage is the same for all such states, so that all plans and runs
/// over a state agree. This lineage is never written.
const NO_LINEAGE: &str = "00000000-0000-0000-0000-000000000000";

/// A state file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateFileError {
    /// The text is not JSON, or not of the right shape.
    #[error("{place} is not a valid state file: {what}")]
    Malformed {
        /// The file.
        place: String,
        /// The problem.
        what: Malformation,
    },
    /// The file has a format version that Weft cannot read.
    #[error(
        "{place} has state format version {version}; Weft reads versions 1 to 4. {way_out}",
        way_out = if *.version < 4 {
            "Run `tofu refresh`, or `terraform refresh` of version 0.12 to 1.5, on this file once: the command \
             rewrites the file as version 4"
        } else {
            "The file was written by a newer tool"
        }
    )]
    Version {
        /// The file.
        place: String,
        /// The format version of the file.
        version: u64,
    },
    /// The file has the right shape, but invalid content. The problems have OpenTofu's summaries.
    #[error("{place} is not a valid state file: {}", ContentProblem::list(.problems))]
    Invalid {
        /// The file.
        place: String,
        /// All problems.
        problems: Vec<ContentProblem>,
    },
    /// The file is encrypted with an unknown method, or is encrypted where plain text is expected.
    #[error("{place} is encrypted: it must not be encrypted here, or this version of Weft does not support its method")]
    Encrypted {
        /// The file.
        place: String,
    },
}

/// A problem in the content of a state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentProblem {
    /// The summary: the kind of problem.
    pub summary: &'static str,
    /// The detail.
    pub detail: String,
}

impl ContentProblem {
    /// One line for a single problem, or a list for several.
    pub fn list(problems: &[ContentProblem]) -> String {
        let line = |problem: &ContentProblem| format!("{}: {}", problem.summary, problem.detail);
        match problems {
            [only] => line(only),
            several => {
                let lines: Vec<String> = several.iter().map(|problem| format!("- {}", line(problem))).collect();
                format!("{} problems:\n\n{}", several.len(), lines.join("\n"))
            }
        }
    }
}

/// The key of the memories of provider instances in the file.
const MEMORIES: &str = "weft_providers";

/// The content of a state file.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StateFile {
    /// The version of the tool that wrote the file.
    pub terraform_version: String,
    /// The serial, which grows by one with each change.
    pub serial: u64,
    /// A UUID that is created with the state. See [`StateFile::has_lineage`].
    pub lineage: String,
    /// The root outputs by name, and two kinds of entries that are stored like outputs: what Weft remembers about
    /// provider instances ([`is_provider_memory`]), and resources without instances ([`BareResource`]). In the file,
    /// the former have a separate key, and the latter are in the list of all resources.
    pub outputs: BTreeMap<String, OutputRecord>,
    /// Resource instances by address.
    pub instances: BTreeMap<String, InstanceRecord>,
    /// The results of checks. `None` is JSON null.
    pub checks: Option<Vec<CheckRecord>>,
}

impl StateFile {
    /// A new empty state with a random lineage and the serial 0.
    pub fn create() -> StateFile {
        StateFile {
            terraform_version: WRITER_VERSION.to_owned(),
            lineage: uuid::Uuid::new_v4().to_string(),
            ..StateFile::default()
        }
    }

    /// Whether the state has a lineage. States of early versions have no lineage, and never get one.
    pub fn has_lineage(&self) -> bool {
        !self.lineage.is_empty() && self.lineage != NO_LINEAGE
    }

    /// Parses the content of a file. `place` names the file in errors. Also accepts a file that a run of Weft guards
    /// (format version 9), and files of the format versions 1 to 3. JSON inside records is converted to its canonical
    /// form.
    ///
    /// # Errors
    /// See [`StateFileError`]. An empty file is an error here, so callers handle it first.
    pub fn parse(text: &[u8], place: &str) -> Result<StateFile, StateFileError> {
        let read = read::parse(text, place);
        match read {
            Err(StateFileError::Version { .. }) => match as_version_4(text, place)? {
                Some(lifted) => read::parse(&lifted, place),
                None => read,
            },
            read => read,
        }
    }

    /// The bytes of the file as OpenTofu would write it.
    pub fn to_bytes(&self) -> Vec<u8> {
        write::to_text(self).into_bytes()
    }

    /// Applies the writes of a step. Does not change the serial.
    pub(crate) fn write(&mut self, writes: &Writes) {
        for write in &writes.instances {
            match &write.record {
                Some(record) => self.instances.insert(write.address.clone(), record.clone()),
                None => self.instances.remove(&write.address),
            };
        }
        for write in &writes.outputs {
            match &write.record {
                Some(record) => self.outputs.insert(write.name.clone(), record.clone()),
                None => self.outputs.remove(&write.name),
            };
        }
        if let Some(checks) = &writes.checks {
            self.checks.clone_from(checks);
        }
    }

    /// The outputs of the configuration, without the memories of provider instances and without bare resources.
    pub fn named_outputs(&self) -> impl Iterator<Item = (&String, &OutputRecord)> {
        self.outputs.iter().filter(|(name, _)| !is_provider_memory(name))
    }

    /// The resources that are listed without instances.
    pub fn bare_resources(&self) -> BTreeSet<BareResource> {
        let mut found: BTreeSet<BareResource> =
            self.outputs.keys().filter_map(|name| BareResource::of_name(name)).collect();
        if !found.is_empty() {
            let listed: BTreeSet<_> = self.instances.values().map(|record| record.address.all()).collect();
            found.retain(|bare| !listed.contains(&bare.resource));
        }
        found
    }

    /// Drops the memories of provider instances without objects.
    pub fn forget_unused_providers(&mut self) {
        let records = self.instances.values().filter(|record| record.mode() == ResourceMode::Managed);
        let used: BTreeSet<&str> = records.map(|record| record.provider.text()).collect();
        let is_kept =
            |name: &str| !is_provider_memory(name) || used.contains(name) || BareResource::of_name(name).is_some();
        self.outputs.retain(|name, _| is_kept(name));
    }

    /// Whether the state is empty.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty() && self.instances.is_empty() && self.checks.is_none()
    }
}
