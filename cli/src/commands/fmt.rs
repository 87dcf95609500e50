//! `weft fmt`: rewrites files in the canonical style.

mod problems;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use similar::TextDiff;
use weft_evaluator::config::SourceFiles;
use weft_graph_format::diagnostic::Diagnostic;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::{switch, switch_on};

/// The suffixes of the files that are formatted.
const ENDS: [&str; 5] = [".tf", ".tofu", ".tfvars", ".tftest.hcl", ".tofutest.hcl"];

/// The command.
pub const FMT: Command = Command {
    words: &["fmt"],
    alias: None,
    operands: "[PATH... | -]",
    about: "Rewrite configuration files in the canonical style",
    main: false,
    flags: &[
        command::VIEW,
        &[
            switch_on("list", "Do not list the changed files."),
            switch_on("write", "Do not write the files."),
            switch("diff", "Print the changes."),
            switch("check", "Write no files. Exit with 3 if a file is not formatted."),
            switch("recursive", "Include subdirectories."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run,
};

/// The options of a command, and its results so far.
struct Pass<'a> {
    invocation: &'a Invocation<'a>,
    list: bool,
    write: bool,
    diff: bool,
    /// Whether to print the formatted text of all files and do nothing else.
    prints: bool,
    recursive: bool,
    /// With `-check`: the output, which is shown only if all files can be read. `None` to show everything at once.
    held: Option<String>,
    changed: bool,
    problems: Vec<Diagnostic>,
}

fn run(invocation: &Invocation<'_>) -> Exit {
    let arguments = &invocation.arguments;
    let check = arguments.switch("check", false);
    let list = arguments.switch("list", true);
    let write = arguments.switch("write", true) && !check;
    let diff = arguments.switch("diff", false);
    let mut pass = Pass {
        invocation,
        list,
        write,
        diff,
        prints: !(list || write || diff || check),
        recursive: arguments.switch("recursive", false),
        held: check.then(String::new),
        changed: false,
        problems: Vec::new(),
    };
    match arguments.positionals.as_slice() {
        [] => pass.directory(Path::new(".")),
        [first, ..] if first == "-" => pass.input(check),
        paths => paths.iter().for_each(|path| {
            pass.path(Path::new(if path.is_empty() { "." } else { path }));
        }),
    }
    if !pass.problems.is_empty() {
        invocation.view.diagnostics(&pass.problems);
        return Exit::UNREADABLE;
    }
    if let Some(held) = &pass.held {
        invocation.view.document(held);
    }
    if check && pass.changed { Exit::UNFORMATTED } else { Exit::DONE }
}

/// Whether files of this kind can be formatted.
fn can_be_formatted(name: &str) -> bool {
    ENDS.iter().any(|end| name.ends_with(end))
}

impl Pass<'_> {
    fn path(&mut self, path: &Path) {
        match std::fs::metadata(path) {
            Err(_) => self.problems.push(problems::nothing_there(path)),
            Ok(found) if found.is_dir() => self.directory(path),
            Ok(_) if path.file_name().is_some_and(|name| can_be_formatted(&name.to_string_lossy())) => self.file(path),
            Ok(_) => self.problems.push(problems::other_kind_of_file(path)),
        }
    }

    fn directory(&mut self, directory: &Path) {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                return self.problems.push(problems::directory_unreadable(directory, &error));
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let path = path.strip_prefix(".").unwrap_or(&path);
            if path.is_dir() {
                if self.recursive && !name.starts_with('.') {
                    self.directory(path);
                }
            } else if !name.starts_with('.') && can_be_formatted(&name) {
                self.file(path);
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let name = path.display().to_string();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => return self.problems.push(problems::file_unreadable(&name, &error)),
        };
        let Some(formatted) = self.formatted(&name, &text) else { return };
        if self.prints {
            return self.invocation.view.document(&formatted);
        }
        if formatted == text {
            return;
        }
        self.changed = true;
        if self.list {
            self.show(&format!("{name}\n"));
        }
        if self.diff {
            self.show_difference(&name, &text, &formatted);
        }
        if self.write
            && let Err(error) = std::fs::write(path, formatted)
        {
            self.problems.push(problems::file_unwritable(&name, &error));
        }
    }

    fn input(&mut self, check: bool) {
        let mut text = String::new();
        if let Err(error) = std::io::stdin().read_to_string(&mut text) {
            return self.problems.push(problems::input_unreadable(&error));
        }
        let Some(formatted) = self.formatted("<stdin>", &text) else { return };
        self.changed = formatted != text;
        if check {
            // As in OpenTofu, `-check` prints nothing for the standard input, even with `-diff`.
        } else if self.diff {
            self.show_difference("<stdin>", &text, &formatted);
        } else {
            self.invocation.view.document(&formatted);
        }
    }

    fn formatted(&mut self, name: &str, text: &str) -> Option<String> {
        match weft_syntax::format(name, Arc::from(text)) {
            Ok(formatted) => Some(formatted),
            Err(problems) => {
                self.invocation.view.know(&SourceFiles::native(name, text));
                self.problems.extend(problems);
                None
            }
        }
    }

    fn show_difference(&mut self, name: &str, old: &str, new: &str) {
        let diff = TextDiff::from_lines(old, new);
        let text = diff.unified_diff().header(&format!("old/{name}"), &format!("new/{name}")).to_string();
        self.show(&text);
    }

    fn show(&mut self, text: &str) {
        match &mut self.held {
            Some(held) => held.push_str(text),
            None => self.invocation.view.document(text),
        }
    }
}
