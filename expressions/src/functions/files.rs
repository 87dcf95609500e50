//! Functions of files and file names. Relative names are resolved against the working directory. `~` is the user's home
//! directory.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use weft_graph_format::marks::Marks;
use weft_graph_format::module_source::clean;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::text;
use super::encoding::BASE64;
use super::{CallContext, FileKind, Function, FunctionError, Parameter, Symbolic, glob, hash, problems};

/// The maximum size of a file. The same as the maximum length of a text that a function returns.
const LARGEST_FILE_BYTES: usize = super::string::LONGEST_TEXT_BYTES;

pub(super) fn functions() -> Vec<Function> {
    let path = || Parameter::new("path", Type::String, "The name of a file.").marked();
    let of_path = |name, description, call| {
        Function::new(name, description, Symbolic::Opaque)
            .parameter(path())
            .returns(Type::String)
            .not_null()
            .calls(call)
    };
    vec![
        of_path("file", "The content of a file as text.", |context, a, _| {
            let content = FileContent::read(context, a)?;
            Ok(Value::string(content.text()?).mark(a[0].marks()))
        }),
        of_path("filebase64", "The content of a file in base64.", |context, a, _| {
            Ok(Value::string(BASE64.encode(FileContent::read(context, a)?.bytes)).mark(a[0].marks()))
        }),
        of_path("filemd5", "The MD5 digest of a file in hexadecimal.", |c, a, _| {
            digest(c, a, |b| hash::hex(&hash::md5(b)))
        }),
        of_path("filesha1", "The SHA-1 digest of a file in hexadecimal.", |c, a, _| {
            digest(c, a, |b| hash::hex(&hash::sha1(b)))
        }),
        of_path("filesha256", "The SHA-256 digest of a file in hexadecimal.", |c, a, _| {
            digest(c, a, |b| hash::hex(&hash::sha256(b)))
        }),
        of_path("filesha512", "The SHA-512 digest of a file in hexadecimal.", |c, a, _| {
            digest(c, a, |b| hash::hex(&hash::sha512(b)))
        }),
        of_path("filebase64sha256", "The SHA-256 digest of a file in base64.", |c, a, _| {
            digest(c, a, |b| BASE64.encode(hash::sha256(b)))
        }),
        of_path("filebase64sha512", "The SHA-512 digest of a file in base64.", |c, a, _| {
            digest(c, a, |b| BASE64.encode(hash::sha512(b)))
        }),
        Function::new("fileexists", "Whether a file with this name exists.", Symbolic::Opaque)
            .parameter(path())
            .returns(Type::Bool)
            .not_null()
            .calls(fileexists),
        Function::new("fileset", "The names of the files below a directory that match a pattern.", Symbolic::Opaque)
            .parameter(Parameter::new("path", Type::String, "The directory.").marked())
            .parameter(Parameter::new("pattern", Type::String, "The pattern, with *, **, ?, [...] and {...}.").marked())
            .returns(Type::set(Type::String))
            .not_null()
            .calls(fileset),
        of_path("abspath", "The absolute path of a file.", abspath),
        of_path("basename", "The last part of the name.", |_, a, _| {
            Ok(Value::string(base(text(a, 0)?)).mark(a[0].marks()))
        }),
        of_path("dirname", "The name without its last part.", |_, a, _| {
            Ok(Value::string(directory(text(a, 0)?)).mark(a[0].marks()))
        }),
        of_path("pathexpand", "The name with ~ replaced by the home directory.", |context, a, _| {
            Ok(Value::string(expand_home(context, text(a, 0)?)?).mark(a[0].marks()))
        }),
    ]
}

fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    match path.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed.rsplit('/').next().unwrap_or(trimmed),
    }
}

fn directory(path: &str) -> String {
    match path.rsplit_once('/') {
        Some(("", _)) => "/".into(),
        Some((before, _)) => clean(&format!("{before}/")),
        None => ".".into(),
    }
}

fn expand_home(context: &CallContext<'_>, path: &str) -> Result<String, FunctionError> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(path.into()) };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err(problems::files::other_home());
    }
    let home = context.files.home().and_then(|home| home.into_os_string().into_string().ok());
    let home = home.ok_or_else(problems::files::no_home)?;
    Ok(if rest.is_empty() { home } else { clean(&format!("{home}/{rest}")) })
}

fn abspath(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let path = text(arguments, 0)?;
    let absolute = if path.starts_with('/') {
        clean(path)
    } else {
        let current = context.files.current_directory().map_err(problems::files::no_working_directory)?;
        let current = current.to_str().ok_or_else(problems::files::working_directory_not_utf8)?;
        clean(&format!("{current}/{path}"))
    };
    Ok(Value::string(absolute).mark(arguments[0].marks()))
}

/// The name for a message, unless it is sensitive or ephemeral.
pub(super) fn shown(path: &str, marks: &Marks) -> String {
    if marks.is_sensitive() {
        "(sensitive value)".into()
    } else if marks.is_ephemeral() {
        "(ephemeral value)".into()
    } else {
        format!("{path:?}")
    }
}

/// The path of the file with this name.
fn located(context: &CallContext<'_>, path: &str) -> Result<PathBuf, FunctionError> {
    Ok(context.resolve(clean(&expand_home(context, path)?)))
}

/// Why a file cannot be read, without its name.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::IsADirectory => "is a directory".into(),
        io::ErrorKind::NotADirectory => "not a directory".into(),
        io::ErrorKind::PermissionDenied => error.to_string(),
        kind => kind.to_string(),
    }
}

/// The content of a file.
pub(super) struct FileContent {
    /// The name as given, not normalized.
    pub(super) name: String,
    /// The whole content.
    pub(super) bytes: Vec<u8>,
    marks: Marks,
}

impl FileContent {
    /// Reads the file that argument 0 names. Errors concern that argument.
    pub(super) fn read(context: &CallContext<'_>, arguments: &[Value]) -> Result<FileContent, FunctionError> {
        let name = text(arguments, 0)?;
        let marks = arguments[0].marks();
        let shown = shown(name, marks);
        let location = located(context, name)?;
        let bytes = read_limited(context, &location).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => problems::files::no_such_file(&shown),
            _ => problems::files::cannot_read(&shown, reason(&e)),
        })?;
        Ok(FileContent { name: name.into(), bytes, marks: marks.clone() })
    }

    /// The content as text.
    pub(super) fn text(&self) -> Result<&str, FunctionError> {
        std::str::from_utf8(&self.bytes).map_err(|_| problems::files::content_not_utf8(&shown(&self.name, &self.marks)))
    }
}

fn read_limited(context: &CallContext<'_>, path: &Path) -> io::Result<Vec<u8>> {
    // Devices and similar files may have endless content.
    match context.files.kind(path)? {
        FileKind::Directory => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
        FileKind::Other => return Err(io::Error::from(io::ErrorKind::Unsupported)),
        FileKind::File => {}
    }
    let bytes = context.files.read(path)?;
    if bytes.len() > LARGEST_FILE_BYTES {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(bytes)
}

fn digest(context: &CallContext<'_>, arguments: &[Value], digest: fn(&[u8]) -> String) -> Result<Value, FunctionError> {
    let (name, marks) = (text(arguments, 0)?, arguments[0].marks());
    let location = located(context, name)?;
    let bytes =
        read_limited(context, &location).map_err(|e| problems::files::cannot_open(&shown(name, marks), reason(&e)))?;
    Ok(Value::string(digest(&bytes)).mark(marks))
}

fn fileexists(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let (name, marks) = (text(arguments, 0)?, arguments[0].marks());
    let location = located(context, name)?;
    let shown = shown(name, marks);
    let exists = match context.files.kind(&location) {
        Ok(FileKind::File) => true,
        Ok(FileKind::Directory) => return Err(problems::files::is_directory(&shown)),
        Ok(FileKind::Other) => return Err(problems::files::not_a_regular_file(&shown)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => false,
        Err(e) => return Err(problems::files::cannot_stat(&shown, reason(&e))),
    };
    Ok(Value::bool(exists).mark(marks))
}

fn fileset(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let (path, pattern) = (text(arguments, 0)?, text(arguments, 1)?);
    let marks = arguments[0].marks().union(arguments[1].marks());
    let directory = located(context, path)?;
    let found = glob::find(context.files, &directory, &clean(&format!("./{pattern}")))
        .map_err(|e| problems::files::cannot_glob(&shown(pattern, &marks), e))?;
    Ok(Value::set(Type::String, found.into_iter().map(Value::string).collect()).mark(&marks))
}
