//! Parses CSV text with a header line. Follows RFC 4180 as Go's reader implements it.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::text;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};

pub(super) fn functions() -> Vec<Function> {
    vec![
        Function::new("csvdecode", "A list of objects, one for each line after the header.", Symbolic::Opaque)
            .parameter(Parameter::new("str", Type::String, "The text; its first line names the columns."))
            .returns_of(csvdecode_type)
            .not_null()
            .calls(csvdecode),
    ]
}

fn header(records: &mut Records<'_>) -> Result<Vec<SmolStr>, FunctionError> {
    let Some(names) = records.next_record()? else { return Err(problems::encoding::no_csv_header()) };
    let names: Vec<SmolStr> =
        names.into_iter().map(|name| SmolStr::new(Value::string(name).as_str().unwrap_or_default())).collect();
    let mut seen = BTreeMap::new();
    for name in &names {
        if seen.insert(name, ()).is_some() {
            return Err(problems::encoding::duplicate_csv_column(name));
        }
    }
    Ok(names)
}

fn csvdecode_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    if !arguments[0].is_known() {
        return Ok(Type::Dynamic);
    }
    let names = header(&mut Records::new(text(arguments, 0)?))?;
    Ok(Type::list(Type::object(names.into_iter().map(|name| (name, Type::String)))))
}

fn csvdecode(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let mut records = Records::new(text(arguments, 0)?);
    let names = header(&mut records)?;
    let mut rows = Vec::new();
    while let Some(fields) = records.next_record()? {
        if fields.len() != names.len() {
            return Err(problems::encoding::wrong_csv_fields(records.line));
        }
        let fields = fields.into_iter().map(Value::string);
        rows.push(Value::object(names.iter().cloned().zip(fields)));
    }
    Ok(Value::list(ty.element().cloned().unwrap_or(Type::Dynamic), rows))
}

/// The records of a CSV text.
struct Records<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Records<'a> {
    fn new(text: &'a str) -> Records<'a> {
        Records { rest: text, line: 0 }
    }

    /// The next line without its line end, and whether there was a line end. `None` at the end of the text.
    fn next_line(&mut self) -> Option<(&'a str, bool)> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let (line, ended) = match self.rest.split_once('\n') {
            Some((line, rest)) => {
                self.rest = rest;
                (line, true)
            }
            None => (std::mem::take(&mut self.rest), false),
        };
        Some((line.strip_suffix('\r').unwrap_or(line), ended))
    }

    fn next_record(&mut self) -> Result<Option<Vec<String>>, FunctionError> {
        let (mut line, mut ended) = loop {
            match self.next_line() {
                None => return Ok(None),
                Some(("", _)) => {}
                Some(found) => break found,
            }
        };
        let mut fields = Vec::new();
        loop {
            if let Some(quoted) = line.strip_prefix('"') {
                let mut field = String::new();
                line = quoted;
                loop {
                    let Some((before, after)) = line.split_once('"') else {
                        field.push_str(line);
                        if ended {
                            field.push('\n');
                        }
                        let Some(next) = self.next_line() else {
                            return Err(problems::encoding::csv_quote_in_quoted_field(self.line));
                        };
                        (line, ended) = next;
                        continue;
                    };
                    field.push_str(before);
                    if let Some(more) = after.strip_prefix('"') {
                        field.push('"');
                        line = more;
                    } else if let Some(more) = after.strip_prefix(',') {
                        line = more;
                        fields.push(field);
                        break;
                    } else if after.is_empty() {
                        fields.push(field);
                        return Ok(Some(fields));
                    } else {
                        return Err(problems::encoding::csv_quote_in_quoted_field(self.line));
                    }
                }
            } else {
                let (field, more) = match line.split_once(',') {
                    Some((field, more)) => (field, Some(more)),
                    None => (line, None),
                };
                if field.contains('"') {
                    return Err(problems::encoding::csv_quote_in_plain_field(self.line));
                }
                fields.push(field.into());
                match more {
                    Some(more) => line = more,
                    None => return Ok(Some(fields)),
                }
            }
        }
    }
}
