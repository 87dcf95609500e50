//! `weft version`.

use std::path::Path;

use serde_json::{Map, json};
use weft_providers::lock_file::{self, LockFile};
use weft_providers::platform::Platform;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::product::{Product, WEFT_VERSION};

/// The command.
pub const VERSION: Command = Command {
    words: &["version"],
    alias: None,
    operands: "",
    about: "Show the versions of Weft and of the providers",
    main: false,
    flags: &[command::VIEW, command::JSON_DOCUMENT],
    mixed: false,
    on_mistake: OnMistake::Usage,
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
            Product::Weft => document["weft_version"] = WEFT_VERSION.into(),
            Product::Terraform => document["terraform_outdated"] = false.into(),
            Product::OpenTofu => {}
        }
        invocation.view.document(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"));
        return Exit::DONE;
    }
    invocation.view.line(&format!("{}\non {platform}", product.version_line()));
    for (source, lock) in &lock.providers {
        invocation.view.line(&format!("+ provider {source} v{}", lock.version));
    }
    Exit::DONE
}
