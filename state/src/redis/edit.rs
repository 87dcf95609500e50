//! EDIT: one script call for the whole edit. Edits are rare and manual, so a call may block the server longer than a
//! step: about 10 ms for a thousand instances.

use super::claims::ClaimParts;
use super::problems::Damage;
use super::scripts::Script;
use super::{RedisCore, random, steps};
use crate::edit::{Edit, EditAnswer};
use crate::error::StoreError;
use crate::step::ClaimAnswer;

/// The run id for writes outside of any run. It is not a valid id of a run.
const NO_RUN: &str = "no run";

impl RedisCore {
    /// See [`crate::store::RunStore::edit`].
    pub(super) async fn edit(&self, edit: &Edit) -> Result<EditAnswer, StoreError> {
        let keys = self.keys.of_no_run();
        let mut command = self.connection.scripts.call(Script::Edit, &keys);
        let (lineage, serial) = match &edit.identity {
            Some((lineage, serial)) => (lineage.as_str(), serial.to_string()),
            None => ("", String::new()),
        };
        command
            .arg(self.incarnation.to_string())
            .arg(format!("{:032x}", random()?))
            .arg(NO_RUN)
            .arg(edit.seen)
            .arg(lineage)
            .arg(serial);
        steps::add_writes(&mut command, &edit.writes, &self.seal)?;
        let words = self.connection.script(command).await?;
        match words.text(0).as_str() {
            "EDITED" => Ok(EditAnswer::Edited),
            "CHANGED" => Ok(EditAnswer::Changed { serial: self.number(&words, 1, "serial")? }),
            "HELD" => {
                let held = words.list(1).chunks_exact(3).map(<[String]>::to_vec).collect();
                match self.refusal(ClaimParts { fenced: None, stale: Vec::new(), held }).await? {
                    ClaimAnswer::Refused { held, doubts, .. } => Ok(EditAnswer::Refused { held, doubts }),
                    _ => Err(self.damaged(&self.keys.claims(), Damage::Claim)),
                }
            }
            _ => Err(self.damaged(&self.keys.meta(), Damage::OtherStore)),
        }
    }
}
