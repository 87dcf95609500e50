//! A cache of recently parsed strings. The records of a state name few modules and providers, so the records can share
//! the parsed values.

/// The number of strings in the cache. It can be small, because the records of a state come in the order of their
/// addresses.
const REMEMBERED: usize = 8;

/// The most recently used strings with their parsed values, the latest first.
pub(crate) struct Recent<T>(Vec<(Box<str>, T)>);

impl<T: Clone> Recent<T> {
    /// An empty cache.
    pub(crate) const NONE: Recent<T> = Recent(Vec::new());

    /// The cached value of this string. If it is not cached, calls `read` and caches the result.
    pub(crate) fn get(&mut self, text: &str, read: impl FnOnce() -> T) -> T {
        if let Some(place) = self.0.iter().position(|(known, _)| **known == *text) {
            self.0[..=place].rotate_right(1);
        } else {
            self.0.truncate(REMEMBERED - 1);
            self.0.insert(0, (text.into(), read()));
        }
        self.0[0].1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_texts_are_parsed_once() {
        let mut recent = Recent::NONE;
        let mut count = 0;
        for text in ["a", "b", "a", "b", "c", "a"] {
            recent.get(text, || count += 1);
        }
        assert_eq!(count, 3);
        for number in 0..3 * REMEMBERED {
            recent.get(&number.to_string(), || count += 1);
        }
        assert_eq!((count, recent.0.len()), (3 + 3 * REMEMBERED, REMEMBERED));
    }
}
