//! Tokens: the text of a file, split into pieces. The pieces cover the whole text.

use crate::source::Span;

/// A piece of text with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxToken {
    /// The kind.
    pub kind: TokenKind,
    /// The range of the token. The next token starts where this token ends.
    pub span: Span,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Spaces and tabs.
    Blank,
    /// `# ...` or `// ...`, without the line end.
    LineComment,
    /// `/* ... */`
    BlockComment,
    /// The byte order mark that some editors write at the start of a file.
    ByteOrderMark,
    /// `\n` or `\r\n` outside of templates, even where a line end has no meaning.
    Newline,
    /// The end of the text; empty.
    End,

    /// A name.
    Identifier,
    /// A number as written, even if it is malformed, such as `1.2.3`.
    Number,

    /// `"` that begins a string.
    OpenQuote,
    /// `"` that ends a string.
    CloseQuote,
    /// `<<TAG` with its line end.
    OpenHeredoc,
    /// The tag that ends a heredoc, with the blanks before it and without the line end after it.
    CloseHeredoc,
    /// Text of a quoted string, with escapes as written.
    QuotedText,
    /// Text of a heredoc or a template file.
    TemplateText,
    /// A line end within a quoted string.
    QuotedNewline,
    /// `${` or `${~`
    OpenInterpolation,
    /// `%{` or `%{~`
    OpenDirective,
    /// `}` or `~}` that ends an interpolation or a directive.
    CloseSequence,

    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `(`
    OpenParenthesis,
    /// `)`
    CloseParenthesis,

    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `=`
    Assign,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `!`
    Not,
    /// `.`
    Dot,
    /// `,`
    Comma,
    /// `...`
    Ellipsis,
    /// `=>`
    Arrow,
    /// `?`
    Question,
    /// `:`
    Colon,
    /// `::`
    DoubleColon,

    /// `&`, `|`, `^`, `~`: operators of other languages.
    BitwiseOperator,
    /// A character that has no meaning in the language.
    Invalid,
}

impl TokenKind {
    /// Whether the token only separates others: a blank, a comment or a byte order mark.
    pub const fn is_trivia(self) -> bool {
        matches!(self, TokenKind::Blank | TokenKind::LineComment | TokenKind::BlockComment | TokenKind::ByteOrderMark)
    }
}
