//! Shell completion.
//!
//! A shell that was configured with `complete -C PROGRAM NAME` runs the program with the current line in `COMP_LINE`.
//! Each line of the output is a completion. [`install`] configures the installed shells, in the files that they read at
//! startup.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use weft_state::choice::quoted;

use crate::command::Command;
use crate::commands::{self, CommandLookup, all, groups};
use crate::context::{Context, environment};
use crate::exit::Exit;
use crate::options::Arguments;
use crate::store::StoreLocation;
use crate::view::View;

/// Options that precede the command.
const GLOBAL: [&str; 5] = ["-chdir=", "-help", "-install-autocomplete", "-uninstall-autocomplete", "-version"];

/// Prints the completions of a command line, each on its own line.
pub fn answer(line: &str) {
    let point = environment("COMP_POINT").and_then(|text| text.parse::<usize>().ok());
    let line = point.and_then(|point| line.get(..point)).unwrap_or(line);
    let mut out = std::io::stdout().lock();
    for way in ways(line) {
        // The shell may have closed the pipe.
        let _ = writeln!(out, "{way}");
    }
}

/// The completions, in order.
fn ways(line: &str) -> BTreeSet<String> {
    let mut words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let last = if line.ends_with(char::is_whitespace) { "" } else { words.pop().unwrap_or_default() };
    let before: Vec<String> =
        words.iter().skip_while(|word| word.starts_with('-')).map(|word| (*word).to_owned()).collect();
    let found = match before.first() {
        None if last.starts_with('-') => GLOBAL.map(str::to_owned).to_vec(),
        None => all().map(|command| command.words[0].to_owned()).chain(groups().map(str::to_owned)).collect(),
        Some(_) => match commands::find(&before) {
            CommandLookup::Command { command, words } => of_command(command, before.len() - words, last),
            CommandLookup::Group(group) if before.len() == 1 => {
                let inside = all().filter(|command| command.words.len() == 2 && command.words[0] == group);
                inside.map(|command| command.words[1].to_owned()).collect()
            }
            _ => Vec::new(),
        },
    };
    found.into_iter().filter(|way| way.starts_with(last)).collect()
}

/// The completions after a command. `behind` is the number of words between the command and `last`.
fn of_command(command: &Command, behind: usize, last: &str) -> Vec<String> {
    if last.starts_with('-') {
        return command.listed().iter().map(|flag| format!("-{}", flag.name)).chain(["-help".to_owned()]).collect();
    }
    match command.words {
        ["workspace", "select" | "delete"] if behind == 0 => workspaces(),
        // A command can also be the first word of others: `weft plan` and `weft plan inspect` are both commands.
        words if behind == 0 => {
            let inside = all().filter(|other| other.words.len() == words.len() + 1 && other.words.starts_with(words));
            inside.filter_map(|other| other.words.last()).map(|word| (*word).to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

fn workspaces() -> Vec<String> {
    let context = Context::new(std::env::current_dir().unwrap_or_default(), false);
    StoreLocation::workspaces(&context, &Arguments::default())
        .ok()
        .and_then(|workspaces| workspaces.names().ok())
        .unwrap_or_default()
}

/// The startup file of a shell, and the lines that completion needs in it.
struct ShellFile {
    path: PathBuf,
    lines: Vec<String>,
}

/// The startup files of the installed shells.
fn shell_files(home: &Path, program: &str, name: &str) -> Vec<ShellFile> {
    let mut files = Vec::new();
    let bash = [".bashrc", ".bash_profile", ".bash_login", ".profile"].map(|file| home.join(file));
    if let Some(path) = bash.into_iter().find(|path| path.is_file()) {
        files.push(ShellFile { path, lines: vec![format!("complete -C {program} {name}")] });
    }
    let zsh = home.join(".zshrc");
    if zsh.is_file() {
        let lines = vec![
            "autoload -U +X bashcompinit && bashcompinit".to_owned(),
            format!("complete -o nospace -C {program} {name}"),
        ];
        files.push(ShellFile { path: zsh, lines });
    }
    let fish = home.join(".config/fish");
    if fish.is_dir() {
        let lines = vec![
            format!("function __complete_{name}"),
            format!(
                "    set -lx COMP_LINE (commandline -cp); test -z (commandline -ct); and set COMP_LINE \"$COMP_LINE \"; {program}"
            ),
            "end".to_owned(),
            format!("complete -f -c {name} -a \"(__complete_{name})\""),
        ];
        files.push(ShellFile { path: fish.join("completions").join(format!("{name}.fish")), lines });
    }
    files
}

/// Why the file of a shell was not changed.
#[derive(Debug, thiserror::Error)]
enum ShellFileProblem {
    #[error("already installed in {}", .0.display())]
    Installed(PathBuf),
    #[error("not installed in {}", .0.display())]
    NotInstalled(PathBuf),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
}

impl ShellFile {
    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap_or_default()
    }

    /// Whether the file contains the last of the lines. This line names the program.
    fn is_installed(&self) -> bool {
        self.lines.last().is_some_and(|wanted| self.text().lines().any(|line| line == wanted))
    }

    fn install(&self) -> Result<(), ShellFileProblem> {
        if self.is_installed() {
            return Err(ShellFileProblem::Installed(self.path.clone()));
        }
        let mut text = self.text();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for line in self
            .lines
            .iter()
            .filter(|line| !text.lines().any(|known| known == line.as_str()))
            .cloned()
            .collect::<Vec<_>>()
        {
            text.push_str(&line);
            text.push('\n');
        }
        let folder = self.path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let done = folder.and_then(|()| std::fs::write(&self.path, text));
        done.map_err(|error| ShellFileProblem::Io { path: self.path.clone(), error })
    }

    fn uninstall(&self) -> Result<(), ShellFileProblem> {
        if !self.is_installed() {
            return Err(ShellFileProblem::NotInstalled(self.path.clone()));
        }
        // Other programs may need the line that turns completion on.
        let ours = |line: &str| self.lines.iter().any(|own| own == line) && !line.starts_with("autoload ");
        let kept: String =
            self.text().split_inclusive('\n').filter(|line| !ours(line.trim_end_matches('\n'))).collect();
        let done = match kept.is_empty() && self.path.extension() == Some(OsStr::new("fish")) {
            true => std::fs::remove_file(&self.path),
            false => std::fs::write(&self.path, kept),
        };
        done.map_err(|error| ShellFileProblem::Io { path: self.path.clone(), error })
    }
}

/// The path and the name with which the program was called. If the program was called through a link, these are the
/// path and the name of the link.
fn called() -> Option<(String, String)> {
    let first = PathBuf::from(std::env::args_os().next()?);
    let name = first.file_name()?.to_str()?.to_owned();
    let place = if first.components().count() > 1 {
        std::path::absolute(&first).ok()?
    } else {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join(&first)).find(|place| place.is_file())?
    };
    let text = place.to_str()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte));
    Some((if plain { text.to_owned() } else { quoted(text) }, name))
}

/// Installs completion for the shells of the user.
pub fn install() -> Exit {
    in_all(ShellFile::install)
}

/// Removes completion from the shells of the user.
pub fn uninstall() -> Exit {
    in_all(ShellFile::uninstall)
}

fn in_all(work: fn(&ShellFile) -> Result<(), ShellFileProblem>) -> Exit {
    let home = environment("HOME").map(PathBuf::from);
    let files = match home.zip(called()) {
        Some((home, (program, name))) => shell_files(&home, &program, &name),
        None => Vec::new(),
    };
    if files.is_empty() {
        View::plain().aside("Did not find any shells to install: there is no .bashrc, .zshrc or .config/fish.");
        return Exit::FAILED;
    }
    let problems: Vec<ShellFileProblem> = files.iter().filter_map(|file| work(file).err()).collect();
    for problem in &problems {
        View::plain().aside(&format!("Error: {problem}"));
    }
    if problems.is_empty() { Exit::DONE } else { Exit::FAILED }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways_of(line: &str) -> Vec<String> {
        ways(line).into_iter().collect()
    }

    #[test]
    fn commands_groups_and_options_are_completed() {
        assert_eq!(ways_of("weft pl"), ["plan"]);
        assert_eq!(ways_of("weft -chdir=x state l"), ["list"]);
        assert_eq!(ways_of("weft plan ins"), ["inspect"]);
        assert_eq!(ways_of("weft -v"), ["-version"]);
        assert!(ways_of("weft plan -ou").contains(&"-out".to_owned()));
        assert!(ways_of("weft xx ").is_empty());
        assert!(ways_of("weft ").contains(&"state".to_owned()));
        assert!(ways_of("").contains(&"plan".to_owned()));
    }

    #[test]
    fn uninstalling_restores_the_files_of_the_shells() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".bashrc"), "a=1").unwrap();
        std::fs::create_dir_all(home.path().join(".config/fish")).unwrap();
        let files = shell_files(home.path(), "/bin/weft", "weft");
        assert_eq!(files.len(), 2);
        for file in &files {
            file.install().unwrap();
            assert!(file.install().unwrap_err().to_string().starts_with("already installed"));
        }
        assert_eq!(std::fs::read_to_string(home.path().join(".bashrc")).unwrap(), "a=1\ncomplete -C /bin/weft weft\n");
        for file in &files {
            file.uninstall().unwrap();
            assert!(file.uninstall().is_err());
        }
        assert_eq!(std::fs::read_to_string(home.path().join(".bashrc")).unwrap(), "a=1\n");
        assert!(!files[1].path.exists());
    }
}
