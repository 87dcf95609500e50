//! Reads the files into one configuration. If several files set `plugin_cache_dir`, the first file takes precedence.
//! Most other settings replace the same setting of an earlier file. A block replaces an earlier block with the same
//! label, but `provider_deadlines` blocks with the same label are merged. A second `provider_installation` or
//! `credentials_helper` is an error.

use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_providers::settings::{self, Item, Setting};
use weft_providers::source;

use super::deadlines;
use super::method::{InstallationMethod, MethodKind, SourcePattern};
use super::problems::{self, Fault, InstallationFault, MirrorUrlProblem};
use super::template::RepositoryTemplate;
use super::{CliConfig, Helper, OciCredentials};
use crate::host::Host;
use crate::secret::SecretString;

pub(super) struct Reader<'a> {
    file: PathBuf,
    working_directory: &'a Path,
    config: CliConfig,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(working_directory: &'a Path) -> Reader<'a> {
        Reader { file: PathBuf::new(), working_directory, config: CliConfig::default(), diagnostics: Vec::new() }
    }

    pub(super) fn finish(self) -> (CliConfig, Vec<Diagnostic>) {
        (self.config, self.diagnostics)
    }

    pub(super) fn report(&mut self, problem: Diagnostic) {
        self.diagnostics.push(problem);
    }

    pub(super) fn read_text(&mut self, text: &str, file: &Path) {
        self.file = file.to_owned();
        match settings::parse(text) {
            Ok(settings) => self.read(settings),
            Err(error) => self.error(error.line, Fault::Syntax(&error.problem)),
        }
    }

    fn error(&mut self, line: usize, fault: Fault<'_>) {
        self.diagnostics.push(problems::invalid(&self.file, line, fault));
    }

    fn installation_error(&mut self, line: usize, fault: InstallationFault<'_>) {
        self.error(line, Fault::Installation(fault));
    }

    /// Reads settings. Unknown ones (such as checkpoints) are ignored.
    fn read(&mut self, settings: Vec<Setting>) {
        for Setting { words, value, line } in settings {
            let (name, labels) = match words.split_first() {
                Some((name, labels)) => (name.as_str(), labels),
                None => continue,
            };
            match (name, labels, value) {
                ("plugin_cache_dir", [], value) => {
                    let path = value.as_text().map(|path| self.working_directory.join(expanded(path)));
                    self.config.plugin_cache_dir = self.config.plugin_cache_dir.take().or(path);
                }
                ("plugin_cache_may_break_dependency_lock_file", [], value) => {
                    self.config.plugin_cache_may_break |= is_true(&value);
                }
                ("provider_installation", [], Item::Object(methods)) => {
                    if self.config.installation.is_some() {
                        self.installation_error(line, InstallationFault::Several);
                    }
                    self.config.installation.get_or_insert_default();
                    self.methods(methods);
                }
                ("provider_installation", ..) => {
                    self.installation_error(line, InstallationFault::NotABlock);
                }
                ("registry_protocols", [], Item::Object(content)) => self.registry_protocols(content),
                ("oci_default_credentials", [], Item::Object(content)) => self.oci_defaults(content),
                (
                    "host" | "credentials" | "credentials_helper" | "oci_credentials" | "provider_deadlines",
                    labels,
                    Item::Object(content),
                ) => self.labelled(name, labels, content, line),
                _ => {}
            }
        }
    }

    /// Reads blocks with one label. In JSON, the label is a key, and the value of the key has the block's contents.
    fn labelled(&mut self, name: &str, labels: &[String], content: Vec<Setting>, line: usize) {
        if let [label] = labels {
            return self.block(name, label, content, line);
        }
        for Setting { words, value, line } in content {
            match (words.as_slice(), value) {
                ([label], Item::Object(content)) => self.block(name, label, content, line),
                _ => self.error(line, Fault::Label(name)),
            }
        }
    }

    fn block(&mut self, name: &str, label: &str, content: Vec<Setting>, line: usize) {
        match name {
            "credentials_helper" => self.helper(label, content, line),
            "oci_credentials" => self.oci_credentials(label, content, line),
            "provider_deadlines" => self.provider_deadlines(label, content, line),
            _ => match label.parse::<Host>() {
                Ok(host) if name == "host" => self.host(host, content),
                Ok(host) => self.credentials(host, content, line),
                Err(error) => self.error(line, Fault::Host(name, &error)),
            },
        }
    }

    fn host(&mut self, host: Host, content: Vec<Setting>) {
        let mut services = std::collections::BTreeMap::new();
        for Setting { words, value, .. } in content {
            if let ([name], Item::Object(entries)) = (words.as_slice(), value)
                && name == "services"
            {
                for Setting { words, value, line } in entries {
                    match (words.as_slice(), value.as_text()) {
                        ([service], Some(address)) => drop(services.insert(service.clone(), address.to_owned())),
                        _ => self.error(line, Fault::Service),
                    }
                }
            }
        }
        self.config.hosts.insert(host, services);
    }

    fn credentials(&mut self, host: Host, content: Vec<Setting>, line: usize) {
        let token = content.iter().find(|setting| setting.words == ["token"]).and_then(|s| s.value.as_text());
        match token {
            Some(token) => drop(self.config.credentials.insert(host, SecretString::new(token))),
            None => self.error(line, Fault::NoToken(&host)),
        }
    }

    fn helper(&mut self, name: &str, content: Vec<Setting>, line: usize) {
        let sound = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if !sound {
            return self.error(line, Fault::HelperName);
        }
        if self.config.credentials_helper.is_some() {
            return self.error(line, Fault::SeveralHelpers);
        }
        let arguments = content.iter().find(|setting| setting.words == ["args"]);
        let arguments = arguments.and_then(|setting| setting.value.as_texts()).unwrap_or_default();
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        self.config.credentials_helper = Some(Helper { name: name.to_owned(), arguments });
    }

    fn registry_protocols(&mut self, content: Vec<Setting>) {
        for Setting { words, value, line } in content {
            match (words.first().map(String::as_str), number(&value)) {
                (Some("retry_count"), Some(n)) => self.config.registry.retries = Some(n),
                (Some("request_timeout_seconds"), Some(n)) if n > 0 => {
                    self.config.registry.timeout = Some(Duration::from_secs(n.into()));
                }
                (name, _) => self.error(line, Fault::NotANumber(name.unwrap_or_default())),
            }
        }
    }

    fn oci_defaults(&mut self, content: Vec<Setting>) {
        for Setting { words, value, line } in content {
            let defaults = &mut self.config.oci_default_credentials;
            match words.first().map(String::as_str) {
                Some("discover_ambient_credentials") => defaults.ambient = is_true(&value),
                Some("docker_style_config_files") => {
                    let files = value.as_texts().unwrap_or_default();
                    defaults.files = Some(files.into_iter().map(|file| self.working_directory.join(file)).collect());
                }
                Some("docker_credentials_helper") => defaults.helper = value.as_text().map(str::to_owned),
                name => self.error(line, Fault::OciDefaults(name.unwrap_or_default())),
            }
        }
    }

    fn provider_deadlines(&mut self, label: &str, content: Vec<Setting>, line: usize) {
        let source = match source::parse(label) {
            Ok(source) => source,
            Err(error) => return self.error(line, Fault::DeadlinesLabel(&error)),
        };
        let limits = self.config.provider_deadlines.entry(source).or_default();
        let mut wrong = Vec::new();
        for Setting { words, value, line } in content {
            let name = words.join(" ");
            match (deadlines::kind(&name), value.as_text().and_then(deadlines::limit)) {
                (Some(kind), Some(limit)) => drop(limits.insert(kind, limit)),
                (None, _) => wrong.push((line, name, false)),
                (Some(_), None) => wrong.push((line, name, true)),
            }
        }
        for (line, name, known) in wrong {
            let fault = if known { Fault::DeadlineTime(&name) } else { Fault::DeadlineKind(&name) };
            self.error(line, fault);
        }
    }

    fn oci_credentials(&mut self, label: &str, content: Vec<Setting>, line: usize) {
        let text = |name: &str| content.iter().find(|s| s.words == [name]).and_then(|s| s.value.as_text());
        let credentials = match (text("username"), text("password"), text("access_token")) {
            (Some(user), Some(password), None) => {
                Some(OciCredentials::Password { user: user.to_owned(), password: SecretString::new(password) })
            }
            (None, None, Some(access)) => {
                let refresh = text("refresh_token").map(SecretString::new);
                Some(OciCredentials::Token { access: SecretString::new(access), refresh })
            }
            (None, None, None) => text("docker_credentials_helper").map(|name| OciCredentials::Helper(name.to_owned())),
            _ => None,
        };
        match credentials {
            Some(credentials) => drop(self.config.oci_credentials.insert(label.to_owned(), credentials)),
            None => self.error(line, Fault::OciCredentials),
        }
    }

    fn methods(&mut self, methods: Vec<Setting>) {
        for Setting { words, value, line } in methods {
            let (kind, content) = match (words.as_slice(), value) {
                ([kind], Item::Object(content)) => (kind.clone(), content),
                _ => {
                    self.installation_error(line, InstallationFault::MethodNotABlock);
                    continue;
                }
            };
            if kind == "dev_overrides" {
                self.dev_overrides(content);
            } else if let Some(method) = self.method(&kind, line, content) {
                self.config.installation.get_or_insert_default().push(method);
            }
        }
    }

    fn dev_overrides(&mut self, overrides: Vec<Setting>) {
        for Setting { words, value, line } in overrides {
            match (words.as_slice(), value.as_text()) {
                ([address], Some(path)) => match source::parse(address) {
                    Ok(source) => {
                        self.config.dev_overrides.insert(source, self.working_directory.join(path));
                    }
                    Err(error) => self.installation_error(line, InstallationFault::OverrideAddress(&error)),
                },
                _ => self.installation_error(line, InstallationFault::OverrideForm),
            }
        }
    }

    fn method(&mut self, kind: &str, line: usize, content: Vec<Setting>) -> Option<InstallationMethod> {
        let (mut location, mut include, mut exclude) = (None, Vec::new(), Vec::new());
        let (mut download_retries, mut trust_all_hashes) = (None, false);
        let wanted = match kind {
            "filesystem_mirror" => Some("path"),
            "network_mirror" => Some("url"),
            "oci_mirror" => Some("repository_template"),
            "direct" => None,
            other => {
                self.installation_error(line, InstallationFault::UnknownMethod(other));
                return None;
            }
        };
        for Setting { words, value, line } in content {
            match words.as_slice() {
                [name] if Some(name.as_str()) == wanted => location = value.as_text().map(str::to_owned),
                [name] if name == "include" => include = self.patterns(&value, line)?,
                [name] if name == "exclude" => exclude = self.patterns(&value, line)?,
                [name] if name == "download_retry_count" && matches!(kind, "direct" | "network_mirror") => {
                    download_retries = number(&value);
                    if download_retries.is_none() {
                        self.installation_error(line, InstallationFault::Retries);
                    }
                }
                [name] if name == "trust_all_hashes" && kind == "network_mirror" => trust_all_hashes = is_true(&value),
                words => {
                    self.installation_error(line, InstallationFault::UnknownSetting(&words.join(" ")));
                    return None;
                }
            }
        }
        let kind = match (kind, location) {
            ("filesystem_mirror", Some(path)) => MethodKind::FilesystemMirror(self.working_directory.join(path)),
            ("network_mirror", Some(url)) => match mirror_url(&url) {
                Ok(url) => MethodKind::NetworkMirror { url, trust_all_hashes },
                Err(problem) => {
                    self.installation_error(line, InstallationFault::MirrorUrl(&problem));
                    return None;
                }
            },
            ("oci_mirror", Some(template)) => {
                let open = |is_open: fn(&SourcePattern) -> bool| include.is_empty() || include.iter().any(is_open);
                let template = RepositoryTemplate::parse(&template).and_then(|template| {
                    let (host, namespace) = (open(SourcePattern::any_host), open(SourcePattern::any_namespace));
                    template.check(host, namespace, open(SourcePattern::any_type)).map(|()| template)
                });
                match template {
                    Ok(template) => MethodKind::OciMirror(template),
                    Err(error) => {
                        self.installation_error(line, InstallationFault::Template(&error));
                        return None;
                    }
                }
            }
            ("direct", _) => MethodKind::Direct,
            (kind, _) => {
                self.installation_error(line, InstallationFault::MissingArgument(kind, wanted.unwrap_or_default()));
                return None;
            }
        };
        Some(InstallationMethod { kind, include, exclude, download_retries })
    }

    fn patterns(&mut self, value: &Item, line: usize) -> Option<Vec<SourcePattern>> {
        let Some(texts) = value.as_texts() else {
            self.installation_error(line, InstallationFault::PatternsNotAList);
            return None;
        };
        match texts.into_iter().map(SourcePattern::parse).collect() {
            Ok(patterns) => Some(patterns),
            Err(error) => {
                self.installation_error(line, InstallationFault::Pattern(&error));
                None
            }
        }
    }
}

/// The address of a network mirror, with a final slash.
///
/// # Errors
/// Returns an error if the text is not a URL, or if the URL is not secure.
pub fn mirror_url(text: &str) -> Result<Url, MirrorUrlProblem> {
    let mut url = Url::parse(text).map_err(MirrorUrlProblem::Malformed)?;
    if url.scheme() != "https" || url.host_str().is_none() {
        return Err(MirrorUrlProblem::Insecure);
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn is_true(item: &Item) -> bool {
    matches!(item, Item::Bare(word) | Item::Text(word) if matches!(word.as_str(), "true" | "1"))
}

fn number(item: &Item) -> Option<u32> {
    match item {
        Item::Bare(word) | Item::Text(word) => word.parse().ok(),
        _ => None,
    }
}

/// A path in which `$NAME` and `${NAME}` are replaced by environment variables. Unset variables are empty.
fn expanded(path: &str) -> String {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut text = String::new();
    let mut rest = path;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some((name, after)) = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            text.push_str(&variable(name));
            rest = after;
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 {
            text.push('$');
        } else {
            text.push_str(&variable(&rest[..end]));
        }
        rest = &rest[end..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_paths_are_expanded() {
        let home = std::env::var("PATH").unwrap_or_default();
        assert_eq!(expanded("$PATH/x"), format!("{home}/x"));
        assert_eq!(expanded("${PATH}y$"), format!("{home}y$"));
        assert_eq!(expanded("/plain"), "/plain");
    }
}
