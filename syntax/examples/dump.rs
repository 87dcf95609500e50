use std::io::{BufRead, Write};
use std::sync::Arc;
use weft_graph_format::source::Position;
use weft_syntax::*;
fn main() {
    let stdin = std::io::stdin();
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for line in stdin.lock().lines() {
        let v: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let s: Arc<str> = Arc::from(v["Source"].as_str().unwrap());
        let d = match v["Kind"].as_str().unwrap() {
            "file" => parse_file("x", s).1,
            "expr" => parse_expression("x", s, Position::START).1,
            "tmpl" => parse_template("x", s, Position::START).1,
            _ => parse_traversal("x", s, Position::START).1,
        };
        let e: Vec<String> = d.iter().map(|d| { let r = d.subject.as_ref().unwrap();
            format!("{} @{}-{} L{}:{}", d.summary, r.start.byte, r.end.byte, r.start.line, r.start.column)}).collect();
        writeln!(out, "{}", serde_json::json!({"Errors": e})).unwrap();
    }
}
