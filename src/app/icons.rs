//! Icons on buttons, drawn without a font, and the window's icon.

use egui::{Color32, IconData, Pos2, Rect, Response, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo, pos2, vec2};

/// The icon of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Icon {
    Play,
    Pause,
    Step,
    StepBack,
    Restart,
    Dice,
    Close,
    /// An arrow that returns.
    Back,
    Eye,
    EyeClosed,
    /// Three dots, for a menu.
    More,
    Pin,
    Pinned,
}

/// Shows a square button with an icon; `name` is its accessible name, `hint` the tooltip.
pub(super) fn icon_button(ui: &mut Ui, icon: Icon, side: f32, name: &str, hint: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(side), Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::labeled(egui::accesskit::Role::Button, enabled, name));
    if ui.is_rect_visible(rect) {
        let look = ui.style().interact(&response);
        let is_framed =
            matches!(icon, Icon::Play | Icon::Pause | Icon::Step | Icon::StepBack | Icon::Restart | Icon::Dice);
        if is_framed || response.hovered() || response.has_focus() {
            ui.painter().rect(rect, look.corner_radius, look.weak_bg_fill, look.bg_stroke, egui::StrokeKind::Inside);
        }
        let inner = Rect::from_center_size(rect.center(), Vec2::splat(side * 0.42));
        let color = if icon == Icon::Pinned { ui.visuals().hyperlink_color } else { look.fg_stroke.color };
        ui.painter().extend(shapes(icon, inner, color));
    }
    response.on_hover_text(hint)
}

fn shapes(icon: Icon, rect: Rect, color: Color32) -> Vec<Shape> {
    let at = |x: f32, y: f32| pos2(rect.left() + x * rect.width(), rect.top() + y * rect.height());
    let fill = |points: Vec<Pos2>| Shape::convex_polygon(points, color, Stroke::NONE);
    let bar = |left: f32, right: f32| Shape::rect_filled(Rect::from_two_pos(at(left, 0.0), at(right, 1.0)), 1.0, color);
    let stroke = Stroke::new((rect.width() * 0.14).max(1.2), color);
    match icon {
        Icon::Play => vec![fill(vec![at(0.1, 0.0), at(1.0, 0.5), at(0.1, 1.0)])],
        Icon::Pause => vec![bar(0.08, 0.38), bar(0.62, 0.92)],
        Icon::Step => vec![fill(vec![at(0.0, 0.0), at(0.7, 0.5), at(0.0, 1.0)]), bar(0.76, 1.0)],
        Icon::StepBack => vec![bar(0.0, 0.24), fill(vec![at(1.0, 0.0), at(1.0, 1.0), at(0.3, 0.5)])],
        Icon::Restart => {
            let arc = (0..=20).map(|step| {
                let angle = (-60.0 - 290.0 * step as f32 / 20.0).to_radians();
                rect.center() + 0.5 * rect.width() * vec2(angle.cos(), angle.sin())
            });
            let tip = fill(vec![at(0.95, 0.36), at(0.60, 0.22), at(0.92, -0.08)]);
            vec![Shape::line(arc.collect(), stroke), tip]
        }
        Icon::Dice => {
            let pips = [(0.25, 0.25), (0.75, 0.25), (0.5, 0.5), (0.25, 0.75), (0.75, 0.75)];
            let frame = Shape::rect_stroke(rect.expand(1.5), 3.0, stroke, egui::StrokeKind::Middle);
            let dots = pips.map(|(x, y)| Shape::circle_filled(at(x, y), 0.11 * rect.width(), color));
            std::iter::once(frame).chain(dots).collect()
        }
        Icon::Pin | Icon::Pinned => {
            let head = [at(0.2, 0.0), at(0.8, 0.0), at(0.8, 0.5), at(1.0, 0.62), at(0.0, 0.62), at(0.2, 0.5)];
            let needle = Shape::line_segment([at(0.5, 0.62), at(0.5, 1.1)], stroke);
            let head = match icon {
                Icon::Pinned => fill(head.to_vec()),
                _ => Shape::closed_line(head.to_vec(), Stroke::new(1.2, color)),
            };
            vec![needle, head]
        }
        Icon::Back => {
            let arc = (0..=12).map(|step| {
                let angle = (-90.0 + 180.0 * step as f32 / 12.0).to_radians();
                at(0.55, 0.6) + 0.4 * rect.width() * vec2(angle.cos(), angle.sin())
            });
            let line: Vec<Pos2> = std::iter::once(at(0.2, 0.2)).chain(arc).chain([at(0.2, 1.0)]).collect();
            vec![Shape::line(line, stroke), fill(vec![at(-0.15, 0.2), at(0.3, -0.15), at(0.3, 0.55)])]
        }
        Icon::Eye | Icon::EyeClosed => {
            let lid = |side: f32| {
                let point = |step: i32| {
                    let x = step as f32 / 10.0;
                    at(1.3 * x - 0.15, 0.5 + side * 0.45 * (std::f32::consts::PI * x).sin())
                };
                Shape::line((0..=10).map(point).collect(), Stroke::new(1.2, color))
            };
            let pupil = Shape::circle_filled(rect.center(), 0.2 * rect.width(), color);
            let cross = Shape::line_segment([at(0.0, 1.0), at(1.0, 0.0)], stroke);
            vec![lid(-1.0), lid(1.0), if icon == Icon::Eye { pupil } else { cross }]
        }
        Icon::More => [0.05, 0.5, 0.95].map(|x| Shape::circle_filled(at(x, 0.5), 0.13 * rect.width(), color)).to_vec(),
        Icon::Close => vec![
            Shape::line_segment([at(0.1, 0.1), at(0.9, 0.9)], stroke),
            Shape::line_segment([at(0.9, 0.1), at(0.1, 0.9)], stroke),
        ],
    }
}

/// Draws the window's icon: the narrowing valley, darkest on its floor.
pub(super) fn window_icon() -> IconData {
    const SIDE: u32 = 64;
    let mut rgba = Vec::with_capacity((4 * SIDE * SIDE) as usize);
    for row in 0..SIDE {
        for column in 0..SIDE {
            let x = (f64::from(column) + 0.5) / f64::from(SIDE);
            let y = 1.0 - (f64::from(row) + 0.5) / f64::from(SIDE);
            let u = 0.25 + 1.6 * (0.5 * (x + y));
            let v = 2.6 * (y - x);
            let height = 1.0 - (-2.0 * u * u * v * v).exp();
            let [red, green, blue] = valleyscope_experiments::view::Colormap::Viridis.rgb(0.12 + 0.8 * height);
            let corner = (x - 0.5).abs().max((y - 0.5).abs()) > 0.44 && corner_distance(x, y) > 0.12;
            rgba.extend([red, green, blue, if corner { 0 } else { 255 }]);
        }
    }
    IconData { rgba, width: SIDE, height: SIDE }
}

/// Returns the distance of a point from the centre of the nearest rounded corner; 0 away from the corners.
fn corner_distance(x: f64, y: f64) -> f64 {
    let beyond = |t: f64| ((t - 0.5).abs() - 0.38).max(0.0);
    beyond(x).hypot(beyond(y))
}
