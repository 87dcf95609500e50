//! Compares two values of the same type.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use super::document::document;
use super::sequence::{self, Match, fingerprint};
use super::{DifferenceNode, Effect, FieldForm, ItemForm, NodeShape, SensitivityChange};

/// An old and a new value. Null counts as absent, except for null elements and null entries of maps.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The old value.
    pub before: Option<&'a Value>,
    /// The new value.
    pub after: Option<&'a Value>,
}

/// The paths to the parts that force the replacement of an object, relative to the current part.
#[derive(Clone, Debug, Default)]
pub struct Reasons<'a>(Vec<&'a [ValueStep]>);

impl<'a> Reasons<'a> {
    /// The paths, relative to the whole object.
    pub fn new(paths: &'a [Path]) -> Reasons<'a> {
        Reasons(paths.iter().map(|path| path.0.as_slice()).collect())
    }

    /// Whether the current part forces the replacement.
    pub(super) fn here(&self) -> bool {
        self.0.iter().any(|path| path.is_empty())
    }

    /// The paths without those that lead further.
    fn only_here(&self) -> Reasons<'a> {
        Reasons(self.0.iter().filter(|path| path.is_empty()).copied().collect())
    }

    /// The paths relative to the part that a step leads to.
    pub(super) fn at(&self, fits: impl Fn(&ValueStep) -> bool) -> Reasons<'a> {
        if self.0.is_empty() {
            return Reasons::default();
        }
        Reasons(self.0.iter().filter_map(|path| path.split_first()).filter(|(s, _)| fits(s)).map(|(_, r)| r).collect())
    }

    /// The paths relative to a named part.
    pub(super) fn named(&self, name: &str) -> Reasons<'a> {
        self.at(|step| matches!(step, ValueStep::Attribute(n) | ValueStep::Key(n) if n == name))
    }

    fn placed(&self, place: Option<usize>) -> Reasons<'a> {
        self.at(|step| matches!((step, place), (ValueStep::Index(i), Some(place)) if *i == place as u64))
    }
}

impl<'a> Pair<'a> {
    /// The pair, with null values as absent.
    pub(super) fn present(&self) -> Pair<'a> {
        let some = |value: Option<&'a Value>| value.filter(|v| !v.is_null());
        Pair { before: some(self.before), after: some(self.after) }
    }

    /// The pair, with empty strings as absent. In blocks, providers of the older SDK use empty strings for unset
    /// arguments.
    pub(super) fn without_empty_texts(&self) -> Pair<'a> {
        let some = |value: Option<&'a Value>| value.filter(|v| v.as_str() != Some(""));
        Pair { before: some(self.before), after: some(self.after) }
    }

    /// Whether both values are absent or null.
    pub(super) fn is_nothing(&self) -> bool {
        let Pair { before, after } = self.present();
        before.is_none() && after.is_none()
    }

    /// The effect on a container before its parts are considered.
    pub(super) fn outer_effect(&self) -> Effect {
        match (self.before.is_some(), self.after.is_some()) {
            (false, true) => Effect::Added,
            (true, false) => Effect::Removed,
            _ => Effect::Same,
        }
    }

    fn map<'b>(&self, part: impl Fn(&'a Value) -> Option<&'b Value>) -> Pair<'b>
    where
        'a: 'b,
    {
        Pair { before: self.before.and_then(&part), after: self.after.and_then(&part) }
    }

    /// The pair of the parts with this name.
    pub(super) fn field(&self, name: &str) -> Pair<'a> {
        self.map(|value| value.as_fields()?.get(name))
    }

    /// The names of the parts of both values, sorted.
    pub(super) fn names(&self) -> BTreeSet<&'a SmolStr> {
        let names = |value: Option<&'a Value>| value.and_then(Value::as_fields).into_iter().flat_map(|f| f.keys());
        names(self.before).chain(names(self.after)).collect()
    }

    /// The elements of both values.
    pub(super) fn items(&self) -> (&'a [Value], &'a [Value]) {
        let items = |value: Option<&'a Value>| value.and_then(Value::as_items).unwrap_or_default();
        (items(self.before), items(self.after))
    }
}

/// The pair of two matched elements, one of which may be absent. Also returns the index of the element: in the new
/// list, or in the old list if the element is removed.
pub(super) fn matched<'a>(before: &'a [Value], after: &'a [Value], found: Match) -> (Pair<'a>, Option<usize>) {
    match found {
        Match::Gone(b) => (Pair { before: before.get(b), after: None }, Some(b)),
        Match::New(a) => (Pair { before: None, after: after.get(a) }, Some(a)),
        Match::Both(b, a) => (Pair { before: before.get(b), after: after.get(a) }, Some(a)),
    }
}

/// The node for a pair that may be sensitive or unknown.
///
/// `inner` makes the node of a pair that is neither sensitive nor unknown.
pub(super) fn guarded(
    pair: Pair<'_>,
    sensitive: bool,
    reasons: &Reasons<'_>,
    inner: &dyn Fn(Pair<'_>, &Reasons<'_>) -> DifferenceNode,
) -> DifferenceNode {
    let hidden = |value: Option<&Value>| {
        value.is_some_and(|v| sensitive || v.marks().is_sensitive() || v.marks().is_ephemeral())
    };
    let (was, will) = (hidden(pair.before), hidden(pair.after));
    if was || will {
        let within = revealed(pair, reasons, inner);
        let changes = pair.before.is_some() && pair.after.is_some() && was != will;
        let notice = match (changes, will) {
            (false, _) => None,
            (true, true) => Some(SensitivityChange::BecomesSensitive),
            (true, false) => Some(SensitivityChange::BecomesPlain),
        };
        let effect = if changes && within.effect == Effect::Same { Effect::Changed } else { within.effect };
        return DifferenceNode { effect, forces: reasons.here(), shape: NodeShape::Hidden(Box::new(within)), notice };
    }
    revealed(pair, reasons, inner)
}

fn revealed(
    pair: Pair<'_>,
    reasons: &Reasons<'_>,
    inner: &dyn Fn(Pair<'_>, &Reasons<'_>) -> DifferenceNode,
) -> DifferenceNode {
    if pair.after.is_none_or(Value::is_known) {
        return inner(pair, reasons);
    }
    let before = Pair { before: pair.before, after: None }.present();
    let effect = if before.before.is_some() { Effect::Changed } else { Effect::Added };
    let forces = reasons.here();
    // As in OpenTofu, the note about the replacement is printed after both parts, unless the type is open.
    let before = before.before.map(|_| Box::new(inner(before, &reasons.only_here())));
    DifferenceNode { effect, forces, shape: NodeShape::Unknown { before }, notice: None }
}

/// Compares two values of a type. With [`Type::Dynamic`], each value has its own type.
pub fn typed(pair: Pair<'_>, ty: &Type, reasons: &Reasons<'_>) -> DifferenceNode {
    guarded(pair, false, reasons, &|pair, reasons| shaped(pair, ty, reasons))
}

/// Compares two values that have their own types, such as outputs and arguments of any type.
pub fn dynamic(pair: Pair<'_>, reasons: &Reasons<'_>) -> DifferenceNode {
    typed(pair, &Type::Dynamic, reasons)
}

pub(super) fn shaped(pair: Pair<'_>, ty: &Type, reasons: &Reasons<'_>) -> DifferenceNode {
    let fits = |value: Option<&Value>| value.and_then(content).is_none_or(|content| content.fits(ty));
    if !fits(pair.before) || !fits(pair.after) {
        // A state file may contain values that do not fit the schema.
        return by_content(pair);
    }
    match ty {
        Type::Dynamic => by_content(pair),
        Type::Bool | Type::Number | Type::Provider(_) => plain(pair, reasons),
        Type::String => text(pair, reasons),
        Type::List(element) => list(pair, element, reasons),
        Type::Set(element) => set(pair, element, reasons),
        Type::Tuple(types) => tuple(pair, types, reasons),
        Type::Map(element) => fields(pair, (FieldForm::Map, false), &|_| (**element).clone(), reasons),
        Type::Object(object) => {
            let ty = |name: &str| object.attributes.get(name).cloned().unwrap_or(Type::Dynamic);
            fields(pair, (FieldForm::Object, true), &ty, reasons)
        }
    }
}

/// The JSON type of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonKind {
    Bool,
    Number,
    Text,
    Items,
    Fields,
}

impl JsonKind {
    fn fits(self, ty: &Type) -> bool {
        match ty {
            Type::Dynamic => true,
            Type::Bool => self == JsonKind::Bool,
            Type::Number => self == JsonKind::Number,
            // State files and objects never contain such a value.
            Type::Provider(_) => false,
            Type::String => self == JsonKind::Text,
            Type::List(_) | Type::Set(_) | Type::Tuple(_) => self == JsonKind::Items,
            Type::Map(_) | Type::Object(_) => self == JsonKind::Fields,
        }
    }
}

fn content(value: &Value) -> Option<JsonKind> {
    Some(match value.open().1 {
        Kind::Null(_) | Kind::Unknown(_) | Kind::Provider(_) => return None,
        Kind::Bool(_) => JsonKind::Bool,
        Kind::Number(_) => JsonKind::Number,
        Kind::String(_) => JsonKind::Text,
        Kind::List(_) | Kind::Set(_) | Kind::Tuple(_) => JsonKind::Items,
        Kind::Map(_) | Kind::Object(_) => JsonKind::Fields,
    })
}

/// Compares two values by their own types: values of the type `any`, and values that do not fit the schema. As recorded
/// from OpenTofu, parts of such values are never shown as the reason of a replacement.
fn by_content(pair: Pair<'_>) -> DifferenceNode {
    let reasons = &Reasons::default();
    let Pair { before, after } = pair.present();
    let (was, will) = (before.and_then(content), after.and_then(content));
    let both = pair.before.is_some() && pair.after.is_some();
    match (was, will) {
        (was, will) if both && was != will => retyped(pair, reasons, &by_content),
        (None, None)
        | (Some(JsonKind::Bool | JsonKind::Number), _)
        | (None, Some(JsonKind::Bool | JsonKind::Number)) => plain(pair, reasons),
        (Some(JsonKind::Text), _) | (None, Some(JsonKind::Text)) => text(pair, reasons),
        (Some(JsonKind::Items), _) | (None, Some(JsonKind::Items)) => list(pair, &Type::Dynamic, reasons),
        (Some(JsonKind::Fields), _) | (None, Some(JsonKind::Fields)) => {
            fields(pair, (FieldForm::Object, false), &|_| Type::Dynamic, reasons)
        }
    }
}

/// A value that is replaced by a value of another type.
fn retyped(pair: Pair<'_>, reasons: &Reasons<'_>, part: &dyn Fn(Pair<'_>) -> DifferenceNode) -> DifferenceNode {
    let before = Box::new(part(Pair { before: pair.before, after: None }));
    let after = Box::new(part(Pair { before: None, after: pair.after }));
    let shape = NodeShape::Retyped { before, after };
    DifferenceNode { effect: Effect::Changed, forces: reasons.here(), shape, notice: None }
}

/// The effect on a value that has no parts.
fn whole_effect(pair: Pair<'_>) -> Effect {
    match (pair.before, pair.after) {
        (None, None) => Effect::Same,
        (None, Some(_)) => Effect::Added,
        (Some(_), None) => Effect::Removed,
        (Some(b), Some(a)) if b.is_null() && a.is_null() || b.same_unmarked(a) => Effect::Same,
        _ => Effect::Changed,
    }
}

fn plain(pair: Pair<'_>, reasons: &Reasons<'_>) -> DifferenceNode {
    let show = |value: &Value| match value.open().1 {
        Kind::Bool(b) => b.to_string(),
        Kind::Number(n) => n.to_json().unwrap_or_else(|_| n.to_string()),
        Kind::String(s) => super::super::quoting::quoted(s),
        _ => "null".to_owned(),
    };
    let shape = NodeShape::Plain { before: pair.before.map(show), after: pair.after.map(show) };
    DifferenceNode { effect: whole_effect(pair), forces: reasons.here(), shape, notice: None }
}

fn text(pair: Pair<'_>, reasons: &Reasons<'_>) -> DifferenceNode {
    let is_document = |value: &Value| value.as_str().and_then(document).is_some();
    if let (Some(before), Some(after)) = (pair.before, pair.after)
        && is_document(before) != is_document(after)
    {
        return retyped(pair, reasons, &|pair| text(pair, reasons));
    }
    let show = |value: &Value| value.as_str().map(SmolStr::new);
    let shape = NodeShape::Text { before: pair.before.map(show), after: pair.after.map(show) };
    DifferenceNode { effect: whole_effect(pair), forces: reasons.here(), shape, notice: None }
}

/// The effect on a container with these parts, and whether the container forces the replacement.
pub(super) fn container<'p>(
    pair: Pair<'_>,
    reasons: &Reasons<'_>,
    parts: impl IntoIterator<Item = &'p DifferenceNode>,
) -> (Effect, bool) {
    let effect = parts.into_iter().fold(pair.present().outer_effect(), |effect, part| effect.with_part(part.effect));
    (effect, reasons.here())
}

fn items(pair: Pair<'_>, form: ItemForm, parts: Vec<DifferenceNode>, reasons: &Reasons<'_>) -> DifferenceNode {
    let (effect, forces) = container(pair, reasons, &parts);
    DifferenceNode { effect, forces, shape: NodeShape::Items { form, parts }, notice: None }
}

/// The node if the container is absent on both sides.
fn nothing(pair: Pair<'_>, reasons: &Reasons<'_>) -> Option<DifferenceNode> {
    pair.is_nothing().then(|| plain(pair, reasons))
}

fn list(pair: Pair<'_>, element: &Type, reasons: &Reasons<'_>) -> DifferenceNode {
    if let Some(part) = nothing(pair, reasons) {
        return part;
    }
    let (before, after) = pair.present().items();
    let prints = |items: &[Value]| items.iter().map(fingerprint).collect::<Vec<_>>();
    let composed = |value: &Value| matches!(content(value), Some(JsonKind::Fields)) && value.is_known();
    let pairs = |b: usize, a: usize| match element {
        Type::Object(_) => true,
        Type::Dynamic if composed(&before[b]) && composed(&after[a]) => true,
        _ => share_a_line(&before[b], &after[a]),
    };
    let found = sequence::lists(&prints(before), &prints(after), pairs);
    let part = |found| {
        let (pair, place) = matched(before, after, found);
        typed(pair, element, &reasons.placed(place))
    };
    items(pair, ItemForm::List, found.into_iter().map(part).collect(), reasons)
}

/// Whether two strings, of which at least one has several lines, have a line in common.
fn share_a_line(before: &Value, after: &Value) -> bool {
    let (Some(before), Some(after)) = (before.as_str(), after.as_str()) else { return false };
    let lines: BTreeSet<&str> = before.split('\n').collect();
    let several = before.contains('\n') || after.contains('\n');
    several && after.split('\n').any(|line| lines.contains(line))
}

fn tuple(pair: Pair<'_>, types: &[Type], reasons: &Reasons<'_>) -> DifferenceNode {
    if let Some(part) = nothing(pair, reasons) {
        return part;
    }
    let (before, after) = pair.present().items();
    let found = sequence::by_place(before.len(), after.len());
    let part = |found| {
        let (pair, place) = matched(before, after, found);
        let ty = place.and_then(|place| types.get(place)).unwrap_or(&Type::Dynamic);
        typed(pair, ty, &reasons.placed(place))
    };
    items(pair, ItemForm::List, found.into_iter().map(part).collect(), reasons)
}

fn set(pair: Pair<'_>, element: &Type, reasons: &Reasons<'_>) -> DifferenceNode {
    if let Some(part) = nothing(pair, reasons) {
        return part;
    }
    let (before, after) = pair.present().items();
    let parts = set_parts(before, after, &|pair| typed(pair, element, &Reasons::default()));
    items(pair, ItemForm::Set, parts, reasons)
}

/// The nodes for the elements of two sets.
pub(super) fn set_parts(
    before: &[Value],
    after: &[Value],
    part: &dyn Fn(Pair<'_>) -> DifferenceNode,
) -> Vec<DifferenceNode> {
    let prints = |items: &[Value]| items.iter().map(fingerprint).collect::<Vec<_>>();
    let found = sequence::sets(&prints(before), &prints(after));
    found.into_iter().map(|found| part(matched(before, after, found).0)).collect()
}

/// Compares the named parts. With `skip_null`, null attributes are omitted. The caller does not set `skip_null` for
/// maps and for values without a declared type, so their nulls are shown.
fn fields(
    pair: Pair<'_>,
    (form, skip_null): (FieldForm, bool),
    ty: &dyn Fn(&str) -> Type,
    reasons: &Reasons<'_>,
) -> DifferenceNode {
    if let Some(part) = nothing(pair, reasons) {
        return part;
    }
    let pair = pair.present();
    let mut parts = BTreeMap::new();
    for name in pair.names() {
        let mut field = pair.field(name);
        if skip_null {
            field = field.present();
            if field.is_nothing() {
                continue;
            }
        }
        parts.insert(name.clone(), typed(field, &ty(name), &reasons.named(name)));
    }
    let (effect, forces) = container(pair, reasons, parts.values());
    DifferenceNode { effect, forces, shape: NodeShape::Fields { form, parts }, notice: None }
}
