//! Questions on the terminal.

use std::io::{BufRead, IsTerminal, Write};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::signals::Attention;
use crate::view::View;

/// The user at the standard input. Questions go to the standard output.
#[derive(Debug)]
pub struct Prompt {
    /// Only one question is asked at a time.
    turn: Mutex<()>,
    /// Escape sequences: bold, and its end.
    bold: (&'static str, &'static str),
}

impl Prompt {
    /// Uses the standard input.
    pub fn new() -> Prompt {
        Prompt { turn: Mutex::new(()), bold: ("", "") }
    }

    /// A prompt for commands whose output has colors even if it is not a terminal, as in OpenTofu.
    pub fn colored(view: &View) -> Prompt {
        let bold = if view.escape("0").is_empty() { ("", "") } else { ("\x1b[1m", "\x1b[0m") };
        Prompt { bold, ..Prompt::new() }
    }

    /// The answer to a question with an explanation; `None` without an answer. A `secret` is not shown.
    pub fn answer(&self, question: &str, detail: &str, secret: bool) -> Option<String> {
        let mut text = format!("\n{question}\n");
        for line in detail.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str("\n  Enter a value: ");
        self.ask(&text, secret, "error asking for input: interrupted").map(|answer| answer.trim().to_owned())
    }

    /// The answer to a question about a setting of the backend; `None` without an answer.
    pub fn setting(&self, name: &str) -> Option<String> {
        let what = format!("error asking for {name}: interrupted");
        self.ask(&format!("{name}\n\n  Enter a value: "), false, &what)
    }

    /// The answer to a question about a variable; `None` without an answer.
    pub fn variable(&self, name: &str, description: Option<&str>, secret: bool) -> Option<String> {
        let mut question = format!("var.{name}\n");
        for line in description.into_iter().flat_map(str::lines) {
            question.push_str(&format!("  {line}\n"));
        }
        question.push_str(if description.is_some() { "\n  Enter a value: " } else { "  Enter a value: " });
        let what = format!("error asking for var.{name}: interrupted");
        // As in OpenTofu, the values of sensitive variables come from a terminal only.
        if secret && !std::io::stdin().is_terminal() {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(question.as_bytes()).and_then(|()| out.flush());
            return None;
        }
        self.ask(&question, secret, &what)
    }

    /// Whether the answer to a question is exactly `yes`.
    pub fn confirm(&self, question: &str, detail: &str) -> bool {
        self.decide(question, detail).unwrap_or(false)
    }

    /// Like [`Prompt::confirm`], but `None` if the input has ended.
    pub fn decide(&self, question: &str, detail: &str) -> Option<bool> {
        let (bold, reset) = self.bold;
        let mut text = format!("{reset}{bold}\n{question}{reset}\n");
        for line in detail.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str(&format!("\n  {bold}Enter a value:{reset} {reset}"));
        self.ask(&text, false, "error asking for approval: interrupted").map(|answer| answer == "yes")
    }

    fn ask(&self, question: &str, secret: bool, interrupted: &str) -> Option<String> {
        let _turn = self.turn.lock();
        let mut out = std::io::stdout().lock();
        out.write_all(question.as_bytes()).ok()?;
        out.flush().ok()?;
        let hidden = secret.then(Hidden::begin).flatten();
        let _interruptible =
            Interruptible::begin(hidden.as_ref().map(|hidden| hidden.before.clone()), interrupted.to_owned());
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        // As in OpenTofu, an answer counts once its line has ended.
        if read.is_err() || !answer.ends_with('\n') {
            return None;
        }
        let _ = out.write_all(b"\n");
        Some(answer.trim_end_matches(['\r', '\n']).to_owned())
    }
}

/// Lets SIGINT and SIGTERM end the process while it lives. This is the only way to interrupt the reading of a line:
/// once a command has caught these signals, they interrupt nothing.
struct Interruptible {
    /// Dropped after the answer.
    _answered: oneshot::Sender<()>,
}

impl Interruptible {
    /// `before` is the state of the terminal before it hid the input.
    fn begin(before: Option<rustix::termios::Termios>, words: String) -> Option<Interruptible> {
        let (answered, waiting) = oneshot::channel::<()>();
        let mut attention = Attention::begin(1);
        let watch = move || {
            // Without a runtime nothing is caught, and signals have their default effect.
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                tokio::select! {
                    _ = waiting => {}
                    () = attention.next() => {
                        if let Some(before) = before {
                            show_again(&before);
                        }
                        eprintln!("\n\nError: {words}");
                        std::process::exit(i32::from(Exit::FAILED.0));
                    }
                }
            });
        };
        std::thread::Builder::new().name("prompt".to_owned()).spawn(watch).ok()?;
        Some(Interruptible { _answered: answered })
    }
}

fn show_again(before: &rustix::termios::Termios) {
    use rustix::termios::{OptionalActions, tcsetattr};
    // The terminal may be gone, which cannot be helped.
    let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
}

/// Stops the terminal from showing the input while it lives.
struct Hidden {
    before: rustix::termios::Termios,
}

impl Hidden {
    fn begin() -> Option<Hidden> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let input = std::io::stdin();
        let before = tcgetattr(&input).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO;
        tcsetattr(&input, OptionalActions::Now, &quiet).ok()?;
        Some(Hidden { before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        show_again(&self.before);
    }
}
