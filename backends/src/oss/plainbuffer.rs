//! Rows in TableStore's wire format ("plain buffer"): tags, little-endian lengths, and a CRC-8 of each cell and row.
//! All cells contain strings.

/// The first bytes of a row.
const HEADER: u32 = 0x75;
/// The tags of the parts of a row.
const KEY: u8 = 1;
const DATA: u8 = 2;
const CELL: u8 = 3;
const NAME: u8 = 4;
const VALUE: u8 = 5;
const OPERATION: u8 = 6;
const TIME: u8 = 7;
const DELETED: u8 = 8;
const ROW_CHECKSUM: u8 = 9;
const CELL_CHECKSUM: u8 = 10;
/// The type tag of strings.
const TEXT: u8 = 3;
/// The name of the primary key of all rows.
const LOCK_ID: &str = "LockID";
/// The polynomial of the checksums, x^8 + x^2 + x + 1.
const POLYNOMIAL: u8 = 7;

/// Extends the checksum `start` by these bytes.
fn crc8(start: u8, bytes: &[u8]) -> u8 {
    bytes.iter().fold(start, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc, _| if crc & 0x80 == 0 { crc << 1 } else { crc << 1 ^ POLYNOMIAL })
    })
}

/// A length in its encoded form. The conversion never fails, because strings are much shorter than 4 GiB.
fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes()
}

/// A string with its type tag.
pub(super) fn text(value: &str) -> Vec<u8> {
    let mut bytes = vec![TEXT];
    bytes.extend(length(value.len()));
    bytes.extend(value.as_bytes());
    bytes
}

/// Writes a cell. Returns its checksum.
fn write_cell(out: &mut Vec<u8>, name: &str, value: &str) -> u8 {
    let value = text(value);
    out.extend([CELL, NAME]);
    out.extend(length(name.len()));
    out.extend(name.as_bytes());
    out.push(VALUE);
    out.extend(length(value.len()));
    out.extend(&value);
    let checksum = crc8(crc8(0, name.as_bytes()), &value);
    out.extend([CELL_CHECKSUM, checksum]);
    checksum
}

/// A row with this key and these columns. `deleted` marks the row for deletion.
pub(super) fn row(key: &str, columns: &[(&str, &str)], deleted: bool) -> Vec<u8> {
    let mut out = HEADER.to_le_bytes().to_vec();
    out.push(KEY);
    let mut checksums = vec![write_cell(&mut out, LOCK_ID, key)];
    if !columns.is_empty() {
        out.push(DATA);
    }
    for (name, value) in columns {
        checksums.push(write_cell(&mut out, name, value));
    }
    if deleted {
        out.push(DELETED);
    }
    checksums.push(u8::from(deleted));
    out.extend([ROW_CHECKSUM, crc8(0, &checksums)]);
    out
}

/// Why a row is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RowDamage {
    #[error("the row has another form")]
    Form,
    #[error("the checksum of the row does not match")]
    RowChecksum,
    #[error("the row has an unknown part")]
    UnknownPart,
    #[error("the row is cut off")]
    CutOff,
    #[error("a cell has no name")]
    Nameless,
    #[error("the checksum of a cell does not match")]
    CellChecksum,
    #[error("a cell has an unknown part")]
    UnknownCellPart,
}

/// The text in a column of a row. `None` if the row is empty or has no such column.
///
/// # Errors
/// Returns an error if the row is not valid.
pub(super) fn column(row: &[u8], wanted: &str) -> Result<Option<String>, RowDamage> {
    if row.is_empty() {
        return Ok(None);
    }
    let mut reader = RowReader { rest: row };
    if reader.take::<4>()? != HEADER.to_le_bytes() {
        return Err(RowDamage::Form);
    }
    let mut found = None;
    let mut checksums = Vec::new();
    let mut deleted = 0;
    loop {
        match reader.byte()? {
            KEY | DATA => {}
            CELL => {
                let (name, value, checksum) = reader.cell()?;
                checksums.push(checksum);
                if name == wanted.as_bytes() {
                    found = Some(String::from_utf8_lossy(value).into_owned());
                }
            }
            DELETED => deleted = 1,
            ROW_CHECKSUM => {
                checksums.push(deleted);
                return match reader.byte()? == crc8(0, &checksums) {
                    true => Ok(found),
                    false => Err(RowDamage::RowChecksum),
                };
            }
            _ => return Err(RowDamage::UnknownPart),
        }
    }
}

/// Reads a row.
struct RowReader<'a> {
    rest: &'a [u8],
}

impl<'a> RowReader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], RowDamage> {
        let (found, rest) = self.rest.split_at_checked(count).ok_or(RowDamage::CutOff)?;
        self.rest = rest;
        Ok(found)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], RowDamage> {
        let (found, rest) = self.rest.split_first_chunk().ok_or(RowDamage::CutOff)?;
        self.rest = rest;
        Ok(*found)
    }

    fn byte(&mut self) -> Result<u8, RowDamage> {
        Ok(self.take::<1>()?[0])
    }

    /// Reads a length, and then this number of bytes.
    fn sized(&mut self) -> Result<&'a [u8], RowDamage> {
        let count = u32::from_le_bytes(self.take()?);
        self.bytes(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Reads the name, the text and the checksum of a cell. If the cell does not contain a string, the text is empty.
    fn cell(&mut self) -> Result<(&'a [u8], &'a [u8], u8), RowDamage> {
        if self.byte()? != NAME {
            return Err(RowDamage::Nameless);
        }
        let name = self.sized()?;
        let mut checksum = crc8(0, name);
        let (mut value, mut operation): (&[u8], &[u8]) = (&[], &[]);
        loop {
            match self.byte()? {
                VALUE => {
                    let typed = self.sized()?;
                    checksum = crc8(checksum, typed);
                    value = typed.strip_prefix(&[TEXT]).and_then(|sized| sized.get(4..)).unwrap_or_default();
                }
                OPERATION => operation = self.bytes(1)?,
                TIME => checksum = crc8(checksum, self.bytes(8)?),
                CELL_CHECKSUM => {
                    let checksum = crc8(checksum, operation);
                    return match self.byte()? == checksum {
                        true => Ok((name, value, checksum)),
                        false => Err(RowDamage::CellChecksum),
                    };
                }
                _ => return Err(RowDamage::UnknownCellPart),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums() {
        // The check value of CRC-8/SMBUS.
        assert_eq!(crc8(0, b"123456789"), 0xf4);
        assert_eq!(crc8(0, b""), 0);
    }

    /// The expected bytes come from the library that OpenTofu uses.
    #[test]
    fn rows_of_the_wire_format() {
        let hex = |bytes: Vec<u8>| crate::digests::hex(&bytes);
        for (have, want) in [
            (row("a/b", &[], false), KEY_ROW),
            (row("a/b", &[], true), DELETED_ROW),
            (row("a/b", &[("Info", "{\"ID\":\"1\"}")], false), FULL_ROW),
        ] {
            assert_eq!(hex(have), want);
        }
    }

    const KEY_ROW: &str = "75000000010304060000004c6f636b494405080000000303000000612f620a82099c";
    const DELETED_ROW: &str = "75000000010304060000004c6f636b494405080000000303000000612f620a8208099b";
    const FULL_ROW: &str = "75000000010304060000004c6f636b494405080000000303000000612f620a8202030404000000496e666f050f\
                            000000030a0000007b224944223a2231227d0a410993";

    #[test]
    fn columns_of_rows() {
        let full = row("k", &[("Info", "text"), ("Next", "other")], false);
        assert_eq!(column(&full, "Info"), Ok(Some("text".to_owned())));
        assert_eq!(column(&full, "Next"), Ok(Some("other".to_owned())));
        assert_eq!(column(&full, "Digest"), Ok(None));
        assert_eq!(column(&[], "Info"), Ok(None));
        for position in 0..full.len() {
            assert!(column(&full[..position.max(1)], "Info").is_err(), "{position}");
            let mut other = full.clone();
            other[position] ^= 0x40;
            assert_ne!(column(&other, "Info"), Ok(Some("text".to_owned())), "{position}");
        }
    }

    /// A cell from the service has a timestamp, and the checksum of the cell covers the timestamp.
    #[test]
    fn cells_with_a_time() {
        let mut cell = vec![NAME, 1, 0, 0, 0, b'n', VALUE, 6, 0, 0, 0, TEXT, 1, 0, 0, 0, b'v', TIME];
        cell.extend(7u64.to_le_bytes());
        let checksum = crc8(crc8(crc8(0, b"n"), &text("v")), &7u64.to_le_bytes());
        cell.extend([CELL_CHECKSUM, checksum]);
        assert_eq!(RowReader { rest: &cell }.cell(), Ok((&b"n"[..], &b"v"[..], checksum)));
    }
}
