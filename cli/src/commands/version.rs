//! `weft version`.

use std::path::Path;

use serde_json::{Map, json};
use weft_providers::lock_file::{self, LockFile};
use weft_providers::platform::Platform;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;

/// The command.
pub const VERSION: Command = Command {
    words: &["version"],
    alias: None,
    operands: "",
    about: "Show the version of Weft and of the selected providers",
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
    let version = env!("CARGO_PKG_VERSION");
    if invocation.arguments.switch("json", false) {
        let selections: Map<String, serde_json::Value> =
            lock.providers.iter().map(|(source, lock)| (source.to_string(), lock.version.to_string().into())).collect();
        let document = json!({
            "terraform_version": version,
            "platform": platform.to_string(),
            "fips140": false,
            "provider_selections": selections,
        });
        invocation.view.document(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"));
        return Exit::DONE;
    }
    invocation.view.line(&format!("Weft v{version}\non {platform}"));
    for (source, lock) in &lock.providers {
        invocation.view.line(&format!("+ provider {source} v{}", lock.version));
    }
    Exit::DONE
}
