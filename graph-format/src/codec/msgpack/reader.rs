//! Reads the elements of MessagePack: markers, integers, strings, lengths and extensions.

use rmp::Marker;

use super::super::{DecodeProblem, MAX_DEPTH};

/// The remaining input.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(input: &'a [u8]) -> Reader<'a> {
        Reader { rest: input }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeProblem> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(DecodeProblem::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], DecodeProblem> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(DecodeProblem::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The next marker, which stays in the input.
    pub(super) fn peek(&self) -> Result<Marker, DecodeProblem> {
        self.rest.first().map(|byte| Marker::from_u8(*byte)).ok_or(DecodeProblem::Truncated)
    }

    pub(super) fn marker(&mut self) -> Result<Marker, DecodeProblem> {
        let [byte] = self.bytes()?;
        Ok(Marker::from_u8(byte))
    }

    pub(super) fn f32(&mut self) -> Result<f32, DecodeProblem> {
        self.bytes().map(f32::from_be_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, DecodeProblem> {
        self.bytes().map(f64::from_be_bytes)
    }

    /// The integer that follows its marker; `None` for other markers.
    pub(super) fn integer_after(&mut self, marker: Marker) -> Result<Option<i128>, DecodeProblem> {
        Ok(Some(match marker {
            Marker::FixPos(value) => value.into(),
            Marker::FixNeg(value) => value.into(),
            Marker::U8 => u8::from_be_bytes(self.bytes()?).into(),
            Marker::U16 => u16::from_be_bytes(self.bytes()?).into(),
            Marker::U32 => u32::from_be_bytes(self.bytes()?).into(),
            Marker::U64 => u64::from_be_bytes(self.bytes()?).into(),
            Marker::I8 => i8::from_be_bytes(self.bytes()?).into(),
            Marker::I16 => i16::from_be_bytes(self.bytes()?).into(),
            Marker::I32 => i32::from_be_bytes(self.bytes()?).into(),
            Marker::I64 => i64::from_be_bytes(self.bytes()?).into(),
            _ => return Ok(None),
        }))
    }

    /// The bytes of a string or binary that follow their marker; `None` for other markers.
    pub(super) fn bytes_after(&mut self, marker: Marker) -> Result<Option<&'a [u8]>, DecodeProblem> {
        let length = match marker {
            Marker::FixStr(length) => length.into(),
            Marker::Str8 | Marker::Bin8 => u8::from_be_bytes(self.bytes()?).into(),
            Marker::Str16 | Marker::Bin16 => u16::from_be_bytes(self.bytes()?).into(),
            Marker::Str32 | Marker::Bin32 => self.length()?,
            _ => return Ok(None),
        };
        self.take(length).map(Some)
    }

    fn length(&mut self) -> Result<usize, DecodeProblem> {
        usize::try_from(u32::from_be_bytes(self.bytes()?)).map_err(|_| DecodeProblem::TooLong)
    }

    /// Reads text. Binary data is accepted if it is UTF-8.
    pub(super) fn text(&mut self, what: &'static str) -> Result<&'a str, DecodeProblem> {
        let marker = self.marker()?;
        let bytes = self.bytes_after(marker)?.ok_or(DecodeProblem::Required(what))?;
        std::str::from_utf8(bytes).map_err(|_| DecodeProblem::NotUtf8)
    }

    /// The number of elements of an array. Each element takes at least one byte, so the remaining input limits this
    /// number.
    pub(super) fn array_length(&mut self, what: &'static str) -> Result<usize, DecodeProblem> {
        let length = match self.marker()? {
            Marker::FixArray(length) => length.into(),
            Marker::Array16 => u16::from_be_bytes(self.bytes()?).into(),
            Marker::Array32 => self.length()?,
            _ => return Err(DecodeProblem::Required(what)),
        };
        self.fitting(length, 1)
    }

    /// The number of entries of a map, limited by the remaining input.
    pub(super) fn map_length(&mut self, what: &'static str) -> Result<usize, DecodeProblem> {
        let length = match self.marker()? {
            Marker::FixMap(length) => length.into(),
            Marker::Map16 => u16::from_be_bytes(self.bytes()?).into(),
            Marker::Map32 => self.length()?,
            _ => return Err(DecodeProblem::Required(what)),
        };
        self.fitting(length, 2)
    }

    fn fitting(&self, length: usize, bytes_each: usize) -> Result<usize, DecodeProblem> {
        match length.checked_mul(bytes_each) {
            Some(bytes) if bytes <= self.rest.len() => Ok(length),
            _ => Err(DecodeProblem::Truncated),
        }
    }

    /// The type and payload of an extension. `None` for anything else, which stays in the input.
    pub(super) fn extension(&mut self) -> Result<Option<(i8, &'a [u8])>, DecodeProblem> {
        let marker = self.peek()?;
        let fixed = match marker {
            Marker::FixExt1 => Some(1),
            Marker::FixExt2 => Some(2),
            Marker::FixExt4 => Some(4),
            Marker::FixExt8 => Some(8),
            Marker::FixExt16 => Some(16),
            Marker::Ext8 | Marker::Ext16 | Marker::Ext32 => None,
            _ => return Ok(None),
        };
        self.marker()?;
        let length = match (fixed, marker) {
            (Some(length), _) => length,
            (None, Marker::Ext8) => u8::from_be_bytes(self.bytes()?).into(),
            (None, Marker::Ext16) => u16::from_be_bytes(self.bytes()?).into(),
            (None, _) => self.length()?,
        };
        let [code] = self.bytes()?;
        Ok(Some((i8::from_be_bytes([code]), self.take(length)?)))
    }

    /// Skips one value of any kind, without recursion.
    pub(super) fn skip(&mut self) -> Result<(), DecodeProblem> {
        // The number of remaining values on each level.
        let mut levels = vec![1usize];
        while let Some(left) = levels.last_mut() {
            if *left == 0 {
                levels.pop();
                continue;
            }
            *left -= 1;
            if levels.len() > MAX_DEPTH {
                return Err(DecodeProblem::TooDeep);
            }
            if self.extension()?.is_some() {
                continue;
            }
            match self.peek()? {
                Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => levels.push(self.array_length("an array")?),
                Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => levels.push(2 * self.map_length("a map")?),
                marker => {
                    self.marker()?;
                    match marker {
                        Marker::Null | Marker::True | Marker::False => {}
                        Marker::F32 => drop(self.f32()?),
                        Marker::F64 => drop(self.f64()?),
                        other => {
                            if self.integer_after(other)?.is_none() && self.bytes_after(other)?.is_none() {
                                return Err(DecodeProblem::Required("a value"));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
