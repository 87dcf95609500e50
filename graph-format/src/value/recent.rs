//! A cache of object types.
//!
//! The instances of a resource are objects of one type. Each object computes its type, and a separate copy of the type
//! would be larger than the object. So each thread remembers the last few types, and objects of the same type share one
//! type in memory.

use std::cell::RefCell;

use crate::types::Type;

/// The number of types that a thread remembers. Planning an instance alternates between about four types of objects.
const REMEMBERED: usize = 8;

/// The maximum depth of an object whose type is looked up. Each level is looked up separately, so the work grows with
/// the product of size and depth.
const DEEPEST_LOOKED_UP: u16 = 8;

thread_local! {
    /// The types, the most recently used first.
    static RECENT: RefCell<Vec<Type>> = const { RefCell::new(Vec::new()) };
}

/// The type of an object of this depth: a remembered type that `fits`, otherwise the result of `make`.
pub(super) fn object_type(depth: u16, fits: impl Fn(&Type) -> bool, make: impl FnOnce() -> Type) -> Type {
    if depth > DEEPEST_LOOKED_UP {
        return make();
    }
    // `fits` may call this function for parts of the object, so the list must not be borrowed.
    let known = RECENT.with_borrow(Clone::clone);
    if let Some(place) = known.iter().position(fits) {
        if place > 0 {
            RECENT.with_borrow_mut(|recent| {
                if place < recent.len() {
                    recent[..=place].rotate_right(1);
                }
            });
        }
        return known[place].clone();
    }
    let made = make();
    RECENT.with_borrow_mut(|recent| {
        recent.truncate(REMEMBERED - 1);
        recent.insert(0, made.clone());
    });
    made
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;

    fn object(names: &[&str], value: &Value) -> Value {
        Value::object(names.iter().map(|name| (*name, value.clone())))
    }

    /// Whether two values share one type in memory.
    fn share(a: &Value, b: &Value) -> bool {
        match (a.ty(), b.ty()) {
            (Type::Object(a), Type::Object(b)) => std::sync::Arc::ptr_eq(&a, &b),
            _ => false,
        }
    }

    #[test]
    fn objects_of_one_type_share_the_type() {
        let (number, text) = (Value::int(1), Value::string("x"));
        let one = object(&["a", "b"], &number);
        assert!(share(&one, &object(&["a", "b"], &Value::int(2))));
        // Objects of other types come in between, but of fewer types than a thread remembers.
        for names in [&["a"][..], &["a", "c"], &["b"], &[]] {
            assert!(!share(&one, &object(names, &number)), "{names:?}");
        }
        assert!(!share(&one, &object(&["a", "b"], &text)));
        assert!(share(&one, &object(&["a", "b"], &Value::int(3))));
        let nested = |value: &Value| object(&["n"], &object(&["a", "b"], value));
        assert!(share(&nested(&number), &nested(&Value::int(2))));
        assert!(!share(&nested(&number), &nested(&text)));
    }

    #[test]
    fn the_number_of_remembered_types_is_limited() {
        let names: Vec<String> = (0..3 * REMEMBERED).map(|n| format!("n{n}")).collect();
        for name in &names {
            let value = object(&[name], &Value::int(1));
            assert_eq!(value.ty(), Type::object([(name.as_str(), Type::Number)]));
        }
        assert_eq!(RECENT.with_borrow(Vec::len), REMEMBERED);
    }
}
