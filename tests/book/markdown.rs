//! Writes Markdown.

/// Escapes plain text for Markdown, except for code between backticks.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for (part, text) in text.split('`').enumerate() {
        let is_code = part % 2 == 1;
        if part > 0 {
            escaped.push('`');
        }
        for c in text.chars() {
            if !is_code && r"\*<~".contains(c) {
                escaped.push('\\');
            }
            escaped.push(c);
        }
    }
    escaped
}

/// Formats text as code; an empty text stays empty.
pub fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

/// Formats a block of code in a language.
pub fn block(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n\n", text.trim_end())
}

/// Formats a table. Its cells are Markdown, with `
///
/// ` escaped.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| {
        let cells = cells.iter().map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', r"\|"));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("{}{}{rows}\n", line(&head.map(str::to_owned)), line(&head.map(|_| "---".to_owned())))
}

#[test]
fn plain_text_stays_as_it_is() {
    assert_eq!(escaped("a*b <DIR> `a*b` [x]"), r"a\*b \<DIR> `a*b` [x]");
    assert_eq!(table(["", "x"], [["a|b".to_owned(), code("c|d")]]), "|  | x |\n| --- | --- |\n| a\\|b | `c\\|d` |\n\n");
}
