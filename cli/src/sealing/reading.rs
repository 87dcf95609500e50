//! Reads the arguments of `key_provider` and `method` blocks.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use weft_backends::keys;
use weft_evaluator::config::{EncryptionPart, EncryptionSetting};
use weft_expressions::convert::convert;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_sealing::key_provider::{DEFAULT_ITERATIONS, DEFAULT_KEY_LENGTH, DEFAULT_SALT_LENGTH};
use weft_sealing::{HashFunction, KeyProviderName, Passphrase, Pbkdf2, Secret};

use super::placed;
use super::problems::{self, ArgumentFault};
use crate::backend::json_of;

/// Reads the arguments of a block.
pub(super) struct Reading<'a> {
    what: &'a str,
    part: &'a EncryptionPart,
    read: BTreeSet<String>,
    problems: &'a mut Vec<Diagnostic>,
}

impl<'a> Reading<'a> {
    /// Reads the arguments of a block. `what` is the name of the block in messages.
    pub(super) fn new(what: &'a str, part: &'a EncryptionPart, problems: &'a mut Vec<Diagnostic>) -> Reading<'a> {
        Reading { what, part, read: BTreeSet::new(), problems }
    }

    /// The arguments of a key provider that is a remote service, in the form that the client of the service expects.
    pub(super) fn service(&mut self, schema: &Block) -> Option<keys::BackendSettings> {
        let before = self.problems.len();
        let mut settings = keys::BackendSettings::new();
        for (name, attribute) in &schema.attributes {
            if attribute.required && !self.part.settings.contains_key(name) {
                self.problems.push(placed(problems::missing_argument(self.what, name), &self.part.range));
            }
            self.check_parts(name, &attribute.ty);
            let value = self.value(name, &attribute.ty);
            settings.insert(name.to_string(), value.map_or(Json::Null, |value| json_of(&value)));
        }
        (self.problems.len() == before).then_some(settings)
    }

    /// Reports attributes in the value of the argument `name` that the object type `ty` does not have.
    fn check_parts(&mut self, name: &str, ty: &Type) {
        let (Type::Object(wanted), Some((EncryptionSetting::Value(value), range))) = (ty, self.part.settings.get(name))
        else {
            return;
        };
        if let Json::Object(parts) = json_of(value) {
            for part in parts.keys().filter(|part| !wanted.attributes.contains_key(part.as_str())) {
                let what = format!("{} in {}", name, self.what);
                self.problems.push(placed(problems::unsupported_argument(&what, part), range));
            }
        }
    }

    /// The settings of a `pbkdf2` block.
    pub(super) fn pbkdf2(&mut self) -> Option<Pbkdf2> {
        let before = self.problems.len();
        let passphrase = match (self.text("passphrase"), self.keys("chain")) {
            (Some(words), None) => Some(Passphrase::Words(Secret::new(words))),
            (None, Some(keys)) => Some(Passphrase::Chain(keys)),
            (Some(_), Some(_)) => {
                self.refuse_whole(ArgumentFault::PassphraseAndChain);
                None
            }
            (None, None) => {
                if self.problems.len() == before {
                    self.refuse_whole(ArgumentFault::NoPassphrase);
                }
                None
            }
        };
        let hash_function = match self.text("hash_function") {
            None => Some(HashFunction::default()),
            Some(word) => match word.parse() {
                Ok(found) => Some(found),
                Err(error) => {
                    let error: weft_sealing::UnknownHashFunction = error;
                    self.refuse_whole(ArgumentFault::HashFunction(&error));
                    None
                }
            },
        };
        let key_length = self.whole("key_length").unwrap_or(DEFAULT_KEY_LENGTH);
        let iterations = self.whole("iterations").unwrap_or(DEFAULT_ITERATIONS);
        let salt_length = self.whole("salt_length").unwrap_or(DEFAULT_SALT_LENGTH);
        Some(Pbkdf2 { passphrase: passphrase?, key_length, iterations, hash_function: hash_function?, salt_length })
    }

    fn range_of(&self, name: &str) -> SourceRange {
        self.part.settings.get(name).map_or_else(|| self.part.range.clone(), |(_, range)| range.clone())
    }

    /// Refuses the block. As in OpenTofu, the problem has no position.
    fn refuse_whole(&mut self, fault: ArgumentFault<'_>) {
        self.problems.push(problems::invalid_arguments(self.what, fault));
    }

    fn refuse(&mut self, fault: ArgumentFault<'_>, at: &SourceRange) {
        let problem = problems::invalid_arguments(self.what, fault);
        self.problems.push(placed(problem, at));
    }

    /// The value of an argument, converted to this type. `None` if it is null or absent.
    fn value(&mut self, name: &str, ty: &Type) -> Option<Value> {
        self.read.insert(name.to_owned());
        let (setting, range) = self.part.settings.get(name)?;
        let wanted = |this: &mut Self| this.refuse(ArgumentFault::Type(name, &ty.friendly_name()), range);
        let EncryptionSetting::Value(value) = setting else {
            wanted(self);
            return None;
        };
        match convert(&value.unmark_deep().0, ty) {
            Ok(value) if value.is_null() => None,
            Ok(value) => Some(value),
            Err(_) => {
                wanted(self);
                None
            }
        }
    }

    /// The value of a string argument.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.value(name, &Type::String).and_then(|value| value.as_str().map(str::to_owned))
    }

    fn whole(&mut self, name: &'static str) -> Option<u64> {
        let value = self.value(name, &Type::Number)?;
        let found = value.as_number().and_then(weft_graph_format::number::Number::to_u64);
        if found.is_none() {
            self.refuse(ArgumentFault::NotWhole(name), &self.range_of(name));
        }
        found
    }

    /// The value of an argument with a list of strings.
    pub(super) fn words(&mut self, name: &'static str) -> Option<Vec<String>> {
        let value = self.value(name, &Type::list(Type::String))?;
        let words = value.as_items()?.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
        if words.is_none() {
            self.refuse(ArgumentFault::NotWords(name), &self.range_of(name));
        }
        words
    }

    /// The value of an argument with a list of bytes.
    pub(super) fn bytes(&mut self, name: &'static str) -> Option<Vec<u8>> {
        let value = self.value(name, &Type::list(Type::Number))?;
        let byte = |value: &Value| value.as_number()?.to_u64().and_then(|number| u8::try_from(number).ok());
        let bytes = value.as_items()?.iter().map(byte).collect::<Option<Vec<_>>>();
        if bytes.is_none() {
            self.refuse(ArgumentFault::NotBytes(name), &self.range_of(name));
        }
        bytes
    }

    /// The value of an argument that refers to a key provider.
    pub(super) fn keys(&mut self, name: &'static str) -> Option<KeyProviderName> {
        self.read.insert(name.to_owned());
        let (setting, range) = self.part.settings.get(name)?;
        match setting {
            EncryptionSetting::Keys((kind, name)) => Some(KeyProviderName::new(kind.as_str(), name.as_str())),
            EncryptionSetting::Value(_) => {
                self.refuse(ArgumentFault::NotAKeyProvider(name), range);
                None
            }
        }
    }

    /// The value of a required argument. Reports an error if it is missing.
    pub(super) fn required<Found>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Self, &'static str) -> Option<Found>,
    ) -> Option<Found> {
        if !self.part.settings.contains_key(name) {
            self.problems.push(placed(problems::missing_argument(self.what, name), &self.part.range));
        }
        read(self, name)
    }

    /// Reports arguments that were not read.
    pub(super) fn finish(self) {
        for (name, (_, range)) in &self.part.settings {
            if !self.read.contains(name.as_str()) {
                self.problems.push(placed(problems::unsupported_argument(self.what, name.as_str()), range));
            }
        }
    }
}
