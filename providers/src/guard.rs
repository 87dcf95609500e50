//! Starts plugins in such a way that they end with their parent. A plugin must not outlive the process that started it,
//! because nothing would observe its later effects.
//!
//! On Linux, a process can receive a signal when its parent dies, but only if it requests the signal itself, after the
//! fork. So a plugin is started through a guard: this program again, with [`COMMAND`] as its first argument. The guard
//! requests the signal, checks that the parent is still alive, and then becomes the plugin. On other systems, and if no
//! guard program was set, plugins are started directly and end when their session is closed or dropped.
//!
//! The signal is sent when the *thread* that called `fork` ends, even if its process continues. So the module `process`
//! keeps one thread that starts all plugins.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

/// The first argument that turns the program into a guard: `weft __plugin-guard PARENT_PID -- PROGRAM [ARGUMENT...]`.
pub const COMMAND: &str = "__plugin-guard";

/// The exit code of a guard that could not start its plugin.
const FAILED: u8 = 127;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program that understands [`COMMAND`]. Called once at the start of `main`, usually with [`own_program`].
/// Later calls have no effect.
pub fn set_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// The guard program, if one was set and this system supports it.
pub fn program() -> Option<&'static Path> {
    if cfg!(target_os = "linux") { PROGRAM.get().map(PathBuf::as_path) } else { None }
}

/// The running program, even if its file was replaced or removed.
pub fn own_program() -> std::io::Result<PathBuf> {
    let link = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && link.exists() { Ok(link) } else { std::env::current_exe() }
}

/// The arguments of a guard after [`COMMAND`].
pub fn arguments(parent: u32, program: &Path) -> Vec<OsString> {
    vec![COMMAND.into(), parent.to_string().into(), "--".into(), program.as_os_str().to_owned()]
}

/// Runs the guard with the arguments after [`COMMAND`]. Returns only if the plugin could not be started.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let parent = args.next().and_then(|a| a.to_str().and_then(|a| a.parse::<i32>().ok()));
    let separator = args.next();
    let (Some(parent), Some(program)) = (parent, args.next().filter(|_| separator.is_some_and(|s| s == "--"))) else {
        eprintln!("usage: {COMMAND} PARENT_PID -- PROGRAM [ARGUMENT...]");
        return ExitCode::from(FAILED);
    };
    become_plugin(parent, program, args.collect())
}

#[cfg(target_os = "linux")]
fn become_plugin(parent: i32, program: OsString, args: Vec<OsString>) -> ExitCode {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
    use std::os::unix::process::CommandExt as _;

    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        eprintln!("cannot make the plugin end together with its parent process: {error}");
        return ExitCode::from(FAILED);
    }
    // The parent may have died before the request above took effect.
    if getppid() != Pid::from_raw(parent) {
        return ExitCode::from(FAILED);
    }
    let error = std::process::Command::new(&program).args(args).exec();
    eprintln!("cannot start {}: {error}", program.to_string_lossy());
    ExitCode::from(FAILED)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn become_plugin(_parent: i32, program: OsString, args: Vec<OsString>) -> ExitCode {
    use std::os::unix::process::CommandExt as _;

    let error = std::process::Command::new(&program).args(args).exec();
    eprintln!("cannot start {}: {error}", program.to_string_lossy());
    ExitCode::from(FAILED)
}

#[cfg(not(unix))]
fn become_plugin(_parent: i32, program: OsString, _args: Vec<OsString>) -> ExitCode {
    eprintln!("a guard cannot start {} on this system", program.to_string_lossy());
    ExitCode::from(FAILED)
}
