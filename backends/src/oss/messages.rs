//! The messages of TableStore: protocol buffers with only the needed fields.

/// The wire types of protocol buffers.
const VARINT: u64 = 0;
const EIGHT: u64 = 1;
const BYTES: u64 = 2;
const FOUR: u64 = 5;

/// A message that is being written.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Adds a field that contains bytes, a string, or a message.
    pub(super) fn bytes(mut self, field: u64, value: &[u8]) -> Message {
        self.varint(field << 3 | BYTES);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// Adds a field that is a number, a bool or a member of an enumeration.
    pub(super) fn number(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    /// The bytes of the message.
    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// The first field of bytes with this number. `None` if the field is missing or the bytes are not a message.
pub(super) fn field(message: &[u8], number: u64) -> Option<&[u8]> {
    let mut rest = message;
    while !rest.is_empty() {
        let head = varint(&mut rest)?;
        match head & 7 {
            VARINT => {
                varint(&mut rest)?;
            }
            EIGHT => rest = rest.get(8..)?,
            FOUR => rest = rest.get(4..)?,
            BYTES => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                let (value, after) = rest.split_at_checked(length)?;
                if head >> 3 == number {
                    return Some(value);
                }
                rest = after;
            }
            _ => return None,
        }
    }
    None
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_wire_format() {
        let message = Message::default().number(1, 300).bytes(2, b"ab").number(3, 0).done();
        assert_eq!(message, [8, 0xac, 2, 0x12, 2, b'a', b'b', 0x18, 0]);
        assert_eq!(field(&message, 2), Some(&b"ab"[..]));
        assert_eq!(field(&message, 4), None);
        for damaged in [&[0x12, 5, b'a'][..], &[0x12], &[0xff; 12], &[3], &[0x0d, 1]] {
            assert_eq!(field(damaged, 2), None, "{damaged:?}");
        }
    }
}
