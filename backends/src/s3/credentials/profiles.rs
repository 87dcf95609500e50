//! The profiles of the shared files, and the method by which a profile gets its credentials. The rules are the same as
//! in the AWS SDK.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Map, Value as Json};

use super::problems::ProfileProblem;

/// The minimum duration of a role's session in a profile, in seconds. A shorter duration counts as not set.
const SHORTEST_SESSION: u64 = 16 * 60;
/// The settings that name a source of credentials. A profile may have only one of these settings.
const SOURCES: [&str; 4] = ["source_profile", "credential_source", "credential_process", "web_identity_token_file"];
/// The settings of a login with SSO that names no session.
const SSO: [&str; 4] = ["sso_region", "sso_start_url", "sso_account_id", "sso_role_name"];

/// The settings of a section. The names are in lower case.
type Section = BTreeMap<String, String>;

/// The sections of the shared files. Sections with the same name are merged. If both kinds of files have a setting, the
/// credentials file takes precedence over the config file.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    profiles: BTreeMap<String, Section>,
    /// The `sso-session` sections.
    sessions: BTreeMap<String, Section>,
}

/// The source of the first credentials of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Keys in a file: id, secret, token.
    Keys(String, String, Option<String>),
    /// The source in `credential_source`.
    Named(String),
    /// A role, which is assumed with the token in a file.
    Token(Map<String, Json>, PathBuf),
    /// A login with SSO.
    Sso(Sso),
    /// A login with `aws login`.
    Login(String),
    /// The output of a command.
    Process(String),
    /// The container or instance in which the process runs.
    Surroundings,
}

/// An SSO role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sso {
    /// The profile.
    pub(super) profile: String,
    /// The name of the session, if the login has one. The token of a session can be renewed.
    pub(super) session: Option<String>,
    /// The URL at which users log in.
    pub(super) start_url: String,
    /// The region of the service.
    pub(super) region: String,
    /// The account.
    pub(super) account: String,
    /// The name of the role.
    pub(super) role: String,
}

/// The method by which a profile gets its credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The source of the first credentials.
    pub(super) base: Base,
    /// The roles to assume with the first credentials, in order.
    pub(super) roles: Vec<Map<String, Json>>,
}

/// The kind of the file that has a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Config,
    Credentials,
}

/// The section to which the following lines of a file belong.
enum Place {
    Profile(String),
    Session(String),
    Nowhere,
}

impl Profiles {
    /// Reads the files. Files that cannot be read have no profiles.
    pub(super) fn read(credentials: &[PathBuf], config: &[PathBuf]) -> Profiles {
        let mut found = Profiles::default();
        for (paths, kind) in [(config, Kind::Config), (credentials, Kind::Credentials)] {
            for text in paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()) {
                found.add(&text, kind);
            }
        }
        found
    }

    /// Whether a profile with this name exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.profiles.contains_key(name)
    }

    /// The method by which a profile gets its credentials.
    ///
    /// # Errors
    /// Returns an error if the profile is missing or incomplete.
    pub(super) fn way(&self, first: &str) -> Result<Way, ProfileProblem> {
        let mut roles = Vec::new();
        let mut seen = BTreeSet::new();
        // `serves`: whether the profile is the source of another profile.
        let (mut name, mut serves) = (first, false);
        loop {
            let Some(section) = self.profiles.get(name) else {
                return Err(ProfileProblem::Missing(name.to_owned()));
            };
            let again = !seen.insert(name);
            let profile = ChainedProfile { name, section, again };
            profile.check()?;
            roles.extend(profile.role()?);
            let source = profile.text("source_profile").filter(|_| !again);
            // A profile that is the source of another profile uses its own keys, if it has any.
            match source.filter(|_| !serves || profile.keys().is_none()) {
                Some(source) => (name, serves) = (source, true),
                None => {
                    let base = self.base(&profile)?;
                    if serves && base == Base::Surroundings {
                        let (name, first) = (name.to_owned(), first.to_owned());
                        return Err(ProfileProblem::NoCredentials { name, first });
                    }
                    if matches!(base, Base::Token(..)) {
                        // The base already contains the role of this profile.
                        roles.pop();
                    }
                    roles.reverse();
                    return Ok(Way { base, roles });
                }
            }
        }
    }

    fn base(&self, profile: &ChainedProfile<'_>) -> Result<Base, ProfileProblem> {
        if let Some((id, secret)) = profile.keys() {
            let token = profile.text("aws_session_token").map(str::to_owned);
            return Ok(Base::Keys(id.to_owned(), secret.to_owned(), token));
        }
        if let Some(source) = profile.text("credential_source") {
            return Ok(Base::Named(source.to_owned()));
        }
        if let Some(file) = profile.text("web_identity_token_file") {
            let role = profile.role()?;
            let role = role.ok_or_else(|| ProfileProblem::OwnSource(profile.name.to_owned()))?;
            return Ok(Base::Token(role, PathBuf::from(file)));
        }
        if profile.text("sso_session").is_some() || SSO.iter().any(|name| profile.text(name).is_some()) {
            return self.sso(profile).map(Base::Sso);
        }
        if let Some(session) = profile.text("login_session") {
            return Ok(Base::Login(session.to_owned()));
        }
        Ok(match profile.text("credential_process") {
            Some(command) => Base::Process(command.to_owned()),
            None => Base::Surroundings,
        })
    }

    fn sso(&self, profile: &ChainedProfile<'_>) -> Result<Sso, ProfileProblem> {
        let name = profile.name;
        let session = profile.text("sso_session");
        let section = match session {
            Some(session) => {
                let found = self.sessions.get(session.trim());
                found.ok_or_else(|| ProfileProblem::NoSession {
                    profile: name.to_owned(),
                    session: session.to_owned(),
                })?
            }
            None => profile.section,
        };
        let set = |section: &Section, key: &str| section.get(key).filter(|text| !text.is_empty()).cloned();
        for key in ["sso_region", "sso_start_url"] {
            let (own, of_session) = (set(profile.section, key), set(section, key));
            if own.is_some() && of_session.is_some() && own != of_session {
                return Err(ProfileProblem::OtherInSession { key, profile: name.to_owned() });
            }
        }
        let part = |section: &Section, key: &'static str| {
            set(section, key).ok_or_else(|| ProfileProblem::NotSet { profile: name.to_owned(), key })
        };
        Ok(Sso {
            profile: name.to_owned(),
            session: session.map(str::to_owned),
            start_url: part(section, "sso_start_url")?,
            region: part(section, "sso_region")?,
            account: part(profile.section, "sso_account_id")?,
            role: part(profile.section, "sso_role_name")?,
        })
    }

    /// Adds the sections of a file. In config files, names have the prefix `profile`, except for `default`.
    fn add(&mut self, text: &str, kind: Kind) {
        let mut place = Place::Nowhere;
        // Whether the last setting has no value. In that case, the following indented lines belong to that setting.
        let mut nests = false;
        for line in text.lines() {
            if line.trim_start().starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                place = placed(name, kind);
                if let Place::Profile(name) = &place {
                    // A section without settings is a profile too.
                    self.profiles.entry(name.clone()).or_default();
                }
                nests = false;
                continue;
            }
            let Some((key, value)) = property(line) else { continue };
            if line.starts_with([' ', '\t']) && nests {
                continue;
            }
            nests = value.is_empty();
            let section = match &place {
                Place::Profile(name) => self.profiles.entry(name.clone()).or_default(),
                Place::Session(name) => self.sessions.entry(name.clone()).or_default(),
                Place::Nowhere => continue,
            };
            section.insert(key, value);
        }
    }
}

/// A profile in a chain of source profiles.
struct ChainedProfile<'a> {
    name: &'a str,
    section: &'a Section,
    /// Whether the profile occurs a second time in the chain. The second time, only its own credentials are used.
    again: bool,
}

impl<'a> ChainedProfile<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        self.section.get(key).map(String::as_str).filter(|text| !text.is_empty())
    }

    fn keys(&self) -> Option<(&'a str, &'a str)> {
        Some((self.text("aws_access_key_id")?, self.text("aws_secret_access_key")?))
    }

    fn check(&self) -> Result<(), ProfileProblem> {
        let name = || self.name.to_owned();
        if self.text("aws_access_key_id").is_some() != self.text("aws_secret_access_key").is_some() {
            return Err(ProfileProblem::HalfKeys(name()));
        }
        if self.again {
            return Ok(());
        }
        let sources: Vec<&'static str> = SOURCES.into_iter().filter(|source| self.text(source).is_some()).collect();
        if let [first, second, ..] = sources.as_slice() {
            return Err(ProfileProblem::TwoSources { name: name(), first, second });
        }
        match sources.first() {
            Some(source) if *source != "credential_process" && self.text("role_arn").is_none() => {
                Err(ProfileProblem::NoRole { name: name(), key: source })
            }
            _ => Ok(()),
        }
    }

    /// The role that the profile names, in the form of the argument `assume_role`.
    fn role(&self) -> Result<Option<Map<String, Json>>, ProfileProblem> {
        let Some(role) = self.text("role_arn").filter(|_| !self.again) else { return Ok(None) };
        if self.text("mfa_serial").is_some() {
            return Err(ProfileProblem::Mfa(self.name.to_owned()));
        }
        let mut found = Map::from_iter([("role_arn".to_owned(), Json::from(role))]);
        for (key, setting) in [("role_session_name", "session_name"), ("external_id", "external_id")] {
            if let Some(value) = self.text(key) {
                found.insert(setting.to_owned(), value.into());
            }
        }
        let seconds = self.text("duration_seconds").and_then(|text| text.parse::<u64>().ok());
        if let Some(seconds) = seconds.filter(|seconds| *seconds >= SHORTEST_SESSION) {
            found.insert("duration".to_owned(), format!("{seconds}s").into());
        }
        Ok(Some(found))
    }
}

fn placed(name: &str, kind: Kind) -> Place {
    let name = name.split(['#', ';']).next().unwrap_or_default().trim();
    let (first, rest) = name.split_once([' ', '\t']).map_or(("", name), |(first, rest)| (first, rest.trim()));
    match (kind, first) {
        (Kind::Config, "profile") => Place::Profile(rest.to_owned()),
        (Kind::Config, "sso-session") => Place::Session(rest.to_owned()),
        (Kind::Config, "") if rest == "default" => Place::Profile(rest.to_owned()),
        (Kind::Credentials, "") => Place::Profile(rest.to_owned()),
        _ => Place::Nowhere,
    }
}

/// The name and the value of a setting, without comment and quotes.
fn property(line: &str) -> Option<(String, String)> {
    let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
    let line = line.get(..end)?;
    let (key, value) = line.split_at_checked(line.find(['=', ':'])?)?;
    let value = value.get(1..)?.trim();
    let unquoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    Some((key.trim().to_ascii_lowercase(), unquoted.unwrap_or(value).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profiles(config: &str, credentials: &str) -> Profiles {
        let mut found = Profiles::default();
        found.add(config, Kind::Config);
        found.add(credentials, Kind::Credentials);
        found
    }

    #[test]
    fn profiles_of_both_kinds_of_files() {
        let config = "# a comment\n[default]\nregion = eu\n[profile a]\nrole_arn=arn:x # why\nsource_profile : 'b'\n\
                      s3 =\n  max = 3\n[other]\nkey = ignored\n[profile  empty]\n[sso-session s]\nsso_region = r\n";
        let found = profiles(
            config,
            "[b]\naws_access_key_id = id\naws_secret_access_key = a=b\n[default]\nregion = us\n[profile c]\nx = y\n",
        );
        assert_eq!(found.profiles["a"]["role_arn"], "arn:x");
        assert_eq!(found.profiles["a"]["source_profile"], "b");
        assert_eq!(found.profiles["b"]["aws_secret_access_key"], "a=b");
        assert_eq!(found.profiles["default"]["region"], "us");
        assert_eq!(found.sessions["s"]["sso_region"], "r");
        assert!(!found.profiles["a"].contains_key("max"));
        for (name, there) in [("other", false), ("empty", true), ("c", false), ("profile c", false), ("s", false)] {
            assert_eq!(found.has(name), there, "{name}");
        }
    }

    /// The base and the roles of a result, as one text.
    fn shown(way: Result<Way, ProfileProblem>) -> String {
        match way {
            Ok(Way { base, roles }) => {
                let roles: Vec<&str> = roles.iter().filter_map(|role| role["role_arn"].as_str()).collect();
                format!("{base:?} {roles:?}")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn ways_to_credentials() {
        const KEYS: &str = "aws_access_key_id = i\naws_secret_access_key = s\n";
        for (config, want) in [
            ("[profile p]\nregion = x", "Surroundings []".to_owned()),
            (&format!("[profile p]\n{KEYS}aws_session_token = t"), r#"Keys("i", "s", Some("t")) []"#.to_owned()),
            // A role in a profile with keys is assumed with these keys.
            (&format!("[profile p]\n{KEYS}role_arn = r"), r#"Keys("i", "s", None) ["r"]"#.to_owned()),
            ("[profile p]\nrole_arn = r", r#"Surroundings ["r"]"#.to_owned()),
            (
                &format!("[profile p]\nrole_arn = r\nsource_profile = q\n[profile q]\n{KEYS}"),
                r#"Keys("i", "s", None) ["r"]"#.to_owned(),
            ),
            (
                &format!(
                    "[profile p]\nrole_arn = r1\nsource_profile = q\n[profile q]\nrole_arn = r2\nsource_profile = s\n\
                     [profile s]\n{KEYS}"
                ),
                r#"Keys("i", "s", None) ["r2", "r1"]"#.to_owned(),
            ),
            // A profile can be its own source.
            (
                &format!("[profile p]\nrole_arn = r\nsource_profile = p\n{KEYS}"),
                r#"Keys("i", "s", None) ["r"]"#.to_owned(),
            ),
            ("[profile p]\nrole_arn = r\ncredential_source = Environment", r#"Named("Environment") ["r"]"#.to_owned()),
            ("[profile p]\ncredential_process = x y", r#"Process("x y") []"#.to_owned()),
            ("[profile p]\nlogin_session = arn:l", r#"Login("arn:l") []"#.to_owned()),
            (
                "[profile p]\nrole_arn = r\nweb_identity_token_file = f",
                r#"Token({"role_arn": String("r")}, "f") []"#.to_owned(),
            ),
            (
                "[profile p]\nrole_arn = r1\nsource_profile = q\n[profile q]\nrole_arn = r\nweb_identity_token_file = f",
                r#"Token({"role_arn": String("r")}, "f") ["r1"]"#.to_owned(),
            ),
            ("[profile q]", "there is no profile \"p\"".to_owned()),
            ("[profile p]\nrole_arn = r\nsource_profile = q", "there is no profile \"q\"".to_owned()),
            (
                "[profile p]\nrole_arn = r\nsource_profile = q\n[profile q]\nregion = x",
                "the profile \"q\" has no credentials for the profile \"p\"".to_owned(),
            ),
            (
                "[profile p]\nrole_arn = r\nsource_profile = q\n[profile q]\nrole_arn = r\nsource_profile = p",
                "the profile \"p\" has no credentials for the profile \"p\"".to_owned(),
            ),
            (
                "[profile p]\nsource_profile = q\n[profile q]",
                "the profile \"p\" has source_profile without role_arn".to_owned(),
            ),
            (
                "[profile p]\nrole_arn = r\nsource_profile = q\ncredential_source = Environment",
                "the profile \"p\" has both source_profile and credential_source".to_owned(),
            ),
            (
                "[profile p]\naws_access_key_id = i",
                "the profile \"p\" has only one of aws_access_key_id and aws_secret_access_key".to_owned(),
            ),
            (
                "[profile p]\nrole_arn = r\nmfa_serial = m",
                "the role of the profile \"p\" requires an MFA code (mfa_serial), which Weft does not support"
                    .to_owned(),
            ),
        ] {
            assert_eq!(shown(profiles(config, "").way("p")), want, "{config}");
        }
    }

    #[test]
    fn logins_with_sso() {
        let account = "sso_account_id = 1\nsso_role_name = n\n";
        let session = "[sso-session s]\nsso_region = r\nsso_start_url = u\n";
        let sso = |session: Option<&str>| Sso {
            profile: "p".to_owned(),
            session: session.map(str::to_owned),
            start_url: "u".to_owned(),
            region: "r".to_owned(),
            account: "1".to_owned(),
            role: "n".to_owned(),
        };
        for (config, want) in [
            (format!("[profile p]\nsso_session = s\n{account}{session}"), Ok(Base::Sso(sso(Some("s"))))),
            (format!("[profile p]\nsso_region = r\nsso_start_url = u\n{account}"), Ok(Base::Sso(sso(None)))),
            (
                format!("[profile p]\nsso_session = x\n{account}{session}"),
                Err("the profile \"p\" names the SSO session \"x\", which is missing"),
            ),
            (
                format!("[profile p]\nsso_session = s\nsso_region = y\n{account}{session}"),
                Err("sso_region of the profile \"p\" differs from that of its SSO session"),
            ),
            (
                format!("[profile p]\nsso_session = s\nsso_role_name = n\n{session}"),
                Err("the profile \"p\" uses SSO, but sso_account_id is not set"),
            ),
            (
                format!("[profile p]\nsso_region = r\n{account}"),
                Err("the profile \"p\" uses SSO, but sso_start_url is not set"),
            ),
        ] {
            let found = profiles(&config, "").way("p").map(|way| way.base);
            assert_eq!(found.map_err(|problem| problem.to_string()), want.map_err(str::to_owned), "{config}");
        }
    }

    #[test]
    fn sessions_of_roles_are_long_enough() {
        for (seconds, want) in [("900", None), ("3600", Some("3600s")), ("x", None)] {
            let config = format!("[profile p]\nrole_arn = r\nduration_seconds = {seconds}\nexternal_id = e");
            let way = profiles(&config, "").way("p").unwrap();
            assert_eq!(way.roles[0].get("duration").and_then(Json::as_str), want);
            assert_eq!(way.roles[0]["external_id"], "e");
        }
    }
}
