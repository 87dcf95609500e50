//! Opening pages in the browser of the user.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use url::Url;

use crate::context::environment;

/// Programs that open a page in the default browser of the desktop.
const OPENERS: &[&str] =
    if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "x-www-browser", "www-browser", "wslview"] };

/// Opens a page with the program in `BROWSER`, or with the default one. Returns whether this succeeded.
pub fn open(url: &Url) -> bool {
    let named = environment("BROWSER").and_then(|name| program(&name));
    let Some(program) = named.or_else(|| OPENERS.iter().find_map(|name| program(name))) else { return false };
    let opened = Command::new(program).arg(url.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).status();
    opened.is_ok_and(|status| status.success())
}

/// The path of the program with this name, from `PATH`.
fn program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    let places = std::env::var_os("PATH")?;
    std::env::split_paths(&places).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
