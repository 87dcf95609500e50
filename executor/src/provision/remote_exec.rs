//! The provisioner `remote-exec`: runs scripts on another machine.

use std::path::Path;

use tokio::sync::mpsc;
use weft_graph_format::digest::Digest;
use weft_graph_format::value::{Kind, Value};
use weft_remote::{RemoteCallError, RemoteSession};

use super::connection::{Connection, agent_socket, announcement, read};
use super::{Assignment, Setback, text_of};
use crate::context::TaskContext;
use crate::problems::{output_suppressed, reasons, remote_exec_failed, script_failed, script_not_uploaded};
use crate::saying::Saying;

/// The capacity of the queue of a script's lines. A script waits if it writes lines faster than they are shown.
const LINES: usize = 64;

/// Why the scripts of a provisioner are unsuitable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum ScriptError {
    #[error("invalid null string in '{0}'")]
    Null(&'static str),
    #[error("invalid empty string in '{0}'")]
    Empty(&'static str),
    #[error("Failed to open script '{name}': {reason}")]
    Open { name: String, reason: String },
    #[error("the script is empty")]
    Nothing,
}

/// The strings of a list. A single string counts as a list of one.
fn texts(value: Option<&Value>, name: &'static str) -> Result<Option<Vec<String>>, ScriptError> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let items: Vec<Value> = match value.open().1 {
        Kind::List(items) | Kind::Tuple(items) => items.items().to_vec(),
        _ => vec![value.clone()],
    };
    let mut found = Vec::with_capacity(items.len());
    for item in &items {
        match text_of(Some(item).filter(|item| !item.is_null())) {
            None => return Err(ScriptError::Null(name)),
            Some(text) if text.is_empty() => return Err(ScriptError::Empty(name)),
            Some(text) => found.push(text),
        }
    }
    Ok(Some(found))
}

/// The scripts to run, in order.
async fn scripts(arguments: &Value, base: &Path) -> Result<Vec<Vec<u8>>, ScriptError> {
    let field = |name: &str| arguments.as_fields().and_then(|fields| fields.get(name));
    if let Some(mut lines) = texts(field("inline"), "inline")? {
        if lines.is_empty() {
            return Err(ScriptError::Nothing);
        }
        // The last line also ends with a newline.
        lines.push(String::new());
        return Ok(vec![lines.join("\n").into_bytes()]);
    }
    let mut names = texts(field("script"), "script")?.unwrap_or_default();
    names.extend(texts(field("scripts"), "scripts")?.unwrap_or_default());
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        match tokio::fs::read(base.join(&name)).await {
            Ok(script) if script.is_empty() => return Err(ScriptError::Nothing),
            Ok(script) => found.push(script),
            Err(error) => return Err(ScriptError::Open { name, reason: error.to_string() }),
        }
    }
    Ok(found)
}

/// Runs the scripts.
pub(super) async fn run(context: &mut TaskContext, assignment: Assignment<'_>) -> Result<(), Setback> {
    let failed = |error: &dyn std::fmt::Display| Setback::from(remote_exec_failed(error));
    let Assignment { address, kind, arguments, connection, hidden } = assignment;
    let Connection { target, script_path } =
        read(connection.as_ref(), agent_socket()).map_err(|error| failed(&error))?;
    let prepared = target.prepare().await.map_err(|error| failed(&error))?;
    let base = context.host.options.base_directory.clone();
    let scripts = scripts(&arguments, &base).await.map_err(|error| failed(&error))?;
    let saying = Saying::new(&context.host, &context.run.id, address, kind);
    let shown = match hidden {
        None => Some(&saying),
        Some(what) => {
            saying.say(output_suppressed(what)).await;
            None
        }
    };
    // Connecting changes nothing, so it needs no permission. A run that ends does not wait for the connection.
    let lines = announcement(&target);
    let session = prepared.connect(|| say_all(shown, &lines)).await.map_err(|error| failed(&error))?;
    say(shown, "Connected!".to_owned()).await;
    let digest = scripts.iter().fold(format!("{address}\0{}", target.machine.address()), |text, script| {
        format!("{text}\0{:?}", Digest::of(script))
    });
    context.ask(Digest::of(digest.as_bytes())).await.map_err(Setback::NotCalled)?;
    for script in &scripts {
        run_script(&session, &script_path, script, shown, hidden).await?;
    }
    session.close().await;
    Ok(())
}

async fn say_all(saying: Option<&Saying>, lines: &[String]) {
    for line in lines {
        say(saying, line.clone()).await;
    }
}

async fn say(saying: Option<&Saying>, line: String) {
    if let Some(saying) = saying {
        saying.say(line).await;
    }
}

async fn run_script(
    session: &RemoteSession,
    pattern: &str,
    script: &[u8],
    shown: Option<&Saying>,
    hidden: Option<&str>,
) -> Result<(), Setback> {
    let path = weft_remote::script_path(pattern);
    // The script has not begun, so its outcome is certain.
    session.upload_script(&path, script).await.map_err(|error| script_not_uploaded(&error))?;
    let (sender, mut lines) = mpsc::channel(LINES);
    let running = async {
        let outcome = session.run(&path, &sender).await;
        drop(sender);
        outcome
    };
    let forwarding = async {
        while let Some(line) = lines.recv().await {
            say(shown, line).await;
        }
    };
    let (outcome, ()) = tokio::join!(running, forwarding);
    let outcome = outcome.map_err(|error| match error {
        RemoteCallError::Lost(reason) => Setback::Uncertain(reasons::lost_during_script(&path, &reason)),
        error => script_failed(&path, &error, hidden).into(),
    });
    if !matches!(outcome, Err(Setback::Uncertain(_))) {
        // The script may contain secrets. As in OpenTofu, its file is emptied and not deleted: `script_path` may name a
        // file that must exist.
        if let Err(error) = session.upload_bytes(&path, Vec::new()).await {
            tracing::warn!(path, %error, "the script is still on the machine");
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use weft_graph_format::types::Type;

    use super::*;

    fn arguments(name: &'static str, value: Value) -> Value {
        Value::object([(name, value)])
    }

    #[tokio::test]
    async fn lines_are_one_script_and_files_are_several() {
        let list = |items: &[&str]| Value::list(Type::String, items.iter().map(|item| Value::string(*item)).collect());
        let folder = tempfile::tempdir().unwrap();
        let read = async |value: Value| scripts(&value, folder.path()).await;
        assert_eq!(read(arguments("inline", list(&["a", "b"]))).await, Ok(vec![b"a\nb\n".to_vec()]));
        assert_eq!(read(arguments("inline", list(&["a", ""]))).await, Err(ScriptError::Empty("inline")));
        assert_eq!(read(arguments("inline", list(&[]))).await, Err(ScriptError::Nothing));
        std::fs::write(folder.path().join("x.sh"), "echo x").unwrap();
        std::fs::write(folder.path().join("y.sh"), "echo y").unwrap();
        let both = vec![b"echo x".to_vec(), b"echo y".to_vec()];
        assert_eq!(read(arguments("scripts", list(&["x.sh", "y.sh"]))).await, Ok(both));
        assert_eq!(read(arguments("script", Value::string("y.sh"))).await, Ok(vec![b"echo y".to_vec()]));
        let absent = read(arguments("script", Value::string("z.sh"))).await.unwrap_err();
        assert!(absent.to_string().starts_with("Failed to open script 'z.sh': "), "{absent}");
        let null = Value::list(Type::String, vec![Value::null(Type::String)]);
        assert_eq!(read(arguments("inline", null)).await, Err(ScriptError::Null("inline")));
    }
}
