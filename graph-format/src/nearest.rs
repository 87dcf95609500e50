//! Did you mean ...? The name among those that exist that somebody may have meant.

/// Edits up to which a name counts as a slip of another one.
const LARGEST_SLIP: usize = 2;

/// Names of fewer letters are other names after two edits, so one is allowed; of those with a single letter none.
const SHORT: usize = 4;

/// Longer names are compared by nobody: no slip makes one of them.
const LONGEST: usize = 128;

/// The nearest of `names` to `given`, when it is near enough to be a slip: of letters left out, put in, exchanged or
/// swapped with their neighbours, whatever their case. Of several equally near ones the first in the alphabet.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = folded(given);
    let most = match letters.len() {
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

/// ` Did you mean "x"?`, or nothing.
pub fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, names).map(|name| format!(" Did you mean {name:?}?")).unwrap_or_default()
}

fn folded(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// The edits between two names, a swap of neighbours counted once (optimal string alignment); none above `most`.
fn distance(a: &[char], b: &[char], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut edits = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x;
            if swapped {
                edits = edits.min(before[j - 1] + 1);
            }
            row.push(edits);
        }
        if row.iter().all(|edits| *edits > most) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips() {
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
        let letters = |text: &str| text.chars().collect::<Vec<char>>();
        assert_eq!(distance(&letters("abcd"), &letters("badc"), 2), Some(2));
        assert_eq!(distance(&letters("abc"), &letters("acb"), 2), Some(1));
        assert_eq!(distance(&letters("abc"), &letters("abc"), 2), Some(0));
        assert_eq!(distance(&letters("abcdef"), &letters("uvwxyz"), 2), None);
    }
}
