//! Values that are needed before anything is evaluated: they may come from variables, locals and functions only.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::Diagnostic;

use super::{CompiledModule, references_of};
use crate::reference::{Reference, Subject};

/// A named value of a module.
type Name = (Module, Subject);

/// Reports what makes the `for_each` of a provider depend on more than variables, locals and functions.
pub(super) fn check_static(root: &Arc<CompiledModule>, diagnostics: &mut Vec<Diagnostic>) {
    let modules: BTreeMap<Module, Arc<CompiledModule>> =
        root.all().into_iter().map(|module| (module.path.clone(), module)).collect();
    let mut walk = Walk { modules: &modules, sound: BTreeMap::new(), diagnostics };
    for module in modules.values() {
        for block in module.providers.values() {
            let Some(expression) = &block.for_each else { continue };
            let mut problems = Vec::new();
            let references = references_of(expression, &mut problems);
            let who = match &block.alias {
                Some(alias) => format!("provider.{}.{alias}.for_each", block.local_name),
                None => format!("provider.{}.for_each", block.local_name),
            };
            walk.names(module, &references, &who);
            if references.iter().any(|reference| !walk.is_sound(module, reference)) {
                walk.diagnostics.push(
                    Diagnostic::error(
                        "Unable to compute static value",
                        format!("{who} needs a value that is not known before planning."),
                    )
                    .at(expression.range()),
                );
            }
        }
    }
}

struct Walk<'a> {
    modules: &'a BTreeMap<Module, Arc<CompiledModule>>,
    /// Named values that were looked at: whether they are known early. Those being looked at count as sound, since
    /// circles are reported elsewhere.
    sound: BTreeMap<Name, bool>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Walk<'_> {
    /// Looks at all named values that some references lead to, one after the other, and reports what is dynamic.
    fn names(&mut self, module: &Arc<CompiledModule>, references: &[Reference], who: &str) {
        self.dynamic(references, who);
        let mut pending: Vec<Visit> =
            references.iter().map(|r| Visit::Enter(module.path.clone(), r.subject.clone())).collect();
        while let Some(visit) = pending.pop() {
            match visit {
                Visit::Enter(path, subject) => {
                    let name = (path, subject);
                    if self.sound.contains_key(&name) {
                        continue;
                    }
                    let Some((home, found)) = self.behind(&name) else { continue };
                    let dynamic = self.dynamic(&found, &text_of(&name));
                    self.sound.insert(name.clone(), !dynamic);
                    let below: Vec<Name> = found.iter().map(|r| (home.clone(), r.subject.clone())).collect();
                    pending.push(Visit::Leave(name, below.clone()));
                    pending.extend(below.into_iter().map(|(path, subject)| Visit::Enter(path, subject)));
                }
                Visit::Leave(name, below) => {
                    let sound = below.iter().all(|name| self.sound.get(name).copied().unwrap_or(true));
                    if !sound {
                        self.sound.insert(name, false);
                    }
                }
            }
        }
    }

    /// What the value of a local or of a variable of a called module refers to, and in which module.
    fn behind(&self, (path, subject): &Name) -> Option<(Module, Vec<Reference>)> {
        let module = self.modules.get(path)?;
        match subject {
            Subject::Local(name) => Some((path.clone(), module.locals.get(name)?.references.clone())),
            Subject::Variable(name) => {
                let (call, parent) = path.0.split_last()?;
                let parent = self.modules.get(&Module(parent.into()))?;
                let (value, _) = parent.calls.get(call)?.arguments.get(name)?;
                Some((parent.path.clone(), references_of(value, &mut Vec::new())))
            }
            _ => None,
        }
    }

    fn is_sound(&self, module: &Arc<CompiledModule>, reference: &Reference) -> bool {
        self.sound.get(&(module.path.clone(), reference.subject.clone())).copied().unwrap_or(true)
    }

    /// Reports references to what only planning can know.
    fn dynamic(&mut self, references: &[Reference], who: &str) -> bool {
        let mut found = false;
        for reference in references {
            let what = match &reference.subject {
                Subject::Resource(resource) => resource.to_string(),
                Subject::Module(name, _) => format!("module.{name}"),
                Subject::EachKey | Subject::EachValue => SmolStr::new_static("each").to_string(),
                Subject::CountIndex => String::from("count.index"),
                Subject::SelfObject => String::from("self"),
                _ => continue,
            };
            found = true;
            self.diagnostics.push(
                Diagnostic::error(
                    "Dynamic value in static context",
                    format!("{who} has to be known before planning, so {what} cannot be used for it."),
                )
                .at(reference.range.clone()),
            );
        }
        found
    }
}

enum Visit {
    Enter(Module, Subject),
    Leave(Name, Vec<Name>),
}

fn text_of((path, subject): &Name) -> String {
    let name = match subject {
        Subject::Local(name) => format!("local.{name}"),
        Subject::Variable(name) => format!("var.{name}"),
        _ => String::from("this value"),
    };
    if path.is_root() { name } else { format!("{path}.{name}") }
}
