//! Questions on the terminal.

use std::io::{BufRead, IsTerminal, Write};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::signals::Attention;

/// How often a question is asked again when the answer was empty.
const TRIES: usize = 2;

/// Somebody to ask: the standard input, with the questions on the standard output.
#[derive(Debug)]
pub struct Prompt {
    /// One question at a time.
    turn: Mutex<()>,
}

impl Prompt {
    /// Somebody to ask.
    pub fn new() -> Prompt {
        Prompt { turn: Mutex::new(()) }
    }

    /// The answer to a question about a variable; none when there is no answer.
    pub fn variable(&self, name: &str, description: Option<&str>, secret: bool) -> Option<String> {
        let mut question = format!("var.{name}\n");
        for line in description.into_iter().flat_map(str::lines) {
            question.push_str(&format!("  {line}\n"));
        }
        question.push_str("\n  Enter a value: ");
        let what = format!("error asking for var.{name}: interrupted");
        (0..TRIES).find_map(|_| self.ask(&question, secret, &what).filter(|answer| !answer.is_empty()))
    }

    /// Whether the answer to a question is exactly `yes`.
    pub fn confirm(&self, question: &str, detail: &str) -> bool {
        self.decide(question, detail).unwrap_or(false)
    }

    /// The same; none where the input has ended and nobody answers.
    pub fn decide(&self, question: &str, detail: &str) -> Option<bool> {
        let mut text = format!("\n{question}\n");
        for line in detail.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str("\n  Enter a value: ");
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
        if hidden.is_some() || !std::io::stdin().is_terminal() {
            // The line end was not shown.
            let _ = out.write_all(b"\n");
        }
        match read {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(answer.trim_end_matches(['\r', '\n']).to_owned()),
        }
    }
}

/// SIGINT and SIGTERM end the process as long as this lives. Reading a line cannot be broken off otherwise: once a command
/// has caught these signals, they interrupt nothing.
struct Interruptible {
    /// Dropped when there is an answer.
    _answered: oneshot::Sender<()>,
}

impl Interruptible {
    /// `before` is how the terminal was before it hid what is typed.
    fn begin(before: Option<rustix::termios::Termios>, words: String) -> Option<Interruptible> {
        let (answered, waiting) = oneshot::channel::<()>();
        let mut attention = Attention::begin(1);
        let watch = move || {
            // Without a runtime nothing is caught, and signals do what they did before.
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
    // Nothing can be done about a terminal that is gone.
    let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
}

/// The terminal does not show what is typed as long as this lives.
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
