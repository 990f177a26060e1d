//! The speaker notes of a lesson as one HTML page, to print or to open on a second screen.

use valleyscope_experiments::preset::{LandscapePreset, LessonStep};

use crate::draw::escaped;

const STYLE: &str = include_str!("../../../assets/lesson/notes.css");

/// Formats the texts and notes of a lesson's steps as a page.
pub fn notes_page(preset: &LandscapePreset) -> String {
    let title = escaped(&preset.title);
    let steps: String = preset.lesson.iter().enumerate().map(|(index, step)| step_html(index + 1, step)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Notes: {title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n<p class=\"description\">{}</p>\n{steps}</body>\n</html>\n",
        escaped(&preset.description)
    )
}

fn step_html(number: usize, step: &LessonStep) -> String {
    let section = step.section.as_ref().map(|section| format!("<h2>{}</h2>\n", escaped(section)));
    format!(
        "{}<section>\n<b>{number}</b>\n<div><p class=\"text\">{}</p>\n<p class=\"notes\">{}</p></div>\n</section>\n",
        section.unwrap_or_default(),
        escaped(&step.text),
        escaped(&step.notes)
    )
}
