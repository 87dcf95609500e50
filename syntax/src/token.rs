//! Tokens: the text of a file, cut into pieces. Nothing is left out.

use crate::source::Span;

/// A piece of text with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxToken {
    /// Its kind.
    pub kind: TokenKind,
    /// Where it stands. The next token begins where this one ends.
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
    /// The mark that some editors put at the beginning of a file.
    ByteOrderMark,
    /// `\n` or `\r\n` outside of templates; also those that mean nothing.
    Newline,
    /// The end of the text; empty.
    End,

    /// A name.
    Identifier,
    /// A number as it is written; also malformed ones such as `1.2.3`.
    Number,

    /// `"` that begins a string.
    OpenQuote,
    /// `"` that ends a string.
    CloseQuote,
    /// `<<TAG` with its line end.
    OpenHeredoc,
    /// Blanks and the tag that end a heredoc, without the line end behind them.
    CloseHeredoc,
    /// Text of a quoted string, escapes as they were written.
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
    /// A character that has no meaning here.
    Invalid,
}

impl TokenKind {
    /// Whether it stands between the tokens that have a meaning everywhere.
    pub const fn is_trivia(self) -> bool {
        matches!(self, TokenKind::Blank | TokenKind::LineComment | TokenKind::BlockComment | TokenKind::ByteOrderMark)
    }
}
