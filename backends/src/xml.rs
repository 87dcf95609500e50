//! Reads XML responses: the contents of elements with a given name. The responses of S3, STS and Azure are small and
//! flat.

use quick_xml::Reader;
use quick_xml::events::Event;

/// The contents of all elements with this name, in order. Empty if the input is not XML.
pub fn texts(xml: &[u8], name: &str) -> Vec<String> {
    let mut reader = Reader::from_reader(xml);
    let mut found = Vec::new();
    let mut inside: Option<String> = None;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) if start.local_name().as_ref() == name => inside = Some(String::new()),
            Ok(Event::End(end)) if end.local_name().as_ref() == name => found.extend(inside.take()),
            Ok(Event::Text(text)) => {
                if let Some(inside) = &mut inside {
                    inside.push_str(&text);
                }
            }
            Ok(Event::GeneralRef(reference)) => {
                if let (Some(inside), Some(character)) = (&mut inside, character(&reference)) {
                    inside.push(character);
                }
            }
            Ok(Event::Eof) | Err(_) => return found,
            Ok(_) => {}
        }
    }
}

/// The character that a reference such as `&amp;` or `&#10;` stands for.
pub fn character(reference: &quick_xml::events::BytesRef<'_>) -> Option<char> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Some(character);
    }
    match &**reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// The content of the first element with this name.
pub fn text(xml: &[u8], name: &str) -> Option<String> {
    texts(xml, name).into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_elements() {
        let xml =
            b"<?xml version=\"1.0\"?><R xmlns=\"x\"><C><Key>a&amp;b &#65;</Key></C><C><Key>c</Key></C><Empty/></R>";
        assert_eq!(texts(xml, "Key"), ["a&b A", "c"]);
        assert_eq!(text(xml, "Empty"), None);
        assert_eq!(texts(b"not xml <", "Key"), Vec::<String>::new());
    }
}
