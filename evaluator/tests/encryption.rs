//! Encryption settings from the configuration and the environment.

use std::fmt::Write as _;

use weft_evaluator::config::{
    CompiledModule, Encryption, EncryptionPart, EncryptionSetting, EncryptionTarget, InstalledModules, StaticInputs,
    load_tree_with,
};
use weft_graph_format::diagnostic::Diagnostic;

const MAIN: &str = r#"
variable "words" {
  default = "words of the variable"
}
locals {
  suffix = "and a local"
}
terraform {
  encryption {
    key_provider "pbkdf2" "main" {
      passphrase = "${var.words} ${local.suffix}"
      iterations = 200000
    }
    key_provider "pbkdf2" "chained" {
      chain = key_provider.pbkdf2.main
    }
    key_provider "pbkdf2" "unused" {
      passphrase = missing.reference
    }
    method "aes_gcm" "main" {
      keys = key_provider.pbkdf2.chained
    }
    method "unencrypted" "open" {}
    state {
      enforced = false
      method   = method.aes_gcm.main
      fallback {
        method = method.unencrypted.open
        fallback {
          method = method.aes_gcm.main
        }
      }
    }
    remote_state_data_sources {
      default {
        method = method.unencrypted.open
      }
      remote_state_data_source "m.other[0]" {
        method = method.aes_gcm.main
      }
    }
  }
}
"#;

fn load(main: &str, environment: Option<&str>) -> (CompiledModule, Vec<Diagnostic>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.tf"), main).unwrap();
    let encryption = environment.map(str::to_owned);
    let inputs = StaticInputs { given: &|_| Default::default(), workspace: "default".into(), encryption };
    let (root, _, problems) = load_tree_with(folder.path(), &InstalledModules::new(), &inputs);
    ((*root).clone(), problems)
}

/// All settings, one per line. The values are only shown in tests.
fn printed(encryption: &Encryption) -> String {
    let mut text = String::new();
    let target = |text: &mut String, name: &str, target: &EncryptionTarget| {
        let methods: Vec<String> = target.methods.iter().map(|(kind, name)| format!("{kind}.{name}")).collect();
        let enforced = if target.enforced { " enforced" } else { "" };
        writeln!(text, "{name}: {}{enforced}", methods.join(", ")).unwrap();
    };
    let part = |text: &mut String, name: &str, part: &EncryptionPart| {
        let settings: Vec<String> = part
            .settings
            .iter()
            .map(|(argument, (setting, _))| match setting {
                EncryptionSetting::Value(value) => {
                    assert!(value.contains_sensitive(), "{argument} is not hidden");
                    format!("{argument}={:?}", value.unmark_deep().0)
                }
                EncryptionSetting::Keys((kind, name)) => format!("{argument}={kind}.{name}"),
            })
            .collect();
        writeln!(text, "{name}: {}", settings.join(" ")).unwrap();
    };
    for (name, found) in
        [("state", &encryption.state), ("plan", &encryption.plan), ("remote", &encryption.remote_default)]
    {
        found.iter().for_each(|found| target(&mut text, name, found));
    }
    encryption.remotes.iter().for_each(|(name, found)| target(&mut text, name, found));
    encryption
        .methods
        .iter()
        .for_each(|((kind, name), found)| part(&mut text, &format!("method {kind}.{name}"), found));
    encryption
        .key_providers
        .iter()
        .for_each(|((kind, name), found)| part(&mut text, &format!("key {kind}.{name}"), found));
    text
}

#[test]
fn only_the_blocks_of_the_targets_are_evaluated() {
    let (root, problems) = load(MAIN, None);
    assert!(problems.is_empty(), "{problems:?}");
    let encryption = root.settings.encryption.unwrap();
    assert!(encryption.problems.is_empty(), "{:?}", encryption.problems);
    let expected = "state: aes_gcm.main, unencrypted.open, aes_gcm.main\n\
                    remote: unencrypted.open\n\
                    m.other[0]: aes_gcm.main\n\
                    method aes_gcm.main: keys=pbkdf2.chained\n\
                    method unencrypted.open: \n\
                    key pbkdf2.chained: chain=pbkdf2.main\n\
                    key pbkdf2.main: iterations=200000 passphrase=\"words of the variable and a local\"\n";
    assert_eq!(printed(&encryption), expected);
}

#[test]
fn the_environment_overrides_the_configuration() {
    let native = r#"
        key_provider "pbkdf2" "main" {
          passphrase = "from the environment"
        }
        method "aes_gcm" "other" {
          keys = key_provider.pbkdf2.main
        }
        state {
          enforced = true
          fallback {
            method = method.aes_gcm.other
          }
        }
        plan {
          method = method.aes_gcm.other
        }
    "#;
    let json = r#"{
        "key_provider": {"pbkdf2": {"main": {"passphrase": "from the environment"}}},
        "method": {"aes_gcm": {"other": {"keys": "${key_provider.pbkdf2.main}"}}},
        "state": {"enforced": true, "fallback": {"method": "method.aes_gcm.other"}},
        "plan": {"method": "method.aes_gcm.other"}
    }"#;
    let expected = "state: aes_gcm.main, aes_gcm.other enforced\n\
                    plan: aes_gcm.other\n\
                    remote: unencrypted.open\n\
                    m.other[0]: aes_gcm.main\n\
                    method aes_gcm.main: keys=pbkdf2.chained\n\
                    method aes_gcm.other: keys=pbkdf2.main\n\
                    method unencrypted.open: \n\
                    key pbkdf2.chained: chain=pbkdf2.main\n\
                    key pbkdf2.main: iterations=200000 passphrase=\"from the environment\"\n";
    for text in [native, json] {
        let (root, problems) = load(MAIN, Some(text));
        assert!(problems.is_empty(), "{problems:?}");
        let encryption = root.settings.encryption.unwrap();
        assert!(encryption.problems.is_empty(), "{:?}", encryption.problems);
        assert_eq!(printed(&encryption), expected);
    }
    // If one source enforces encryption, the other source cannot turn it off.
    let (root, _) = load(&MAIN.replace("enforced = false", "enforced = true"), Some("state {\n  enforced = false\n}"));
    assert!(
        printed(&root.settings.encryption.unwrap())
            .contains("state: aes_gcm.main, unencrypted.open, aes_gcm.main enforced")
    );
    // Settings of a single source are enough.
    let (root, _) = load("", Some("method \"unencrypted\" \"x\" {}\nplan {\n  method = method.unencrypted.x\n}\n"));
    assert_eq!(printed(&root.settings.encryption.unwrap()), "plan: unencrypted.x\nmethod unencrypted.x: \n");
    assert!(load("", None).0.settings.encryption.is_none());
}

#[test]
fn mistakes_are_reported_with_their_lines() {
    let around = |inner: &str| format!("terraform {{\n  encryption {{\n{inner}\n  }}\n}}\n");
    let method = "method \"unencrypted\" \"x\" {}\n";
    for (inner, expected) in [
        ("state {\n  method = method.aes_gcm.missing\n}".to_owned(), "Reference to undeclared encryption method 4"),
        ("state {\n  method = \"aes_gcm\"\n}".to_owned(), "Invalid expression 4"),
        ("state {}".to_owned(), "Invalid expression 3"),
        (format!("{method}state {{\n  method = method.unencrypted.x\n  fallback {{}}\n}}"), "Invalid expression 6"),
        (
            "method \"aes_gcm\" \"x\" {\n  keys = key_provider.pbkdf2.missing\n}\nstate {\n  method = method.aes_gcm.x\n}"
                .to_owned(),
            "Reference to undeclared key provider 4",
        ),
        (format!("{method}{method}"), "Duplicate method 2"),
        (
            format!("{method}remote_state_data_sources {{\n  default {{\n    method = method.unencrypted.x\n    enforced = true\n  }}\n}}"),
            "Unsupported argument 7",
        ),
        (format!("{method}state {{\n  method = method.unencrypted.x\n  color = 1\n}}"), "Unsupported argument 6"),
        (
            format!("{method}state {{\n  method = method.unencrypted.x\n  enforced = \"perhaps\"\n}}"),
            "Unsuitable value type 6",
        ),
        (
            "key_provider \"pbkdf2\" \"x\" {\n  passphrase = terraform_data.a.id\n}\nmethod \"aes_gcm\" \"x\" {\n  \
             keys = key_provider.pbkdf2.x\n}\nstate {\n  method = method.aes_gcm.x\n}"
                .to_owned(),
            "Dynamic value in static context 4",
        ),
    ] {
        let (root, mut problems) = load(&around(&inner), None);
        problems.extend(root.settings.encryption.iter().flat_map(|encryption| encryption.problems.clone()));
        let found: Vec<String> = problems
            .iter()
            .map(|problem| {
                let line = problem.subject.as_ref().map(|range| range.start.line);
                format!("{} {}", problem.summary, line.unwrap_or_default())
            })
            .collect();
        assert_eq!(found, [expected], "{inner}");
    }
    let twice = format!("{}{}", around(""), around(""));
    assert!(load(&twice, None).1.iter().any(|problem| problem.summary == "Duplicate encryption configuration"));
}
