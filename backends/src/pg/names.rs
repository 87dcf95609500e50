//! The names of the schema, tables and index, and the number of a lock, which is derived from these names.

/// The suffix of the table of Weft's objects, after the name of the table of states.
const OBJECTS: &str = "_weft";
/// The initial value and the factor of the 32-bit FNV-1 hash.
const FNV: (u32, u32) = (0x811c_9dc5, 0x0100_0193);

/// The names that the settings determine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// The schema.
    pub(super) schema: String,
    /// The table of the states.
    pub(super) table: String,
    /// The index of the table of the states.
    pub(super) index: String,
}

impl Names {
    /// The table of the states, quoted.
    pub(super) fn table(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.table))
    }

    /// The table of the objects, quoted.
    pub(super) fn objects(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&format!("{}{OBJECTS}", self.table)))
    }

    /// The number of the lock for creating workspaces. OpenTofu uses the same number for the same table.
    pub(super) fn creation_lock(&self) -> i64 {
        let text = format!("{}\0{}", self.schema, self.table);
        let hash = text.bytes().fold(FNV.0, |hash, byte| hash.wrapping_mul(FNV.1) ^ u32::from(byte));
        -i64::from(hash)
    }
}

/// A name, quoted as an SQL identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        let names = Names { schema: "a\"b".to_owned(), table: "T".to_owned(), index: "i".to_owned() };
        assert_eq!(names.table(), "\"a\"\"b\".\"T\"");
        assert_eq!(names.objects(), "\"a\"\"b\".\"T_weft\"");
    }

    /// FNV-1 of "a\0b", computed by hand.
    #[test]
    fn the_creation_lock_depends_on_the_names() {
        let lock = |schema: &str, table: &str| {
            let (schema, table) = (schema.to_owned(), table.to_owned());
            Names { schema, table, index: String::new() }.creation_lock()
        };
        let mut hash: u64 = 2_166_136_261;
        for byte in *b"a\0b" {
            hash = (hash * 16_777_619 % (1 << 32)) ^ u64::from(byte);
        }
        assert_eq!(lock("a", "b"), -(hash as i64));
        assert_ne!(lock("a", "b"), lock("ab", ""));
    }
}
