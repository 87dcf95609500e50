//! Runs provisioners: commands on the user's machine, and commands and uploads on other machines.

#[cfg(feature = "ssh")]
mod connection;
#[cfg(feature = "ssh")]
mod file;
#[cfg(feature = "ssh")]
mod remote_exec;

use std::io::{PipeReader, Read, Write};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use tokio::sync::oneshot;
use weft_expressions::convert::convert;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::{Operation, ProvisionWhen};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use crate::arguments::of_arguments;
use crate::context::TaskContext;
use crate::outcome::{Done, TaskOutcome};
use crate::problems::reasons::NotCalled;
use crate::problems::{self, not_here};
use crate::saying::Saying;
use crate::subject::Problems;
use weft_graph_format::digest::Digest;
use weft_protocol::{ObjectChange, ObjectWrite, TaskWrites};

/// Runs a command on the user's machine.
const LOCAL_EXEC: &str = "local-exec";
/// Runs commands on another machine.
#[cfg(feature = "ssh")]
const REMOTE_EXEC: &str = "remote-exec";
/// Uploads files to another machine.
#[cfg(feature = "ssh")]
const FILE: &str = "file";
/// The number of bytes at the end of a command's output that are kept for the error message. OpenTofu keeps the same
/// number.
const KEPT_OUTPUT: usize = 8 * 1024;
/// The maximum length of a line. Longer output without a line break is split.
const LONGEST_LINE: usize = 64 * 1024;
/// The number of bytes that are read at once.
const PIECE: usize = 8 * 1024;
/// The default interpreter.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error("{0}")]
    Start(#[source] std::io::Error),
    #[error("exit status {0}")]
    Exit(i32),
    #[error("{0}")]
    Signal(ExitStatus),
}

/// A command, as described by its arguments.
#[derive(Debug, PartialEq, Eq)]
struct LocalExec {
    command: String,
    program: String,
    arguments: Vec<String>,
    working_dir: Option<String>,
    environment: Vec<(String, String)>,
    quiet: bool,
}

/// The reasons why a provisioner did not succeed.
#[cfg_attr(not(feature = "ssh"), allow(dead_code))]
enum Setback {
    /// The provisioner failed.
    Failed(Problems),
    /// There was no permission to begin.
    NotCalled(NotCalled),
    /// The provisioner began, and its outcome is unknown.
    Uncertain(String),
    /// This build of Weft does not have this kind of provisioner.
    Unsupported,
}

impl From<Diagnostic> for Setback {
    fn from(problem: Diagnostic) -> Setback {
        Setback::Failed(vec![problem])
    }
}

/// The context of a provisioner.
#[cfg_attr(not(feature = "ssh"), allow(dead_code))]
struct Assignment<'a> {
    /// The instance, as text.
    address: &'a str,
    kind: &'a str,
    arguments: Value,
    /// The arguments of the provisioner's connection; null if it has no connection.
    connection: Option<Value>,
    /// If the output must not be shown: the kind of values that the output may contain, such as sensitive values.
    hidden: Option<&'static str>,
}

/// Runs the provisioner of an operation. The intent is requested right before the provisioner changes something.
pub(crate) async fn provision(context: &mut TaskContext) -> TaskOutcome {
    let shard = context.shard.clone();
    let id = context.id();
    let Some(Operation::Provision { address, provisioner, when, continues, config, range }) = shard.operation(id)
    else {
        return TaskOutcome::failed(vec![not_here(id)]);
    };
    let (instance, address) = (address, address.to_string());
    let place = |problem: Diagnostic| place(problem, &address, range.as_ref());
    let value = match shard.evaluate(&context.host, *config, &address).await {
        Ok(value) => value,
        // `on_failure = continue` does not apply to errors in the configuration of the provisioner. As in OpenTofu, an
        // error of an expression has a position and no address.
        Err(problems) => {
            let named = |problem: Diagnostic| match problem.subject {
                Some(_) => Diagnostic { address: None, ..problem },
                None => place(problem),
            };
            let problems = argument_groups(provisioner, shard.formula(*config))
                .into_iter()
                .fold(problems, |problems, group| of_arguments(Some(group), None, problems));
            return TaskOutcome::failed(problems.into_iter().map(named).collect());
        }
    };
    match carry_out(context, assignment(&address, provisioner, &value)).await {
        Ok(()) => TaskOutcome::Done(succeeded(context, instance, *when)),
        Err(Setback::NotCalled(reason)) => TaskOutcome::NotCalled(reason),
        Err(Setback::Unsupported) => TaskOutcome::failed(vec![place(problems::unsupported_provisioner(provisioner))]),
        // With `on_failure = continue`, the failure does not stop the run.
        Err(Setback::Failed(problems)) if *continues => {
            let problems: Problems = problems.into_iter().map(place).collect();
            tracing::warn!(address, ?problems, "a provisioner failed; the run continues (on_failure = continue)");
            TaskOutcome::Done(succeeded(context, instance, *when))
        }
        Err(Setback::Uncertain(reason)) if *continues => {
            tracing::warn!(
                address,
                reason,
                "the outcome of a provisioner is unknown; the run continues (on_failure = continue)"
            );
            TaskOutcome::Done(succeeded(context, instance, *when))
        }
        Err(Setback::Failed(problems)) => TaskOutcome::failed(problems.into_iter().map(place).collect()),
        Err(Setback::Uncertain(reason)) => {
            TaskOutcome::InDoubt { reason, provider_dead: false, diagnostics: Vec::new() }
        }
    }
}

/// The formulas of the arguments: those of the provisioner, and those of its connection.
fn argument_groups<'f>(kind: &str, config: Option<&'f Formula>) -> Vec<&'f Formula> {
    match config.map(|config| (config, config.op())) {
        Some((_, FormulaOp::Object(parts))) if kind != LOCAL_EXEC => parts.iter().map(|(_, group)| group).collect(),
        Some((config, _)) => vec![config],
        None => Vec::new(),
    }
}

/// Reads the evaluated configuration. The configuration of a provisioner on another machine has two parts.
fn assignment<'a>(address: &'a str, kind: &'a str, config: &Value) -> Assignment<'a> {
    let part = |name: &str| config.as_fields().and_then(|fields| fields.get(name)).cloned();
    let (arguments, connection) = match kind {
        LOCAL_EXEC => (config.clone(), None),
        _ => (part("arguments").unwrap_or_else(|| Value::null(Type::Dynamic)), part("connection")),
    };
    let (arguments, marks) = arguments.unmark_deep();
    let hidden = match (marks.is_sensitive(), marks.is_ephemeral()) {
        (true, _) => Some("sensitive"),
        (false, true) => Some("ephemeral"),
        (false, false) => None,
    };
    // Values of the connection are never shown.
    let connection = connection.map(|connection| connection.unmark_deep().0);
    Assignment { address, kind, arguments, connection, hidden }
}

async fn carry_out(context: &mut TaskContext, assignment: Assignment<'_>) -> Result<(), Setback> {
    match assignment.kind {
        LOCAL_EXEC => local_exec(context, assignment).await,
        #[cfg(feature = "ssh")]
        REMOTE_EXEC => remote_exec::run(context, assignment).await,
        #[cfg(feature = "ssh")]
        FILE => file::run(context, assignment).await,
        _ => Err(Setback::Unsupported),
    }
}

async fn local_exec(context: &mut TaskContext, assignment: Assignment<'_>) -> Result<(), Setback> {
    let Assignment { address, kind, arguments, hidden, .. } = assignment;
    let command = read(&arguments)?;
    let digest = Digest::of(format!("{address}\0{command:?}").as_bytes());
    context.ask(digest).await.map_err(Setback::NotCalled)?;
    let saying = Saying::new(&context.host, &context.run.id, address, kind);
    let base = context.host.options.base_directory.clone();
    let outcome = run(&command, base, saying, hidden).await;
    outcome.map_err(|(error, output)| problems::command_failed(&error, &command.command, &output, hidden).into())
}

fn place(problem: Diagnostic, address: &str, range: Option<&SourceRange>) -> Diagnostic {
    let problem = if problem.address.is_none() { problem.about(address) } else { problem };
    match range {
        Some(range) if problem.subject.is_none() => problem.at(range.clone()),
        _ => problem,
    }
}

/// The result of a provisioner that succeeded. After the last provisioner of a create, the object is complete.
fn succeeded(context: &TaskContext, address: &ResourceInstance, when: ProvisionWhen) -> Done {
    let objects = match when {
        ProvisionWhen::Completed => vec![ObjectWrite {
            address: address.clone(),
            provider: String::new(),
            deposed: None,
            change: ObjectChange::Untaint,
        }],
        ProvisionWhen::Created | ProvisionWhen::Deleting => Vec::new(),
    };
    context.done(None, TaskWrites { objects, outputs: Vec::new() }, Vec::new())
}

fn text_of(value: Option<&Value>) -> Option<String> {
    let value = convert(value?, &Type::String).ok()?;
    value.as_str().map(str::to_owned)
}

/// Reads the arguments of a command.
fn read(arguments: &Value) -> Result<LocalExec, Diagnostic> {
    let field = |name: &str| arguments.as_fields().and_then(|fields| fields.get(name));
    let Some(command) = text_of(field("command")).filter(|command| !command.is_empty()) else {
        return Err(problems::no_command());
    };
    let mut words: Vec<String> = match field("interpreter").map(|list| list.open().1) {
        Some(Kind::List(items) | Kind::Tuple(items)) if !items.items().is_empty() => {
            items.items().iter().filter_map(|item| text_of(Some(item))).collect()
        }
        _ => SHELL.iter().map(ToString::to_string).collect(),
    };
    words.push(command.clone());
    let environment = field("environment").and_then(Value::as_fields).map(|fields| {
        fields.iter().filter_map(|(name, value)| Some((name.to_string(), text_of(Some(value))?))).collect()
    });
    let mut words = words.into_iter();
    let Some(program) = words.next() else {
        return Err(problems::no_interpreter());
    };
    Ok(LocalExec {
        command,
        program,
        arguments: words.collect(),
        working_dir: text_of(field("working_dir")).filter(|dir| !dir.is_empty()),
        environment: environment.unwrap_or_default(),
        quiet: field("quiet").and_then(Value::as_bool).unwrap_or_default(),
    })
}

/// Runs a command to its end. An error contains the end of the output.
async fn run(
    command: &LocalExec,
    base: PathBuf,
    saying: Saying,
    hidden: Option<&'static str>,
) -> Result<(), (CommandError, String)> {
    let failed = |error: std::io::Error| (CommandError::Start(error), String::new());
    match hidden {
        Some(what) => saying.say(problems::output_suppressed(what)).await,
        None if command.quiet => saying.say("local-exec: Executing: Suppressed by quiet=true".to_owned()).await,
        None => {
            let words = std::iter::once(&command.program).chain(&command.arguments);
            let words: Vec<String> = words.map(|word| format!("{word:?}")).collect();
            saying.say(format!("Executing: [{}]", words.join(" "))).await;
        }
    }
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let mut child = {
        let mut process = tokio::process::Command::new(&command.program);
        process
            .args(&command.arguments)
            .envs(command.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer)
            .kill_on_drop(true);
        let directory = match &command.working_dir {
            Some(directory) => base.join(directory),
            None => base,
        };
        if !directory.as_os_str().is_empty() {
            process.current_dir(directory);
        }
        // From here on, only the child has the write ends.
        process.spawn().map_err(failed)?
    };
    let shown = hidden.is_none().then_some(saying);
    // A separate thread and not one of the runtime, because a command may leave processes behind that keep the pipe
    // open. This process must not wait for them when it ends.
    let (told, heard) = oneshot::channel();
    let listen = move || {
        // The receiver may have been dropped.
        let _ = told.send(drain(reader, shown));
    };
    std::thread::Builder::new().name("provisioner output".into()).spawn(listen).map_err(failed)?;
    let output = heard.await.unwrap_or_default();
    let status = child.wait().await.map_err(failed)?;
    match (status.success(), status.code()) {
        (true, _) => Ok(()),
        (false, Some(code)) => Err((CommandError::Exit(code), output)),
        (false, None) => Err((CommandError::Signal(status), output)),
    }
}

/// Forwards each line until the pipe is closed, and returns the end of the output.
fn drain(mut reader: PipeReader, saying: Option<Saying>) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut line: Vec<u8> = Vec::new();
    let mut piece = [0; PIECE];
    let told = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line).trim_end_matches('\r').to_owned();
        line.clear();
        if let Some(saying) = &saying {
            saying.say_blocking(text);
        }
    };
    loop {
        let count = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        // Writing to a vector does not fail.
        let _ = kept.write_all(&piece[..count]);
        if kept.len() > 2 * KEPT_OUTPUT {
            kept.drain(..kept.len() - KEPT_OUTPUT);
        }
        for byte in &piece[..count] {
            match byte {
                b'\n' => told(&mut line),
                _ => line.push(*byte),
            }
            if line.len() >= LONGEST_LINE {
                told(&mut line);
            }
        }
    }
    if !line.is_empty() {
        told(&mut line);
    }
    let last = kept.len().saturating_sub(KEPT_OUTPUT);
    String::from_utf8_lossy(&kept[last..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(fields: &[(&'static str, Value)]) -> Value {
        Value::object(fields.iter().cloned())
    }

    #[test]
    fn a_command_is_read_from_its_arguments() {
        let list = Value::list(Type::String, vec![Value::string("perl"), Value::string("-e")]);
        let environment = Value::map(Type::String, [("A".into(), Value::string("1"))].into());
        let found = read(&arguments(&[
            ("command", Value::string("print 1")),
            ("interpreter", list),
            ("environment", environment),
            ("working_dir", Value::string("sub")),
            ("quiet", Value::bool(true)),
        ]))
        .unwrap();
        assert_eq!(
            (found.program.as_str(), found.arguments.as_slice()),
            ("perl", &["-e".into(), "print 1".into()][..])
        );
        assert_eq!(found.environment, [("A".into(), "1".into())]);
        assert_eq!((found.working_dir.as_deref(), found.quiet), (Some("sub"), true));
        let plain = read(&arguments(&[("command", Value::string("true"))])).unwrap();
        assert_eq!((plain.program.as_str(), plain.arguments.len()), ("/bin/sh", 2));
        assert!(read(&arguments(&[("command", Value::string(""))])).is_err());
        assert!(read(&arguments(&[("command", Value::null(Type::String))])).is_err());
    }

    fn saying(to: tokio::sync::mpsc::Sender<weft_protocol::RunLine>) -> Saying {
        let packages = std::sync::Arc::new(crate::packages::NoPackages);
        let host = crate::host::Host::new(crate::options::WorkerOptions::new("w", "1", packages), to);
        Saying::new(&host, &weft_graph_format::run::RunId::parse("r").unwrap(), "a.b", LOCAL_EXEC)
    }

    #[tokio::test]
    async fn the_output_and_exit_status_of_a_command_are_reported() {
        let (sender, mut lines) = tokio::sync::mpsc::channel(64);
        let saying = saying(sender);
        let command = read(&arguments(&[("command", Value::string("echo one; echo two >&2; printf end; exit 3"))]));
        let (error, output) = run(&command.unwrap(), PathBuf::from("."), saying, None).await.unwrap_err();
        assert_eq!((error.to_string().as_str(), output.as_str()), ("exit status 3", "one\ntwo\nend"));
        let mut heard = Vec::new();
        while let Some(said) = lines.recv().await {
            heard.push(said.line.text);
        }
        assert_eq!(&heard[1..], ["one", "two", "end"]);
        assert!(heard[0].starts_with("Executing: [\"/bin/sh\" \"-c\" "));
    }

    #[tokio::test]
    async fn sensitive_output_is_not_shown() {
        let (sender, mut lines) = tokio::sync::mpsc::channel(64);
        let saying = saying(sender);
        let command = read(&arguments(&[("command", Value::string("echo secret"))])).unwrap();
        run(&command, PathBuf::from("."), saying, Some("sensitive")).await.unwrap();
        let first = lines.recv().await.map(|said| said.line.text);
        assert_eq!(first.as_deref(), Some("(output suppressed due to sensitive value in config)"));
        assert!(lines.recv().await.is_none());
    }
}
