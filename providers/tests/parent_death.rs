//! A plugin dies with the process that started it, even if that process is killed with SIGKILL.
//!
//! This program plays all roles: the test, the process that dies, and the guard, through which that process starts the
//! plugin. The plugin is a script that only waits, so the test needs no other program.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use weft_providers::{LaunchSpec, ProviderSession, SessionOptions, guard};

const PARENT: &str = "--play-parent";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(arg) if arg == guard::COMMAND => guard::run(args),
        Some(arg) if arg == PARENT => parent(Path::new(&args.next().unwrap())),
        Some(arg) if arg == "--list" => ExitCode::SUCCESS,
        _ if !cfg!(target_os = "linux") => {
            eprintln!("*** SKIPPED: the guard works on Linux only ***");
            ExitCode::SUCCESS
        }
        _ => {
            the_plugin_dies_with_its_parent();
            a_guard_without_its_parent_starts_nothing();
            println!("parent_death: 2 passed");
            ExitCode::SUCCESS
        }
    }
}

/// Starts the plugin, which never becomes ready, and waits to be killed.
fn parent(plugin: &Path) -> ExitCode {
    guard::set_program(guard::own_program().unwrap());
    // Several threads, so that the forking thread is not the one that lives longest.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let spec = LaunchSpec::new("waiting", plugin);
    let launched = runtime.block_on(async move {
        tokio::spawn(async move { ProviderSession::launch(&spec, SessionOptions::default()).await.map(|_| ()) }).await
    });
    eprintln!("not expected: {launched:?}");
    ExitCode::FAILURE
}

fn the_plugin_dies_with_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let plugin = script(folder.path(), &format!("#!/bin/sh\necho $$ > {}\nexec sleep 60\n", pid_file.display()));
    let mut parent = Command::new(std::env::current_exe().unwrap());
    // The folder is removed together with the files that the killed process leaves behind.
    let mut parent = parent.arg(PARENT).arg(&plugin).env("TMPDIR", folder.path()).spawn().unwrap();
    let pid = wait_for(|| std::fs::read_to_string(&pid_file).ok()?.trim().parse::<u32>().ok());
    assert!(running(pid));
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_for(|| (!running(pid)).then_some(()));
}

fn a_guard_without_its_parent_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = script(folder.path(), "#!/bin/sh\necho started\n");
    let mut guard = Command::new(std::env::current_exe().unwrap())
        // Process 1 is not the parent.
        .args(guard::arguments(1, &plugin))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(guard.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(!guard.wait().unwrap().success());
    assert_eq!(line, "");
}

fn script(folder: &Path, text: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("plugin");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Whether the process exists and is not just waiting to be reaped.
fn running(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat.contains(") Z "),
        Err(_) => false,
    }
}

fn wait_for<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "it did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
