//! Questions on the terminal.

use std::io::{BufRead, IsTerminal, Write};

use parking_lot::Mutex;

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
        (0..TRIES).find_map(|_| self.ask(&question, secret).filter(|answer| !answer.is_empty()))
    }

    /// Whether the answer to a question is exactly `yes`.
    pub fn confirm(&self, question: &str, detail: &str) -> bool {
        let mut text = format!("\n{question}\n");
        for line in detail.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str("\n  Enter a value: ");
        self.ask(&text, false).is_some_and(|answer| answer == "yes")
    }

    fn ask(&self, question: &str, secret: bool) -> Option<String> {
        let _turn = self.turn.lock();
        let mut out = std::io::stdout().lock();
        out.write_all(question.as_bytes()).ok()?;
        out.flush().ok()?;
        let hidden = secret.then(Hidden::begin).flatten();
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
        use rustix::termios::{OptionalActions, tcsetattr};
        // Nothing can be done about a terminal that is gone.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
