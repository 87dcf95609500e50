//! Questions on the terminal.

use std::io::{BufRead, IsTerminal, Write};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::signals::Attention;
use crate::view::View;

/// Asks the user. Answers come from the standard input, and questions go to the standard output.
#[derive(Debug)]
pub struct Prompt {
    /// Locked during a question, because only one question is asked at a time.
    turn: Mutex<()>,
    /// The escape sequences for bold text, and for its end.
    bold: (&'static str, &'static str),
}

impl Prompt {
    /// A prompt without colors.
    pub fn new() -> Prompt {
        Prompt { turn: Mutex::new(()), bold: ("", "") }
    }

    /// A prompt for commands whose output has colors even if it is not a terminal, as in OpenTofu.
    pub fn colored(view: &View) -> Prompt {
        let bold = if view.escape("0").is_empty() { ("", "") } else { ("\x1b[1m", "\x1b[0m") };
        Prompt { bold, ..Prompt::new() }
    }

    /// Asks a question with an explanation. `None` if there is no answer. If `secret` is set, the terminal does not
    /// show the answer.
    pub fn answer(&self, question: &str, detail: &str, secret: bool) -> Option<String> {
        let mut text = format!("\n{question}\n");
        for line in detail.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str("\n  Enter a value: ");
        self.ask(&text, secret, "error asking for input: interrupted").map(|answer| answer.trim().to_owned())
    }

    /// Asks for a setting of the backend. `None` if there is no answer.
    pub fn setting(&self, name: &str) -> Option<String> {
        let what = format!("error asking for {name}: interrupted");
        self.ask(&format!("{name}\n\n  Enter a value: "), false, &what)
    }

    /// Asks for the value of a variable. `None` if there is no answer.
    pub fn variable(&self, name: &str, description: Option<&str>, secret: bool) -> Option<String> {
        let mut question = format!("var.{name}\n");
        for line in description.into_iter().flat_map(str::lines) {
            question.push_str(&format!("  {line}\n"));
        }
        question.push_str(if description.is_some() { "\n  Enter a value: " } else { "  Enter a value: " });
        let what = format!("error asking for var.{name}: interrupted");
        // As in OpenTofu, values of sensitive variables are read only from a terminal.
        if secret && !std::io::stdin().is_terminal() {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(question.as_bytes()).and_then(|()| out.flush());
            return None;
        }
        self.ask(&question, secret, &what)
    }

    /// Asks a question. Returns whether the answer is exactly `yes`.
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
        // As in OpenTofu, an answer counts only if its line has ended.
        if read.is_err() || !answer.ends_with('\n') {
            return None;
        }
        let _ = out.write_all(b"\n");
        Some(answer.trim_end_matches(['\r', '\n']).to_owned())
    }
}

/// While this value exists, SIGINT and SIGTERM end the process. Otherwise, a user could not interrupt the reading of a
/// line: once a command handles these signals, they no longer interrupt system calls.
struct Interruptible {
    /// Dropped after the answer, which ends the watch for signals.
    _answered: oneshot::Sender<()>,
}

impl Interruptible {
    /// Begins to watch for signals. `before` is the state of the terminal before its echo was turned off.
    fn begin(before: Option<rustix::termios::Termios>, words: String) -> Option<Interruptible> {
        let (answered, waiting) = oneshot::channel::<()>();
        let mut attention = Attention::begin(1);
        let watch = move || {
            // Without a runtime nothing handles the signals, and they have their default effect.
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
    // The terminal may no longer exist. Nothing can be done about that.
    let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
}

/// While this exists, the terminal does not show the input.
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
