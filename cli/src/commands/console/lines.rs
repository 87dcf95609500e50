//! Joins lines into questions. A question ends with its line, unless a bracket, a template, a heredoc or a comment is
//! still open, or the line ends with a backslash.
//!
//! Each line is scanned once, so the cost of a long question is linear in its length. The parser finds errors. This
//! module only decides where a question ends.

/// An open construct.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OpenConstruct {
    /// A bracket, or the interpolation or directive of a template.
    Bracket,
    /// A quoted string, which ends with its line.
    Quote,
    /// A heredoc that ends with this word.
    Heredoc(String),
    /// A comment that `*/` ends.
    Comment,
}

/// The lines of the current question.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    text: String,
    open: Vec<OpenConstruct>,
    /// The end word of a heredoc that begins on the next line.
    begun: Option<String>,
}

impl Lines {
    /// Adds a line, without its line ending. Returns the question if the line completes it.
    pub fn push(&mut self, line: &str) -> Option<String> {
        let heredoc = self.open.iter().any(|open| matches!(open, OpenConstruct::Heredoc(_)));
        // Whitespace at both ends of a line is significant only in a heredoc.
        let line = if heredoc { line } else { line.trim() };
        let (line, goes_on) = match line.strip_suffix('\\') {
            Some(line) if !heredoc => (line, true),
            _ => (line, false),
        };
        self.scan(line);
        self.text.push_str(line);
        if goes_on || !self.open.is_empty() {
            self.text.push('\n');
            return None;
        }
        Some(std::mem::take(&mut self.text))
    }

    /// The incomplete question at the end of the input. `None` if there is none.
    pub fn rest(&mut self) -> Option<String> {
        self.open.clear();
        let text = std::mem::take(&mut self.text);
        (!text.trim().is_empty()).then_some(text)
    }

    fn scan(&mut self, line: &str) {
        if let Some(OpenConstruct::Heredoc(end)) = self.open.last()
            && line.trim() == end
        {
            self.open.pop();
            return;
        }
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let taken = match self.open.last() {
                Some(OpenConstruct::Comment) => self.in_comment(rest),
                Some(OpenConstruct::Quote) => self.in_template(rest, true),
                Some(OpenConstruct::Heredoc(_)) => self.in_template(rest, false),
                Some(OpenConstruct::Bracket) | None => self.in_code(rest),
            };
            rest = rest.get(taken.max(first.len_utf8())..).unwrap_or_default();
        }
        // A quoted string must not continue on the next line. The parser reports it.
        while self.open.last() == Some(&OpenConstruct::Quote) {
            self.open.pop();
        }
        self.open.extend(self.begun.take().map(OpenConstruct::Heredoc));
    }

    /// Scans `rest` inside a comment, and returns the number of consumed bytes. The functions below return a number of
    /// bytes, too.
    fn in_comment(&mut self, rest: &str) -> usize {
        match rest.find("*/") {
            Some(end) => {
                self.open.pop();
                end + 2
            }
            None => rest.len(),
        }
    }

    fn in_template(&mut self, rest: &str, quoted: bool) -> usize {
        if rest.starts_with("$${") || rest.starts_with("%%{") {
            return 3;
        }
        if rest.starts_with("${") || rest.starts_with("%{") {
            self.open.push(OpenConstruct::Bracket);
            return 2;
        }
        if quoted && rest.starts_with('\\') {
            return 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
        }
        if quoted && rest.starts_with('"') {
            self.open.pop();
        }
        1
    }

    fn in_code(&mut self, rest: &str) -> usize {
        if rest.starts_with('#') || rest.starts_with("//") {
            return rest.len();
        }
        if rest.starts_with("/*") {
            self.open.push(OpenConstruct::Comment);
            return 2;
        }
        if let Some(word) = rest.strip_prefix("<<") {
            let word = word.strip_prefix('-').unwrap_or(word).trim_end();
            if weft_syntax::is_identifier(word) {
                self.begun = Some(word.to_owned());
                return rest.len();
            }
            return 2;
        }
        match rest.as_bytes().first() {
            Some(b'"') => self.open.push(OpenConstruct::Quote),
            Some(b'(' | b'[' | b'{') => self.open.push(OpenConstruct::Bracket),
            // The parser reports an unmatched bracket.
            Some(b')' | b']' | b'}') => drop(self.open.pop()),
            _ => {}
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The questions in a text, and the incomplete rest.
    fn questions(text: &str) -> (Vec<String>, Option<String>) {
        let mut lines = Lines::default();
        let found = text.lines().filter_map(|line| lines.push(line)).collect();
        (found, lines.rest())
    }

    #[test]
    fn each_line_is_an_expression() {
        let text = "1\n\n  var.a  \n\"{\"\n]\n1 + # (\n\"a\n\"\\\"[\"\n\"$${\"\n// {";
        let expected = ["1", "", "var.a", "\"{\"", "]", "1 + # (", "\"a", "\"\\\"[\"", "\"$${\"", "// {"];
        assert_eq!(questions(text), (expected.map(str::to_owned).to_vec(), None));
    }

    #[test]
    fn brackets_join_lines() {
        let whole = [
            "split(\n\"_\",\n\"a_b\"\n)",
            "[for x in [\n1]:\nx]",
            "{\na = \"}${\n1}\"\n}",
            "/* {\n} */ [\n1]",
            "<<EOT\n  a {\n${[\n1][0]}\nEOT",
            "{\na = <<-EOT\n  )\n  EOT\n}",
        ];
        for text in whole {
            assert_eq!(questions(text), (vec![text.to_owned()], None), "{text}");
        }
        assert_eq!(questions("5 + \\\n4\n5 + 4 \\\n\n").0, ["5 + \n4", "5 + 4 \n"]);
    }

    #[test]
    fn an_unfinished_expression_is_returned() {
        assert_eq!(questions("1\n[1,\n2"), (vec!["1".to_owned()], Some("[1,\n2\n".to_owned())));
        assert_eq!(questions("\\\n"), (vec![], None));
    }
}
