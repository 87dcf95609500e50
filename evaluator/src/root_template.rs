//! Values as templates over root variables, such as `${var.user}:${var.password}`.

use std::collections::BTreeSet;
use std::fmt;

use smol_str::SmolStr;

/// A root variable or a part of a root variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootVariable {
    /// The name.
    pub name: SmolStr,
    /// The names of attributes, from the outside in.
    pub attributes: Vec<SmolStr>,
}

impl RootVariable {
    /// Parses a reference such as `var.name.a.b`.
    pub fn parse(text: &str) -> Option<RootVariable> {
        let mut names = text.strip_prefix("var.")?.split('.').map(SmolStr::new);
        Some(RootVariable { name: names.next()?, attributes: names.collect() })
    }
}

/// Writes the variable as in an expression: `var.name.attribute`.
impl fmt::Display for RootVariable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "var.{}", self.name)?;
        self.attributes.iter().try_for_each(|name| write!(out, ".{name}"))
    }
}

/// A part of a [`RootTemplate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootPart {
    /// Text of the configuration.
    Text(SmolStr),
    /// The value of a variable.
    Variable(RootVariable),
}

/// A value that is put together from root variables and text. The value of a template with one part is the value of
/// this part. The value of any other template is the joined text of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootTemplate(pub Vec<RootPart>);

impl RootTemplate {
    /// The variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &RootVariable> {
        self.0.iter().filter_map(|part| match part {
            RootPart::Text(_) => None,
            RootPart::Variable(variable) => Some(variable),
        })
    }

    /// Whether the template contains text of the configuration.
    pub fn has_text(&self) -> bool {
        self.0.iter().any(|part| matches!(part, RootPart::Text(_)))
    }

    /// The variable, if the template is one variable alone.
    pub fn as_variable(&self) -> Option<&RootVariable> {
        match self.0.as_slice() {
            [RootPart::Variable(variable)] => Some(variable),
            _ => None,
        }
    }

    /// Parses what `Display` writes. `None` for any other text.
    pub fn parse(text: &str) -> Option<RootTemplate> {
        let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            literal.push_str(before);
            rest = match after.strip_prefix('$') {
                Some(after) => {
                    literal.push('$');
                    after
                }
                None => {
                    let (variable, after) = after.strip_prefix('{')?.split_once('}')?;
                    if !literal.is_empty() {
                        parts.push(RootPart::Text(std::mem::take(&mut literal).into()));
                    }
                    parts.push(RootPart::Variable(RootVariable::parse(variable)?));
                    after
                }
            };
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(RootPart::Text(literal.into()));
        }
        Some(RootTemplate(parts))
    }
}

/// Writes variables as `${var.name}`, and a dollar sign in a text as `$$`.
impl fmt::Display for RootTemplate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            RootPart::Text(text) => out.write_str(&text.replace('$', "$$")),
            RootPart::Variable(variable) => write!(out, "${{{variable}}}"),
        })
    }
}

/// What the value of an argument rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentBasis {
    /// The root variables that the argument reads: directly, through locals, and through the arguments of module calls.
    pub variables: BTreeSet<SmolStr>,
    /// The value as a template over root variables. `None` if it is anything else.
    pub template: Option<RootTemplate>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_variable_is_written_as_text() {
        for text in ["var.a", "var.a.b.c"] {
            assert_eq!(RootVariable::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "a.b", "local.a"] {
            assert_eq!(RootVariable::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_template_is_written_as_text() {
        for text in ["", "a", "${var.a}", "r-${var.a.b}-${var.c}", "$$${var.a}$$", "$${var.a}"] {
            assert_eq!(RootTemplate::parse(text).unwrap().to_string(), text);
        }
        let dollars = RootTemplate(vec![RootPart::Text("$".into()), RootPart::Text("{var.a}".into())]);
        assert_eq!(RootTemplate::parse(&dollars.to_string()).unwrap().variables().count(), 0);
        for text in ["$", "$a", "${", "${a}", "a${var.b"] {
            assert_eq!(RootTemplate::parse(text), None, "{text}");
        }
        let one = RootTemplate::parse("${var.a}").unwrap();
        assert!(one.as_variable().is_some() && !one.has_text());
        assert!(RootTemplate::parse("x${var.a}").unwrap().as_variable().is_none());
    }
}
