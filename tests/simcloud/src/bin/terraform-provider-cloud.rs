//! The provider plugin's process.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use weft_simcloud::plugin::launch::{Environment, launch};

/// The plugin must not be what limits a measurement of the engine.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // ^C reaches the whole process group. The host decides what to do, and stops its plugins itself.
    let ignored = signal(SignalKind::interrupt());
    let outcome = launch(Environment::of_process()).await;
    drop(ignored);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
