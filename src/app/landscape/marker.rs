//! Markers that distinguish ensembles by colour, and by shape for readers who cannot distinguish the colours.

use egui::{Color32, Pos2, Shape, Stroke, Theme, vec2};
use valleyscope_engine::optimizer::{Marker, MarkerShape, markers};
use valleyscope_engine::simulation::OptimizerSpec;
use valleyscope_experiments::view::{Background, contrasting, simulation_colors};

/// Returns the marker of the optimizer with this id.
pub(crate) fn marker_of(optimizers: &[OptimizerSpec], id: u32) -> Marker {
    let all = markers(optimizers.iter().map(|spec| spec.rule.rule.marker()));
    let index = optimizers.iter().position(|spec| spec.id == id);
    index.map_or(Marker::filled(MarkerShape::Circle), |index| all[index])
}

/// Returns the most similar marker shape of egui_plot.
pub(crate) fn shape_in_plot(marker: Marker) -> egui_plot::MarkerShape {
    match marker.shape {
        MarkerShape::Circle => egui_plot::MarkerShape::Circle,
        MarkerShape::Square => egui_plot::MarkerShape::Square,
        MarkerShape::Triangle => egui_plot::MarkerShape::Up,
        MarkerShape::Diamond => egui_plot::MarkerShape::Diamond,
        MarkerShape::Cross => egui_plot::MarkerShape::Cross,
        MarkerShape::Star => egui_plot::MarkerShape::Asterisk,
        MarkerShape::Plus => egui_plot::MarkerShape::Plus,
        MarkerShape::Down => egui_plot::MarkerShape::Down,
        MarkerShape::Left => egui_plot::MarkerShape::Left,
        MarkerShape::Right => egui_plot::MarkerShape::Right,
    }
}

/// Draws the marker filled and outlined; an open marker has a hole in the colour of the outline.
pub(crate) fn draw_marker(marker: Marker, center: Pos2, radius: f32, fill: Color32, outline: Color32) -> Shape {
    let stroke = Stroke::new(1.2, outline);
    if !marker.is_open {
        return filled_shape(marker.shape, center, radius, fill, stroke);
    }
    let around = filled_shape(marker.shape, center, Marker::OPEN * radius, fill, stroke);
    Shape::Vec(vec![around, filled_shape(marker.shape, center, Marker::HOLE * radius, outline, Stroke::NONE)])
}

fn filled_shape(shape: MarkerShape, center: Pos2, radius: f32, fill: Color32, stroke: Stroke) -> Shape {
    // Points on a circle about the centre, from the top, clockwise.
    let around = |count: usize, radius_of: &dyn Fn(usize) -> f32, turn: f32| -> Vec<Pos2> {
        (0..count)
            .map(|corner| {
                let angle = turn + std::f32::consts::TAU * corner as f32 / count as f32;
                center + radius_of(corner) * vec2(angle.sin(), -angle.cos())
            })
            .collect()
    };
    // A triangle that points up, rotated by quarter turns.
    let turned = |quarters: u8| {
        let turn = f32::from(quarters) * std::f32::consts::FRAC_PI_2;
        Shape::convex_polygon(around(3, &|_| 1.3 * radius, turn), fill, stroke)
    };
    let crossed = |arms: [egui::Vec2; 2]| {
        let arm = |from: egui::Vec2| [center - from * radius, center + from * radius];
        let wide = arms.map(|from| Shape::line_segment(arm(from), Stroke::new(5.0, stroke.color)));
        let thin = arms.map(|from| Shape::line_segment(arm(from * 0.94), Stroke::new(3.0, fill)));
        Shape::Vec(wide.into_iter().chain(thin).collect())
    };
    match shape {
        MarkerShape::Circle => {
            Shape::Vec(vec![Shape::circle_filled(center, radius, fill), Shape::circle_stroke(center, radius, stroke)])
        }
        MarkerShape::Square => {
            Shape::convex_polygon(around(4, &|_| 1.25 * radius, std::f32::consts::FRAC_PI_4), fill, stroke)
        }
        MarkerShape::Triangle => turned(0),
        MarkerShape::Right => turned(1),
        MarkerShape::Down => turned(2),
        MarkerShape::Left => turned(3),
        MarkerShape::Diamond => Shape::convex_polygon(around(4, &|_| 1.3 * radius, 0.0), fill, stroke),
        MarkerShape::Cross => crossed([vec2(1.0, 1.0), vec2(1.0, -1.0)]),
        MarkerShape::Plus => crossed([vec2(1.3, 0.0), vec2(0.0, 1.3)]),
        MarkerShape::Star => {
            // A pentagram is not convex: five triangles about the centre, with the outline over them.
            let rim = around(10, &|corner| if corner % 2 == 0 { 1.5 * radius } else { 0.65 * radius }, 0.0);
            let mut shapes: Vec<Shape> = (0..10)
                .map(|corner| {
                    let corners = vec![center, rim[corner], rim[(corner + 1) % 10]];
                    Shape::convex_polygon(corners, fill, Stroke::NONE)
                })
                .collect();
            shapes.push(Shape::closed_line(rim, stroke));
            Shape::Vec(shapes)
        }
    }
}

/// Returns the colour of the optimizer with this id, beside the others; grey without it.
pub(crate) fn rgb_of(optimizers: &[OptimizerSpec], id: u32) -> [u8; 3] {
    let index = optimizers.iter().position(|spec| spec.id == id);
    index.map_or([128; 3], |index| simulation_colors(optimizers)[index])
}

/// Returns the colour of the optimizer with this id as it is drawn on the landscape.
pub(crate) fn color_of(optimizers: &[OptimizerSpec], id: u32) -> Color32 {
    let [red, green, blue] = rgb_of(optimizers, id);
    Color32::from_rgb(red, green, blue)
}

/// Returns the colour for lines on the theme's background.
pub fn line_color(color: Color32, theme: Theme) -> Color32 {
    let [red, green, blue] = contrasting([color.r(), color.g(), color.b()], background(theme));
    Color32::from_rgb(red, green, blue)
}

/// Returns a theme's background.
pub(crate) fn background(theme: Theme) -> Background {
    match theme {
        Theme::Light => Background::Light,
        Theme::Dark => Background::Dark,
    }
}
