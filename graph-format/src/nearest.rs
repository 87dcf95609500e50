//! Suggestions for misspelled names: the existing name that the user probably meant.

/// The maximum number of edits between a misspelled name and the intended name.
const LARGEST_SLIP: usize = 2;

/// A name with fewer letters than this may differ by at most one edit, since two edits would replace most of the name.
/// A single letter must match, except for its case.
const SHORT: usize = 4;

/// The maximum length of names that are compared.
const LONGEST: usize = 128;

/// The nearest of `names` to `given`, if few edits separate the two. An edit omits, adds or replaces a letter, or swaps
/// two neighbours. Case is ignored. If several names are equally near, the first in the alphabet is returned.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = folded(given);
    let most = match letters.chars().count() {
        0 | 1 => 0,
        length if length < SHORT => 1,
        length if length > LONGEST => return None,
        _ => LARGEST_SLIP,
    };
    names
        .into_iter()
        .filter(|name| *name != given)
        .filter_map(|name| Some((distance(&letters, &folded(name), most)?, name)))
        .min()
        .map(|(_, name)| name)
}

/// ` Did you mean "x"?`, or an empty text.
pub fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, names).map(|name| format!(" Did you mean {name:?}?")).unwrap_or_default()
}

fn folded(name: &str) -> String {
    name.to_lowercase()
}

/// The number of edits between two names. A swap of neighbours counts once (optimal string alignment). `None` if the
/// number is greater than `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.chars().count().abs_diff(b.chars().count()) > most {
        return None;
    }
    Some(strsim::osa_distance(a, b)).filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        for (given, names, meant) in [
            ("inptu", &["input", "output"][..], Some("input")),
            ("regoin", &["region", "reason"], Some("region")),
            ("Region", &["region"], Some("region")),
            ("plna", &["plan", "apply"], Some("plan")),
            ("ab", &["ba", "cd"], Some("ba")),
            ("a", &["b"], None),
            ("abc", &["xyc"], None),
            ("subnet_ids", &["subnets", "vpc_id"], None),
            ("same", &["same"], None),
            ("", &["a", "b"], None),
            ("color", &["colour", "colors"], Some("colors")),
            ("naïve", &["naive"], Some("naive")),
        ] {
            assert_eq!(nearest(given, names.iter().copied()), meant, "{given}");
        }
        assert_eq!(did_you_mean("inptu", ["input"]), " Did you mean \"input\"?");
        assert_eq!(did_you_mean("other", ["input"]), "");
    }

    #[test]
    fn a_swap_is_one_edit() {
        assert_eq!(distance("abcd", "badc", 2), Some(2));
        assert_eq!(distance("abc", "acb", 2), Some(1));
        assert_eq!(distance("abc", "abc", 2), Some(0));
        assert_eq!(distance("abcdef", "uvwxyz", 2), None);
    }
}
