//! Profiles of Alibaba Cloud's command line tool.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// Why the file of the profiles is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProfileFileProblem {
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("{} is not a JSON document", path.display())]
    NotJson { path: PathBuf },
}

/// A profile.
#[derive(Clone, Default)]
pub(super) struct Profile(Json);

impl fmt::Debug for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Profile")
    }
}

impl Profile {
    /// Reads the profile with this name from a file. If the file does not exist, the profile is empty.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not JSON.
    pub(super) fn read(path: &Path, name: &str) -> Result<Profile, ProfileFileProblem> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Profile::default()),
            Err(error) => return Err(ProfileFileProblem::Unreadable { path: path.to_owned(), error }),
        };
        let document: Json =
            serde_json::from_str(&text).map_err(|_| ProfileFileProblem::NotJson { path: path.to_owned() })?;
        Ok(Profile::of_document(&document, name))
    }

    fn of_document(document: &Json, name: &str) -> Profile {
        let mut profiles = document.get("profiles").and_then(Json::as_array).into_iter().flatten();
        let named = |profile: &&Json| profile.get("name").and_then(Json::as_str) == Some(name);
        Profile(profiles.rfind(named).cloned().unwrap_or_default())
    }

    /// A value of the profile. `None` if the value has no meaning in the mode of the profile.
    fn value(&self, key: &str) -> Option<&Json> {
        let mode = self.0.get("mode")?.as_str()?;
        let has = match key {
            "access_key_id" | "access_key_secret" => mode != "EcsRamRole",
            "ram_role_name" => mode == "EcsRamRole",
            "sts_token" => mode == "StsToken",
            "ram_role_arn" | "ram_session_name" | "expired_seconds" => mode == "RamRoleArn",
            _ => true,
        };
        self.0.get(key).filter(|_| has)
    }

    /// A string that is not empty.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.value(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// A whole number other than 0.
    pub(super) fn number(&self, key: &str) -> Option<i64> {
        self.value(key)?.as_i64().filter(|number| *number != 0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn modes_decide_what_a_profile_has() {
        let profile = |mode: &str| {
            json!({
                "name": mode, "mode": mode, "access_key_id": "id", "sts_token": "token", "ram_role_name": "machine",
                "ram_role_arn": "arn", "expired_seconds": 900, "region_id": "cn-beijing",
            })
        };
        let document = json!({ "profiles": [
            profile("AK"), profile("StsToken"), profile("EcsRamRole"), profile("RamRoleArn"),
            { "name": "none", "access_key_id": "id" },
        ]});
        let keys = ["access_key_id", "sts_token", "ram_role_name", "ram_role_arn", "region_id"];
        for (name, want) in [
            ("AK", "id - - - cn-beijing"),
            ("StsToken", "id token - - cn-beijing"),
            ("EcsRamRole", "- - machine - cn-beijing"),
            ("RamRoleArn", "id - - arn cn-beijing"),
            ("none", "- - - - -"),
            ("absent", "- - - - -"),
        ] {
            let found = Profile::of_document(&document, name);
            let have = keys.map(|key| found.text(key).unwrap_or_else(|| "-".to_owned())).join(" ");
            assert_eq!(have, want, "{name}");
            assert_eq!(found.number("expired_seconds"), (name == "RamRoleArn").then_some(900));
        }
    }
}
