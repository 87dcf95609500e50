//! Contents of files, and the positions of settings in them.

use weft_providers::source;

use super::*;

fn parse(text: &str) -> (CliConfig, Vec<Diagnostic>) {
    CliConfig::parse(text, Path::new("tofurc"), Path::new("/project"))
}

#[test]
fn installation_methods_have_their_providers() {
    let (config, diagnostics) = parse(
        "disable_checkpoint = true\ncredentials \"x.y\" {\n  token = \"t\"\n}\n\
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
    let host = "x.y".parse().unwrap();
    assert_eq!(config.credentials[&host].expose(), "t");
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
    let at_home = ProcessEnvironment::new("/project", &[("HOME", home.path())]);
    assert_eq!(CliConfig::load(&at_home), Default::default());
    std::fs::write(home.path().join(".terraformrc"), "provider_installation {\n  direct {}\n}\n").unwrap();
    assert_eq!(CliConfig::load(&at_home).0.installation.unwrap()[0].kind, MethodKind::Direct);
    let named =
        ProcessEnvironment::new("/project", &[("HOME", home.path()), ("TF_CLI_CONFIG_FILE", Path::new("/not/there"))]);
    assert_eq!(CliConfig::load(&named).1[0].summary, "Unable to open CLI configuration file");
    let directories = at_home.implied_directories();
    assert_eq!(directories[0], Path::new("/project/terraform.d/plugins"));
    assert!(directories.contains(&home.path().join(".local/share/opentofu/plugins")));
}

#[test]
fn hosts_helpers_and_registries_are_read() {
    let (config, diagnostics) = parse(
        "host \"x.test\" {\n  services = {\n    \"providers.v1\" = \"https://y.test/p\"\n  }\n}\n\
         credentials_helper \"vault\" {\n  args = [\"-a\"]\n}\nregistry_protocols {\n  retry_count = 3\n  \
         request_timeout_seconds = 30\n}\nprovider_installation {\n  network_mirror {\n    \
         url = \"https://m.test/p\"\n    \
         trust_all_hashes = true\n    download_retry_count = 5\n  }\n  oci_mirror {\n    \
         repository_template = \"oci.test/${hostname}/${namespace}/${type}\"\n  }\n}\n\
         oci_credentials \"oci.test/p\" {\n  username = \"u\"\n  password = \"p\"\n}\n\
         oci_default_credentials {\n  discover_ambient_credentials = false\n}\n",
    );
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(config.hosts[&"x.test".parse().unwrap()]["providers.v1"], "https://y.test/p");
    assert_eq!((config.registry.retries, config.registry.timeout.unwrap().as_secs()), (Some(3), 30));
    let methods = config.installation.as_ref().unwrap();
    let MethodKind::NetworkMirror { url, trust_all_hashes: true } = &methods[0].kind else { panic!("{methods:?}") };
    assert_eq!((url.as_str(), methods[0].download_retries), ("https://m.test/p/", Some(5)));
    assert!(matches!(methods[1].kind, MethodKind::OciMirror(_)));
    assert!(!config.oci_default_credentials.ambient);
    assert!(matches!(config.oci_credentials["oci.test/p"], OciCredentials::Password { .. }));
    assert!(!format!("{config:?}").contains("\"p\""));
}

#[test]
fn blocks_can_be_written_in_json() {
    let (config, diagnostics) = parse(r#"{"credentials": {"a.test": {"token": "t"}, "b.test": {"token": "u"}}}"#);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(config.credentials.len(), 2);
}

#[test]
fn further_files_are_merged() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".terraform.d");
    std::fs::create_dir_all(&folder).unwrap();
    let text = r#"{"credentials": {"a.test": {"token": "file"}}}"#;
    std::fs::write(folder.join("credentials.tfrc.json"), text).unwrap();
    std::fs::write(folder.join("readme.txt"), "no configuration").unwrap();
    std::fs::write(home.path().join(".tofurc"), "credentials \"b.test\" { token = \"rc\" }\n").unwrap();
    let (config, diagnostics) = CliConfig::load(&ProcessEnvironment::new("/project", &[("HOME", home.path())]));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(config.credentials.len(), 2);
    let cache =
        ProcessEnvironment::new("/project", &[("HOME", home.path()), ("TF_PLUGIN_CACHE_DIR", Path::new("/none"))]);
    let (_, diagnostics) = CliConfig::load(&cache);
    assert!(diagnostics[0].summary.starts_with("The specified plugin cache dir"), "{diagnostics:?}");
}
