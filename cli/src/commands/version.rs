//! `weft version`.

use std::path::Path;

use serde_json::{Map, json};
use weft_backends::catalog;
use weft_providers::lock_file::{self, LockFile};
use weft_providers::platform::Platform;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::switch;
use crate::product::{COMMIT, Product, WEFT_VERSION};

/// The command.
pub const VERSION: Command = Command {
    words: &["version"],
    alias: None,
    operands: "",
    about: "Show the versions of Weft and of the providers",
    main: false,
    flags: &[command::VIEW, command::JSON_DOCUMENT, &[switch("v", ""), switch("version", "")]],
    mixed: false,
    on_mistake: OnMistake::UsageUnlessJson,
    check: command::unchecked,
    events: false,
    run,
};

fn run(invocation: &Invocation<'_>) -> Exit {
    let platform = Platform::current();
    let (lock, _) = LockFile::load(Path::new(lock_file::FILE_NAME));
    let product = Product::of_process();
    if invocation.arguments.switch("json", false) {
        let selections: Map<String, serde_json::Value> =
            lock.providers.iter().map(|(source, lock)| (source.to_string(), lock.version.to_string().into())).collect();
        let mut document = json!({
            "terraform_version": product.version(),
            "platform": platform.to_string(),
            "provider_selections": selections,
        });
        match product {
            Product::Weft => {
                document["weft_version"] = WEFT_VERSION.into();
                document["weft_commit"] = COMMIT.into();
                document["weft_features"] = features().into();
            }
            Product::Terraform => document["terraform_outdated"] = false.into(),
            Product::OpenTofu => {}
        }
        invocation.view.document(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"));
        return Exit::DONE;
    }
    invocation.view.line(&format!("{}\non {platform}", product.version_line()));
    if product == Product::Weft {
        invocation.view.line(&format!("commit {}", COMMIT.unwrap_or("unknown")));
        invocation.view.line(&invocation.view.style().wrapped(&format!("features: {}", features().join(", "))));
    }
    for (source, lock) in &lock.providers {
        invocation.view.line(&format!("+ provider {source} v{}", lock.version));
    }
    Exit::DONE
}

/// The features of this build: the backends that it was compiled with, and the features that every build has.
fn features() -> Vec<String> {
    let backends = catalog::kinds().map(|name| format!("backend-{name}"));
    let own = ["cluster", "encryption", "redis", "resume"].map(str::to_owned);
    let mut all: Vec<String> = own.into_iter().chain(backends).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_sorted_and_name_the_backends() {
        let found = features();
        assert!(found.is_sorted() && found.contains(&"redis".to_owned()), "{found:?}");
        assert_eq!(
            found.contains(&"backend-s3".to_owned()),
            cfg!(any(feature = "s3", feature = "backends")),
            "{found:?}"
        );
    }
}
