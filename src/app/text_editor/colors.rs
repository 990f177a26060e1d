//! The layout of typed text: coloured words and a line under a mistake.

use std::ops::Range;
use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{Galley, Stroke, TextStyle, Ui};
use valleyscope_engine::language::{TokenKind, tokens};

/// Returns a range of at least one character around a position in a text.
pub(super) fn marked_range(text: &str, range: Range<usize>) -> Range<usize> {
    if !range.is_empty() {
        return range;
    }
    match text[range.end..].chars().next() {
        Some(next) if next != '\n' => range.start..range.end + next.len_utf8(),
        _ => range.start - text[..range.start].chars().next_back().map_or(0, char::len_utf8)..range.end,
    }
}

/// Lays out the text with coloured words and a line under the mistake.
pub(super) fn layout(ui: &Ui, text: &str, mark: Option<&Range<usize>>, width: f32) -> Arc<Galley> {
    let visuals = ui.visuals();
    let font = TextStyle::Monospace.resolve(ui.style());
    let color = |kind: Option<TokenKind>| match kind {
        Some(TokenKind::Keyword) => visuals.strong_text_color(),
        Some(TokenKind::Number) => visuals.hyperlink_color,
        Some(TokenKind::Comment) => visuals.weak_text_color(),
        Some(TokenKind::Unknown) => visuals.error_fg_color,
        Some(TokenKind::Name | TokenKind::Sign | TokenKind::LineEnd) | None => visuals.text_color(),
    };
    let mut job = LayoutJob::default();
    let mut append = |range: Range<usize>, kind: Option<TokenKind>| {
        // Sections split where the mark begins or ends inside.
        let ends = mark.map_or([range.end; 2], |mark| [mark.start, mark.end]);
        let mut start = range.start;
        for end in ends.into_iter().chain([range.end]) {
            let end = end.clamp(start, range.end);
            let is_marked = mark.is_some_and(|mark| mark.start <= start && end <= mark.end);
            let underline = if is_marked { Stroke::new(2.0, visuals.error_fg_color) } else { Stroke::NONE };
            let format = TextFormat { font_id: font.clone(), color: color(kind), underline, ..TextFormat::default() };
            job.append(&text[start..end], 0.0, format);
            start = end;
        }
    };
    let mut at = 0;
    for token in tokens(text) {
        append(at..token.range.start, None);
        at = token.range.end;
        append(token.range, Some(token.kind));
    }
    append(at..text.len(), None);
    job.wrap.max_width = width;
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}
