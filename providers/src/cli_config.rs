//! The CLI configuration file (`TF_CLI_CONFIG_FILE`, `~/.tofurc`, ...), as far as it says where providers come from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use weft_graph_format::address::{DEFAULT_REGISTRY, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;

use crate::settings::{self, Item, Setting};
use crate::source;

/// What the file says about providers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CliConfig {
    /// `provider_installation`: the methods in order; none when the file has no such block.
    pub installation: Option<Vec<Method>>,
    /// `dev_overrides`: directories that take the place of packages.
    pub dev_overrides: BTreeMap<ProviderSource, PathBuf>,
    /// `plugin_cache_dir`. Not used yet: packages of mirrors are linked, not copied, so that there is little to save.
    pub plugin_cache_dir: Option<PathBuf>,
}

/// A method of installation with the providers that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Where packages come from.
    pub kind: MethodKind,
    /// Only these, if there are any.
    pub include: Vec<Pattern>,
    /// None of these.
    pub exclude: Vec<Pattern>,
}

/// Where packages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// A directory with packed or unpacked packages.
    FilesystemMirror(PathBuf),
    /// A server with packages. Not supported yet.
    NetworkMirror(String),
    /// An OCI registry with packages. Not supported yet.
    OciMirror,
    /// The providers' own registries. Not supported yet.
    Direct,
}

impl Method {
    /// A method for all providers.
    pub fn for_all(kind: MethodKind) -> Method {
        Method { kind, include: Vec::new(), exclude: Vec::new() }
    }

    /// Whether the method is for a provider.
    pub fn covers(&self, source: &ProviderSource) -> bool {
        (self.include.is_empty() || self.include.iter().any(|p| p.matches(source)))
            && !self.exclude.iter().any(|p| p.matches(source))
    }
}

/// A source address in which any part may be `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    host: Option<String>,
    namespace: Option<String>,
    type_name: Option<String>,
}

impl Pattern {
    /// Reads `HOST/NAMESPACE/TYPE`, `NAMESPACE/TYPE` or `TYPE`; what is left out is the default.
    pub fn parse(text: &str) -> Result<Pattern, source::SourceError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, type_name) = match parts.as_slice() {
            // On its own the star means everything.
            ["*"] => ("*", "*", "*"),
            [type_name] => (DEFAULT_REGISTRY, source::DEFAULT_NAMESPACE, *type_name),
            [namespace, type_name] => (DEFAULT_REGISTRY, *namespace, *type_name),
            [host, namespace, type_name] => (*host, *namespace, *type_name),
            _ => return Err(source::SourceError::Format(text.to_owned())),
        };
        let star = |text: &str| text == "*";
        Ok(Pattern {
            host: if star(host) { None } else { Some(source::host(host)?) },
            namespace: if star(namespace) { None } else { Some(source::part("namespace", namespace)?) },
            type_name: if star(type_name) { None } else { Some(source::part("type", type_name)?) },
        })
    }

    /// Whether it stands for a provider.
    pub fn matches(&self, source: &ProviderSource) -> bool {
        let same = |pattern: &Option<String>, text: &str| pattern.as_ref().is_none_or(|p| p == text);
        same(&self.host, &source.host)
            && same(&self.namespace, &source.namespace)
            && same(&self.type_name, &source.type_name)
    }
}

/// The parts of the environment that decide about files: given, so that tests need not change the real one.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
    working_directory: PathBuf,
}

impl Environment {
    /// The environment of this process, with the root module's directory as the working directory.
    pub fn of_process(working_directory: impl Into<PathBuf>) -> Environment {
        const NAMES: [&str; 6] =
            ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS"];
        let variables = NAMES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?))).collect();
        Environment { variables, working_directory: working_directory.into() }
    }

    /// One of our own making.
    pub fn new(working_directory: impl Into<PathBuf>, variables: &[(&str, &Path)]) -> Environment {
        let variables = variables.iter().map(|(name, path)| ((*name).to_owned(), path.as_os_str().to_owned()));
        Environment { variables: variables.collect(), working_directory: working_directory.into() }
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The directories that are searched when no method is configured, the root module's first.
    pub fn implied_directories(&self) -> Vec<PathBuf> {
        let mut directories = vec![self.working_directory.join("terraform.d/plugins")];
        let home = self.path("HOME");
        if let Some(home) = &home {
            directories.push(home.join(".terraform.d/plugins"));
        }
        let mut data: Vec<PathBuf> =
            self.path("XDG_DATA_HOME").or_else(|| Some(home?.join(".local/share"))).into_iter().collect();
        match self.variables.get("XDG_DATA_DIRS").filter(|value| !value.is_empty()) {
            Some(list) => data.extend(std::env::split_paths(list)),
            None if cfg!(unix) => data.extend(["/usr/local/share".into(), "/usr/share".into()]),
            None => {}
        }
        for directory in data.iter().filter(|d| d.is_absolute()) {
            directories.push(directory.join("opentofu/plugins"));
            directories.push(directory.join("terraform/plugins"));
        }
        directories
    }

    /// The configuration file, and whether it was named by the user and so must exist.
    fn config_file(&self) -> Option<(PathBuf, bool)> {
        if let Some(named) = self.path("TF_CLI_CONFIG_FILE").or_else(|| self.path("TERRAFORM_CONFIG")) {
            return Some((self.working_directory.join(named), true));
        }
        let home = self.path("HOME");
        let candidates = [
            home.as_ref().map(|home| home.join(".tofurc")),
            home.as_ref().map(|home| home.join(".terraformrc")),
            self.path("XDG_CONFIG_HOME")
                .or_else(|| Some(home.as_ref()?.join(".config")))
                .map(|config| config.join("opentofu/tofurc")),
        ];
        candidates.into_iter().flatten().find(|path| path.is_file()).map(|path| (path, false))
    }
}

impl CliConfig {
    /// Reads the file that the environment names, or the one in its usual place; without one, the defaults.
    pub fn load(environment: &Environment) -> (CliConfig, Vec<Diagnostic>) {
        let Some((path, named)) = environment.config_file() else { return Default::default() };
        match std::fs::read_to_string(&path) {
            Ok(text) => CliConfig::parse(&text, &path, &environment.working_directory),
            Err(error) if named => {
                let detail = format!("The CLI configuration file {} cannot be read: {error}.", path.display());
                (CliConfig::default(), vec![Diagnostic::warning("Unable to open CLI configuration file", detail)])
            }
            Err(_) => Default::default(),
        }
    }

    /// Reads the text of a file. Relative paths in it are relative to the working directory.
    pub fn parse(text: &str, file: &Path, working_directory: &Path) -> (CliConfig, Vec<Diagnostic>) {
        let mut reader = Reader { file, working_directory, config: CliConfig::default(), diagnostics: Vec::new() };
        match settings::parse(text) {
            Ok(settings) => reader.read(settings),
            Err(error) => reader.error("Invalid CLI configuration file", error.line, &error.problem),
        }
        (reader.config, reader.diagnostics)
    }
}

struct Reader<'a> {
    file: &'a Path,
    working_directory: &'a Path,
    config: CliConfig,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn error(&mut self, summary: &str, line: usize, detail: &str) {
        let detail = format!("On line {line} of {}: {detail}", self.file.display());
        self.diagnostics.push(Diagnostic::error(summary, detail));
    }

    fn installation_error(&mut self, line: usize, detail: &str) {
        self.error("Invalid provider_installation block", line, detail);
    }

    /// Settings that say nothing about providers (credentials, checkpoints, ...) are passed over.
    fn read(&mut self, settings: Vec<Setting>) {
        for Setting { words, value, line } in settings {
            match (words.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), value) {
                (["plugin_cache_dir"], value) => {
                    self.config.plugin_cache_dir = value.as_text().map(|path| self.working_directory.join(path));
                }
                (["provider_installation"], Item::Object(methods)) => {
                    if self.config.installation.is_some() {
                        self.installation_error(line, "There is more than one such block.");
                    }
                    self.config.installation.get_or_insert_default();
                    self.methods(methods);
                }
                (["provider_installation", ..], _) => {
                    self.installation_error(line, "It must be a block without labels.");
                }
                _ => {}
            }
        }
    }

    fn methods(&mut self, methods: Vec<Setting>) {
        for Setting { words, value, line } in methods {
            let (kind, content) = match (words.as_slice(), value) {
                ([kind], Item::Object(content)) => (kind.clone(), content),
                _ => {
                    self.installation_error(line, "Each installation method must be a block without labels.");
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
                    Err(error) => self.installation_error(line, &format!("In dev_overrides: {error}.")),
                },
                _ => self.installation_error(line, "Each entry of dev_overrides must be \"ADDRESS\" = \"DIRECTORY\"."),
            }
        }
    }

    fn method(&mut self, kind: &str, line: usize, content: Vec<Setting>) -> Option<Method> {
        let (mut location, mut include, mut exclude) = (None, Vec::new(), Vec::new());
        let wanted = match kind {
            "filesystem_mirror" => Some("path"),
            "network_mirror" => Some("url"),
            "oci_mirror" => Some("repository_template"),
            "direct" => None,
            other => {
                self.installation_error(line, &format!("There is no installation method \"{other}\"."));
                return None;
            }
        };
        for Setting { words, value, line } in content {
            match words.as_slice() {
                [name] if Some(name.as_str()) == wanted => location = value.as_text().map(str::to_owned),
                [name] if name == "include" => include = self.patterns(&value, line)?,
                [name] if name == "exclude" => exclude = self.patterns(&value, line)?,
                // Options of methods that are not supported yet.
                _ if kind != "filesystem_mirror" => {}
                words => {
                    self.installation_error(line, &format!("\"{}\" is not known here.", words.join(" ")));
                    return None;
                }
            }
        }
        let kind = match (kind, location) {
            ("filesystem_mirror", Some(path)) => MethodKind::FilesystemMirror(self.working_directory.join(path)),
            ("network_mirror", Some(url)) => MethodKind::NetworkMirror(url),
            ("oci_mirror", Some(_)) => MethodKind::OciMirror,
            ("direct", _) => MethodKind::Direct,
            (kind, _) => {
                let detail = format!("{kind} needs the argument \"{}\".", wanted.unwrap_or_default());
                self.installation_error(line, &detail);
                return None;
            }
        };
        Some(Method { kind, include, exclude })
    }

    fn patterns(&mut self, value: &Item, line: usize) -> Option<Vec<Pattern>> {
        let Some(texts) = value.as_texts() else {
            self.installation_error(line, "A list of strings is required.");
            return None;
        };
        match texts.into_iter().map(Pattern::parse).collect() {
            Ok(patterns) => Some(patterns),
            Err(error) => {
                self.installation_error(line, &error.to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (CliConfig, Vec<Diagnostic>) {
        CliConfig::parse(text, Path::new("tofurc"), Path::new("/project"))
    }

    #[test]
    fn methods_with_their_providers() {
        let (config, diagnostics) = parse(
            "plugin_cache_dir = \"/cache\"\ndisable_checkpoint = true\ncredentials \"x.y\" {\n  token = \"t\"\n}\n\
             provider_installation {\n  dev_overrides {\n    \"acme/lab\" = \"bin\"\n  }\n  filesystem_mirror {\n    \
             path = \"mirror\"\n    include = [\"weft.test/*/*\"]\n  }\n  direct {\n    \
             exclude = [\"weft.test/*/*\"]\n  }\n}\n",
        );
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let lab = source::parse("weft.test/lab/lab").unwrap();
        let methods = config.installation.unwrap();
        assert_eq!(methods[0].kind, MethodKind::FilesystemMirror("/project/mirror".into()));
        assert!(methods[0].covers(&lab) && !methods[1].covers(&lab));
        assert!(methods[1].covers(&source::parse("acme/lab").unwrap()));
        assert_eq!(config.dev_overrides[&source::parse("acme/lab").unwrap()], Path::new("/project/bin"));
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line) in [
            ("provider_installation \"x\" {}", 1),
            ("provider_installation {\n  carrier_pigeon {}\n}", 2),
            ("provider_installation {\n  filesystem_mirror {}\n}", 2),
            ("provider_installation {\n  direct {\n    include = [\"a/b/c/d\"]\n  }\n}", 3),
            ("provider_installation {\n  dev_overrides {\n    \"a b\" = \"x\"\n  }\n}", 3),
            ("provider_installation {", 1),
        ] {
            let (_, diagnostics) = parse(text);
            assert_eq!(diagnostics.len(), 1, "{text}");
            assert!(diagnostics[0].detail.contains(&format!("line {line} ")), "{text}: {}", diagnostics[0].detail);
        }
    }

    #[test]
    fn the_file_is_found_where_the_environment_says() {
        let home = tempfile::tempdir().unwrap();
        let at_home = Environment::new("/project", &[("HOME", home.path())]);
        assert_eq!(CliConfig::load(&at_home), Default::default());
        std::fs::write(home.path().join(".terraformrc"), "provider_installation {\n  direct {}\n}\n").unwrap();
        assert_eq!(CliConfig::load(&at_home).0.installation.unwrap()[0].kind, MethodKind::Direct);
        let named =
            Environment::new("/project", &[("HOME", home.path()), ("TF_CLI_CONFIG_FILE", Path::new("/not/there"))]);
        assert_eq!(CliConfig::load(&named).1[0].summary, "Unable to open CLI configuration file");
        let directories = at_home.implied_directories();
        assert_eq!(directories[0], Path::new("/project/terraform.d/plugins"));
        assert!(directories.contains(&home.path().join(".local/share/opentofu/plugins")));
    }
}
