//! The profiles of the shared files.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The settings of profiles by name. Those of the credentials files win over those of the config files.
#[derive(Debug, Default)]
pub(super) struct Profiles(BTreeMap<String, BTreeMap<String, String>>);

impl Profiles {
    /// Reads the files. Files that cannot be read have no profiles.
    pub(super) fn read(credentials: &[PathBuf], config: &[PathBuf]) -> Profiles {
        let mut found = Profiles::default();
        for (paths, is_config) in [(config, true), (credentials, false)] {
            for text in paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()) {
                found.add(&text, is_config);
            }
        }
        found
    }

    /// The settings of a profile.
    pub(super) fn get(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        self.0.get(name)
    }

    /// Adds the sections of a file. In config files, names have the prefix `profile`, except for `default`.
    fn add(&mut self, text: &str, is_config: bool) {
        let mut section: Option<String> = None;
        for line in text.lines() {
            let line = line.trim_end();
            if line.trim_start().starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                let name = name.trim();
                let named = name.strip_prefix("profile ").map(str::trim);
                section = match (is_config, named) {
                    (_, Some(named)) => Some(named.to_owned()),
                    (true, None) => Some(name.to_owned()).filter(|name| name == "default"),
                    (false, None) => Some(name.to_owned()),
                };
                continue;
            }
            // Indented lines belong to nested settings, which credentials do not have.
            let (Some(section), Some((key, value))) = (&section, line.split_once('=')) else { continue };
            if line.starts_with([' ', '\t']) {
                continue;
            }
            let value = value.split(" #").next().unwrap_or_default().trim();
            let profile = self.0.entry(section.clone()).or_default();
            profile.insert(key.trim().to_ascii_lowercase(), value.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_both_kinds_of_files() {
        let mut found = Profiles::default();
        let config = "# a comment\n[default]\nregion = eu\n[profile a]\nrole_arn=arn:x # why\nsource_profile = b\n\
                      s3 =\n  max = 3\n[other]\nkey = ignored\n";
        found.add(config, true);
        found.add("[b]\naws_access_key_id = id\naws_secret_access_key = a=b\n[default]\nregion = us\n", false);
        assert_eq!(found.get("a").unwrap()["role_arn"], "arn:x");
        assert_eq!(found.get("b").unwrap()["aws_secret_access_key"], "a=b");
        assert_eq!(found.get("default").unwrap()["region"], "us");
        assert!(found.get("other").is_none());
        assert!(!found.get("a").unwrap().contains_key("max"));
    }
}
