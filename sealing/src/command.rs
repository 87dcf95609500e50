//! Commands with OpenTofu's protocol for external key providers and methods. The command prints one line that
//! identifies it, reads its input to the end, and prints its output.
//!
//! Invariants: nothing is sent to a program before it has identified itself. The program is killed and waited for on
//! every exit path. The error output of the program is quoted without any secret of its input or output.
//!
//! Source: the schemas of OpenTofu's external key provider and method (`protocol/*.schema.json`).

mod error;
mod redact;

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use zeroize::Zeroizing;

pub use error::{CommandError, OutputProblem};

/// The time limit of a command. The command may ask the user to touch a hardware key, or encrypt a large state.
pub const COMMAND_TIME: Duration = Duration::from_secs(120);

/// The maximum length of the first line of the output. The lines of version 1 have at most 60 bytes, but later versions
/// of the protocol may extend them.
pub const LONGEST_GREETING: u64 = 4 << 10;

/// The maximum number of bytes of a command's error output that are stored. The rest is discarded.
pub const LONGEST_COMPLAINT: usize = 4 << 10;

/// The version of the protocols for key providers and for methods.
pub const PROTOCOL_VERSION: u64 = 1;

/// The time to wait for the remaining output of a program that has ended, because a child of the program may keep the
/// pipe open. Also the time to wait for the end of a program whose output is no longer needed.
const GRACE: Duration = Duration::from_millis(500);

/// The pause between two checks whether a program has ended.
const POLL: Duration = Duration::from_millis(10);

#[derive(Deserialize)]
struct Greeting {
    magic: String,
    version: u64,
}

/// A part of a program's output. The parts come in this order.
enum Part {
    Greeting(std::io::Result<Vec<u8>>),
    Output(std::io::Result<Zeroizing<Vec<u8>>>),
}

/// The input of a command.
#[derive(Debug)]
pub(crate) enum Input {
    /// Text without secrets.
    Open(String),
    /// Text with secrets. The secrets are removed from the command's error output.
    Secret(Zeroizing<String>),
}

impl Input {
    fn text(&self) -> &str {
        match self {
            Input::Open(text) => text,
            Input::Secret(text) => text,
        }
    }
}

/// Runs a command of the protocol with this `magic`. Returns the output that follows the first line. More than `most`
/// bytes of output are an error.
pub(crate) fn run(
    command: &[String],
    magic: &'static str,
    input: Input,
    most: u64,
    time: Duration,
) -> Result<Zeroizing<Vec<u8>>, CommandError> {
    let Some((program, arguments)) = command.split_first() else {
        // Unreachable: the check of the settings refuses an empty command.
        return Err(CommandError::Start { program: String::new(), error: "it is empty".to_owned() });
    };
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| CommandError::Start { program: program.clone(), error: error.to_string() })?;
    let mut talk = Talk::with(child, program, input, most, time)?;
    let output = talk.greeting(magic).and_then(|()| talk.send()).and_then(|()| talk.output());
    match (output, talk.ended_in_time()) {
        (Ok(output), Some(status)) if status.success() => Ok(output),
        (Ok(output), Some(status)) => Err(talk.failed(status, &String::from_utf8_lossy(&output))),
        (Ok(_), None) => Err(talk.late()),
        (Err(error @ CommandError::TooLong { .. }), _) => Err(error),
        // A program that fails before its first line prints the reason on its standard error. A status without a code
        // means that a signal ended the program. This process may have sent that signal, so such a status does not
        // explain the error.
        (Err(_), Some(status)) if status.code().is_some_and(|code| code != 0) => Err(talk.failed(status, "")),
        (Err(error), _) => Err(error),
    }
}

/// A running program, and the threads that read its output. A thread may run longer than the program: a read ends only
/// when output arrives or the other end of the pipe is closed.
struct Talk {
    child: Child,
    program: String,
    input: Arc<Input>,
    parts: Receiver<Part>,
    complaint: Arc<Mutex<Vec<u8>>>,
    complaining: Option<thread::JoinHandle<()>>,
    most: u64,
    time: Duration,
    deadline: Instant,
    /// Whether the program must be killed, because it will not produce its output.
    given_up: bool,
    /// Whether the threads should ignore the remaining output.
    over: Arc<AtomicBool>,
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Talk {
    fn with(child: Child, program: &str, input: Input, most: u64, time: Duration) -> Result<Talk, CommandError> {
        let (sender, parts) = channel();
        let mut talk = Talk {
            child,
            program: program.to_owned(),
            input: Arc::new(input),
            parts,
            complaint: Arc::default(),
            complaining: None,
            most,
            time,
            deadline: Instant::now() + time,
            given_up: false,
            over: Arc::default(),
        };
        if let Some(stdout) = talk.child.stdout.take() {
            let stdout = UntilOver { pipe: stdout, over: Arc::clone(&talk.over) };
            talk.beside(move || read_parts(stdout, most, &sender))?;
        }
        if let Some(stderr) = talk.child.stderr.take() {
            let stderr = UntilOver { pipe: stderr, over: Arc::clone(&talk.over) };
            let complaint = Arc::clone(&talk.complaint);
            talk.complaining = Some(talk.beside(move || keep_beginning(stderr, &complaint))?);
        }
        Ok(talk)
    }

    /// Runs work that may block on the pipes of the program in a new thread.
    fn beside(&self, work: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>, CommandError> {
        let failed =
            |error: std::io::Error| CommandError::Start { program: self.program.clone(), error: error.to_string() };
        thread::Builder::new().spawn(work).map_err(failed)
    }

    /// Waits for the first line.
    fn greeting(&mut self, magic: &'static str) -> Result<(), CommandError> {
        let line = match self.next_part()? {
            Part::Greeting(line) => line.map_err(|error| self.broken(&error))?,
            Part::Output(_) => Vec::new(),
        };
        let greeting = serde_json::from_slice::<Greeting>(&line).ok().filter(|said| said.magic == magic);
        match greeting {
            Some(said) if said.version == PROTOCOL_VERSION && line.ends_with(b"\n") => Ok(()),
            Some(said) if said.version != PROTOCOL_VERSION => {
                self.given_up = true;
                Err(CommandError::Version { program: self.program.clone(), version: said.version })
            }
            _ => {
                self.given_up = true;
                Err(CommandError::Greeting { program: self.program.clone(), magic })
            }
        }
    }

    /// Sends the input on a new thread, which then closes the pipe. The output is read at the same time, because both
    /// input and output may be larger than the buffer of a pipe.
    fn send(&mut self) -> Result<(), CommandError> {
        let Some(mut stdin) = self.child.stdin.take() else { return Ok(()) };
        let input = Arc::clone(&self.input);
        // A program that needs no input may close the pipe. Its output is still valid.
        self.beside(move || _ = stdin.write_all(input.text().as_bytes()))?;
        Ok(())
    }

    /// Waits for the output after the first line.
    fn output(&mut self) -> Result<Zeroizing<Vec<u8>>, CommandError> {
        let output = match self.next_part()? {
            Part::Output(output) => output.map_err(|error| self.broken(&error))?,
            Part::Greeting(_) => Zeroizing::default(),
        };
        if output.len() as u64 > self.most {
            self.given_up = true;
            return Err(CommandError::TooLong { program: self.program.clone(), most: self.most });
        }
        Ok(output)
    }

    fn next_part(&mut self) -> Result<Part, CommandError> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.parts.recv_timeout(left.min(POLL)) {
                Ok(part) => return Ok(part),
                Err(RecvTimeoutError::Disconnected) => {
                    self.given_up = true;
                    return Err(CommandError::Read {
                        program: self.program.clone(),
                        error: "its pipe is closed".to_owned(),
                    });
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    self.given_up = true;
                    return Err(self.late());
                }
                Err(RecvTimeoutError::Timeout) => {
                    // A program that failed may have a child that keeps the pipes open. So the exit status is checked
                    // too.
                    if let Ok(Some(status)) = self.child.try_wait()
                        && !status.success()
                    {
                        return Err(self.failed(status, ""));
                    }
                }
            }
        }
    }

    /// Waits for the end of the program, and returns its exit status. `None` if the program is still running at the
    /// deadline or, if `given_up` is set, after [`GRACE`].
    fn ended_in_time(&mut self) -> Option<ExitStatus> {
        let grace = Instant::now() + GRACE;
        let until = if self.given_up { grace.min(self.deadline) } else { self.deadline };
        let mut pause = Duration::from_millis(1);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(pause),
                Ok(None) | Err(_) => return None,
            }
            pause = (pause * 2).min(POLL);
        }
    }

    fn late(&self) -> CommandError {
        CommandError::Late { program: self.program.clone(), seconds: self.time.as_secs() }
    }

    fn broken(&self, error: &std::io::Error) -> CommandError {
        CommandError::Read { program: self.program.clone(), error: error.to_string() }
    }

    /// The error output of a failed program, without secrets of its input and output.
    fn failed(&self, status: ExitStatus, output: &str) -> CommandError {
        let grace = Instant::now() + GRACE;
        while self.complaining.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < grace {
            thread::sleep(Duration::from_millis(1));
        }
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = match &*self.input {
            Input::Open(_) => "",
            Input::Secret(text) => text.as_str(),
        };
        let said = redact::without(&String::from_utf8_lossy(&complaint), &[sent, output]);
        CommandError::Failed { program: self.program.clone(), status: status.to_string(), said }
    }
}

/// A reader of a pipe. After `over` is set, the reader reports the end of the input, even if a child of the program
/// continues to write.
struct UntilOver<P> {
    pipe: P,
    over: Arc<AtomicBool>,
}

impl<P: Read> Read for UntilOver<P> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.over.load(Ordering::Relaxed) { Ok(0) } else { self.pipe.read(buffer) }
    }
}

/// Reads the first line, then the rest, and sends both to `parts`. If the output comes too late, the receiver no longer
/// exists, which is not an error.
fn read_parts(stdout: impl Read, most: u64, parts: &Sender<Part>) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    let read = reader.by_ref().take(LONGEST_GREETING).read_until(b'\n', &mut line);
    _ = parts.send(Part::Greeting(read.map(|_| line)));
    let mut output = Zeroizing::new(Vec::new());
    let read = reader.take(most.saturating_add(1)).read_to_end(&mut output);
    _ = parts.send(Part::Output(read.map(|_| output)));
}

/// Reads all output, and stores the beginning in `kept`.
fn keep_beginning(mut from: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = LONGEST_COMPLAINT - kept.len();
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const MAGIC: &str = "Test";

    fn shell(script: &str, input: &str, most: u64, time: Duration) -> Result<String, CommandError> {
        let command = ["sh", "-c", script].map(str::to_owned);
        run(&command, MAGIC, Input::Secret(Zeroizing::new(input.to_owned())), most, time)
            .map(|output| String::from_utf8_lossy(&output).into_owned())
    }

    const LONG: Duration = Duration::from_secs(30);
    const HELLO: &str = "echo '{\"magic\":\"Test\",\"version\":1,\"more\":[]}'\n";

    #[test]
    fn large_input_and_output_do_not_block_each_other() {
        let input = "x".repeat(1 << 20);
        let output = shell(&format!("{HELLO} cat"), &input, 2 << 20, LONG).unwrap();
        assert_eq!(output, input);
    }

    #[test]
    fn input_may_be_left_unread() {
        let input = "x".repeat(1 << 20);
        assert_eq!(shell(&format!("{HELLO} exec 0<&-; echo done"), &input, 100, LONG).unwrap(), "done\n");
    }

    #[test]
    fn nothing_is_sent_to_other_programs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("got");
        let other = "echo '{\"magic\":\"Other\",\"version\":1}'";
        for hello in ["echo hello", other] {
            let script = format!("{hello}; cat > {}", file.display());
            let error = shell(&script, "secret", 100, LONG).unwrap_err();
            assert!(matches!(error, CommandError::Greeting { magic: MAGIC, .. }), "{error}");
            assert!(!file.exists() || std::fs::read(&file).unwrap().is_empty());
        }
        let no_line = "printf '{\"magic\":\"Test\",\"version\":1}'";
        assert!(matches!(shell(no_line, "secret", 100, LONG).unwrap_err(), CommandError::Greeting { .. }));
        let error = shell("echo '{\"magic\":\"Test\",\"version\":2}'; cat", "secret", 100, LONG).unwrap_err();
        assert!(matches!(error, CommandError::Version { version: 2, .. }), "{error}");
    }

    #[test]
    fn a_failure_is_quoted_without_secrets() {
        let error = shell("echo no key on this machine >&2; exit 3", "", 100, LONG).unwrap_err();
        let CommandError::Failed { said, status, .. } = &error else { panic!("{error}") };
        assert_eq!((said.as_str(), status.as_str()), ("no key on this machine", "exit status: 3"));
        let script = format!("set -x\n{HELLO} in=\"$(cat)\"; exit 1");
        let error = shell(&script, "{\"key\":\"c2VjcmV0IGtleSBvZiBtaW5l\"}", 100, LONG).unwrap_err();
        let CommandError::Failed { said, .. } = &error else { panic!("{error}") };
        assert!(said.contains("(secret)") && !said.contains("c2VjcmV0"), "{said}");
        let error = shell("head -c 100000 /dev/zero | tr '\\0' e >&2; exit 1", "", 100, LONG).unwrap_err();
        assert!(error.to_string().len() < LONGEST_COMPLAINT + 200);
    }

    #[test]
    fn children_of_a_failed_program_are_not_waited_for() {
        let begun = Instant::now();
        let error = shell("sleep 20 & echo gone >&2; exit 4", "", 100, LONG).unwrap_err();
        assert!(matches!(&error, CommandError::Failed { said, .. } if said == "gone"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_hanging_program_is_stopped() {
        let (greeted, silent) = (format!("{HELLO} exec sleep 20"), format!("{HELLO} exec >&- 2>&-; sleep 20"));
        for script in ["exec sleep 20", &greeted, &silent] {
            let begun = Instant::now();
            let error = shell(script, "", 100, Duration::from_millis(300)).unwrap_err();
            assert!(matches!(error, CommandError::Late { .. }), "{error}");
            assert!(begun.elapsed() < Duration::from_secs(10));
        }
    }

    #[test]
    fn a_program_that_prints_too_much_is_stopped() {
        let error = shell(&format!("{HELLO} yes"), "", 1000, LONG).unwrap_err();
        assert!(matches!(error, CommandError::TooLong { most: 1000, .. }), "{error}");
        for script in ["exec yes", "head -c 100000 /dev/zero; sleep 5"] {
            let error = shell(script, "", 1000, LONG).unwrap_err();
            assert!(matches!(error, CommandError::Greeting { .. }), "{error}");
        }
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&["/nowhere/key".to_owned()], MAGIC, Input::Open(String::new()), 1, LONG).unwrap_err();
        assert!(matches!(&error, CommandError::Start { program, .. } if program == "/nowhere/key"), "{error}");
    }
}
