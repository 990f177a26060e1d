//! The page of landscapes, made from their registry.

use valleyscope_engine::landscape::{LandscapeInfo, LandscapeKind};
use valleyscope_engine::quantity::{Range, number_text};

use crate::markdown::{block, code, escaped, table};

pub fn text() -> String {
    let mut text = "# Landscapes\n\n\
        A landscape is a loss L of the coordinates u and v, which the rotation φ turns against x and y: \
        u = x cos φ + y sin φ, v = −x sin φ + y cos φ. `valleyscope landscapes show Valley` prints the same. \
        A landscape of your own is [typed](../own-landscape.md).\n\n"
        .to_owned();
    LandscapeKind::ALL.iter().for_each(|kind| text += &section(*kind));
    text
}

fn section(kind: LandscapeKind) -> String {
    let LandscapeInfo { name, formula, about, source, parameters, metrics, start, .. } = kind.info();
    let [x, y] = start.map(number_text);
    let mut text = format!("## {name}\n\n{about}\n\n{}", block("text", &format!("L = {formula}\n")));
    text += &format!("In presets `{}`. Source: {}. Sweeps start at ({x}, {y}).\n\n", kind.key(), escaped(source));
    let keys: Vec<&str> = parameters.iter().map(|of| of.key).collect();
    text += &format!("The gradient:\n\n{}", block("text", &kind.program().gradient_text(&keys)));
    if !metrics.is_empty() {
        let metrics: Vec<String> = metrics.iter().map(|metric| format!("*{}*", escaped(&metric.title()))).collect();
        text += &format!("Metrics besides the loss: {}.\n\n", metrics.join(", "));
    }
    let rows = parameters.iter().map(|of| {
        let Range { min, max, .. } = of.range().expect("it is a number");
        let [default, low, high] = [of.default, min, max].map(number_text);
        let values = format!("{low} to {high}");
        [escaped(of.label), code(of.key), default, values, escaped(of.help)]
    });
    text + &table(["parameter", "in presets", "default", "values", "meaning"], rows)
}
