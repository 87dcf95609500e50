//! The size of values, and its limits.
//!
//! Values share their parts, so a short chain of expressions (`b = [a, a]`, `c = [b, b]`, ...) can contain more parts
//! than any machine can visit. Containers store their extent, which counts each part as often as it occurs. Code that
//! combines values checks [`Value::excess`] and refuses values beyond the limits.

use thiserror::Error;

use super::{Kind, Value};
use crate::types::Type;

/// The maximum number of parts of one value, counted as often as they occur. Real documents of a hundred megabytes have
/// fewer parts, and this many parts can be visited in seconds.
pub const MOST_PARTS: u32 = 1 << 24;

/// The maximum number of bytes of text in one value. Shared text counts as often as it occurs.
pub const MOST_TEXT: u32 = 512 << 20;

/// The maximum length of a single text, in bytes.
pub const LONGEST_TEXT: usize = 64 << 20;

/// The maximum depth of a value during evaluation. Documents that people write stay below a hundred. In files, and in
/// messages to providers, the maximum is smaller: see [`crate::codec`].
///
/// Values are walked and dropped by recursion. This many levels fit into half of the smallest stack of a thread.
pub const DEEPEST: u16 = 768;

const _: () = assert!(LONGEST_TEXT < MOST_TEXT as usize);
const _: () = assert!(DEEPEST as usize > super::DEEPEST_VALUE);

/// Why a value is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Excess {
    /// The value has more than [`MOST_PARTS`] parts.
    #[error("a value can have at most {MOST_PARTS} parts, each counted as often as it occurs")]
    Parts,
    /// The value has more than [`MOST_TEXT`] bytes of text.
    #[error("the strings of a value can have at most {MOST_TEXT} bytes in total, each counted as often as it occurs")]
    Text,
    /// A single text has more than [`LONGEST_TEXT`] bytes.
    #[error("a string can have at most {LONGEST_TEXT} bytes")]
    OneText,
    /// The value is deeper than [`DEEPEST`].
    #[error("a value can be nested at most {DEEPEST} levels deep")]
    Depth,
}

/// The extent of a value. Each number saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of parts, including the value itself. Each part counts as often as it occurs.
    pub parts: u32,
    /// The number of bytes of text and keys in the value.
    pub text: u32,
    /// The number of levels of nesting below the value.
    pub depth: u16,
}

impl Extent {
    /// The extent of a container with these parts.
    pub(super) fn around(parts: impl Iterator<Item = Extent>) -> Extent {
        let mut all = Extent { parts: 1, text: 0, depth: 0 };
        for part in parts {
            all.parts = all.parts.saturating_add(part.parts);
            all.text = all.text.saturating_add(part.text);
            all.depth = all.depth.max(part.depth.saturating_add(1));
        }
        all
    }

    /// The extent with the text of a key.
    pub(super) fn keyed(self, key: &str) -> Extent {
        Extent { text: self.text.saturating_add(bytes(key)), ..self }
    }

    /// The sum of both extents, such as for the arguments of one call.
    #[must_use]
    pub fn and(self, other: Extent) -> Extent {
        Extent {
            parts: self.parts.saturating_add(other.parts),
            text: self.text.saturating_add(other.text),
            depth: self.depth.max(other.depth),
        }
    }

    /// The exceeded limit, if any.
    pub fn excess(self) -> Option<Excess> {
        if self.depth > DEEPEST {
            Some(Excess::Depth)
        } else if self.parts > MOST_PARTS {
            Some(Excess::Parts)
        } else if self.text > MOST_TEXT {
            Some(Excess::Text)
        } else {
            None
        }
    }
}

fn bytes(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

impl Value {
    /// The extent. Takes constant time. Types of unknown and null values are not included.
    pub fn extent(&self) -> Extent {
        match &self.kind {
            Kind::Null(_) | Kind::Unknown(_) | Kind::Bool(_) | Kind::Number(_) | Kind::Provider(_) => {
                Extent { parts: 1, text: 0, depth: 0 }
            }
            Kind::String(text) => Extent { parts: 1, text: bytes(text), depth: 0 },
            Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.extent(),
            Kind::Map(f) | Kind::Object(f) => f.extent(),
        }
    }

    /// The limit that the value exceeds, if any.
    pub fn excess(&self) -> Option<Excess> {
        match &self.kind {
            Kind::String(text) if text.len() > LONGEST_TEXT => Some(Excess::OneText),
            Kind::Null(ty) => ty.excess(),
            Kind::Unknown(unknown) => unknown.ty.excess(),
            _ => self.extent().excess(),
        }
    }
}

impl Type {
    /// The limit that the type exceeds, if any. Takes time in proportion to the type, but at most [`MOST_PARTS`] steps.
    pub fn excess(&self) -> Option<Excess> {
        // Types that are still to be visited, with their depths. An explicit stack, so that the depth is not limited.
        let mut waiting: Vec<(u16, &Type)> = Vec::new();
        let mut count: u32 = 0;
        let mut next = Some((0, self));
        while let Some((depth, ty)) = next {
            count = count.saturating_add(1);
            if count > MOST_PARTS {
                return Some(Excess::Parts);
            }
            if depth > DEEPEST {
                return Some(Excess::Depth);
            }
            match ty {
                Type::Dynamic | Type::Bool | Type::Number | Type::String | Type::Provider(_) => {}
                Type::List(element) | Type::Set(element) | Type::Map(element) => waiting.push((depth + 1, element)),
                Type::Tuple(elements) => waiting.extend(elements.iter().map(|element| (depth + 1, element))),
                Type::Object(object) => waiting.extend(object.attributes.values().map(|ty| (depth + 1, ty))),
            }
            next = waiting.pop();
        }
        None
    }
}
