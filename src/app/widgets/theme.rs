//! The style of the app: one typeface, one accent colour, unobtrusive panels around the landscape.

use egui::{
    Color32, Context, CornerRadius, FontFamily, FontId, Margin, Stroke, Style, TextStyle, Theme, Visuals, vec2,
};
use valleyscope_experiments::view::Background;

use crate::draw;
use crate::draw::install_font;

/// The duration of animations of the interface.
const ANIMATION_SECS: f32 = 0.08;

/// The usual size of text and of buttons, in points.
pub(crate) const BODY_SIZE: f32 = 13.5;

struct Palette {
    /// The background of the landscape.
    extreme_background: Color32,
    /// The background of text fields.
    field: Color32,
    panel: Color32,
    /// The background of cards, menus and windows.
    raised: Color32,
    line: Color32,
    /// The colour of map cells that are not computed.
    not_computed: Color32,
    control: Color32,
    control_hovered: Color32,
    /// The outline of check boxes and radio buttons.
    check: Color32,
    check_hovered: Color32,
    text: Color32,
    strong: Color32,
    weak: Color32,
    accent: Color32,
    /// The accent as a background of text.
    accent_fill: Color32,
    warning: Color32,
    error: Color32,
}

const DARK: Palette = Palette {
    extreme_background: Color32::from_rgb(13, 15, 19),
    field: Color32::from_rgb(13, 15, 19),
    panel: draw::Style::DARK_PAPER,
    raised: Color32::from_rgb(30, 34, 42),
    line: Color32::from_rgb(48, 53, 64),
    not_computed: Color32::from_rgb(58, 63, 74),
    control: Color32::from_rgb(44, 49, 60),
    control_hovered: Color32::from_rgb(56, 63, 77),
    check: Color32::from_rgb(106, 114, 130),
    check_hovered: Color32::from_rgb(124, 133, 150),
    text: Color32::from_rgb(203, 209, 220),
    strong: Color32::from_rgb(243, 245, 249),
    weak: Color32::from_rgb(142, 151, 167),
    accent: Color32::from_rgb(104, 160, 255),
    accent_fill: Color32::from_rgb(44, 92, 176),
    warning: Color32::from_rgb(242, 179, 86),
    error: Color32::from_rgb(255, 122, 112),
};

const LIGHT: Palette = Palette {
    extreme_background: Color32::from_rgb(255, 255, 255),
    field: Color32::from_rgb(240, 242, 246),
    panel: Color32::from_rgb(246, 247, 250),
    raised: Color32::from_rgb(255, 255, 255),
    line: Color32::from_rgb(215, 219, 227),
    not_computed: Color32::from_rgb(201, 206, 216),
    control: Color32::from_rgb(228, 231, 238),
    control_hovered: Color32::from_rgb(214, 219, 229),
    check: Color32::from_rgb(132, 139, 151),
    check_hovered: Color32::from_rgb(114, 121, 134),
    text: Color32::from_rgb(52, 58, 70),
    strong: Color32::from_rgb(18, 22, 30),
    weak: Color32::from_rgb(101, 109, 124),
    accent: Color32::from_rgb(30, 96, 210),
    accent_fill: Color32::from_rgb(126, 172, 248),
    warning: Color32::from_rgb(160, 92, 0),
    error: Color32::from_rgb(190, 32, 32),
};

pub(crate) fn install(ctx: &Context) {
    install_font(ctx);
    for theme in [Theme::Dark, Theme::Light] {
        ctx.style_mut_of(theme, |style| apply(style, theme));
    }
}

/// Returns whether changes are shown at once, without motion.
pub(crate) fn is_motion_reduced(ctx: &Context) -> bool {
    ctx.global_style().animation_time == 0.0
}

pub(crate) fn reduce_motion(ctx: &Context, is_reduced: bool) {
    ctx.all_styles_mut(|style| style.animation_time = if is_reduced { 0.0 } else { ANIMATION_SECS });
}

fn text_styles() -> std::collections::BTreeMap<TextStyle, FontId> {
    let proportional = |size: f32| FontId::new(size, FontFamily::Proportional);
    [
        (TextStyle::Small, proportional(11.5)),
        (TextStyle::Body, proportional(BODY_SIZE)),
        (TextStyle::Button, proportional(BODY_SIZE)),
        (TextStyle::Heading, proportional(17.0)),
        (TextStyle::Monospace, FontId::new(13.0, FontFamily::Monospace)),
    ]
    .into()
}

fn apply(style: &mut Style, theme: Theme) {
    style.text_styles = text_styles();
    style.visuals = visuals(theme);
    style.animation_time = ANIMATION_SECS;
    // The distance from a panel's edge within which the pointer can drag it, in points.
    style.interaction.resize_grab_radius_side = 6.0;
    let spacing = &mut style.spacing;
    spacing.item_spacing = vec2(6.0, 5.0);
    spacing.button_padding = vec2(8.0, 3.0);
    spacing.interact_size = vec2(32.0, 22.0);
    spacing.window_margin = Margin::same(14);
    spacing.menu_margin = Margin::same(6);
    spacing.slider_rail_height = 4.0;
    spacing.tooltip_width = 320.0;
    spacing.menu_width = 320.0;
}

fn visuals(theme: Theme) -> Visuals {
    let (palette, mut visuals) = match theme {
        Theme::Dark => (&DARK, Visuals::dark()),
        Theme::Light => (&LIGHT, Visuals::light()),
    };
    visuals.panel_fill = palette.panel;
    visuals.window_fill = palette.raised;
    visuals.window_stroke = Stroke::new(1.0, palette.line);
    visuals.extreme_bg_color = palette.extreme_background;
    visuals.text_edit_bg_color = Some(palette.field);
    visuals.faint_bg_color = palette.raised;
    visuals.code_bg_color = palette.extreme_background;
    visuals.weak_text_color = Some(palette.weak);
    visuals.hyperlink_color = palette.accent;
    visuals.warn_fg_color = palette.warning;
    visuals.error_fg_color = palette.error;
    visuals.selection.bg_fill = palette.accent_fill;
    visuals.selection.stroke = Stroke::new(1.0, palette.strong);
    visuals.slider_trailing_fill = true;
    visuals.handle_shape = egui::style::HandleShape::Circle;
    visuals.window_corner_radius = CornerRadius::same(8);
    visuals.menu_corner_radius = CornerRadius::same(8);
    visuals.indent_has_left_vline = false;
    visuals.text_cursor.stroke = Stroke::new(2.0, palette.accent);

    let widgets = &mut visuals.widgets;
    widgets.noninteractive.bg_fill = palette.panel;
    widgets.noninteractive.weak_bg_fill = palette.panel;
    widgets.noninteractive.bg_stroke = Stroke::new(1.0, palette.line);
    widgets.noninteractive.fg_stroke = Stroke::new(1.0, palette.text);
    // The rails and knobs of sliders.
    widgets.inactive.bg_fill = palette.control_hovered;
    widgets.inactive.weak_bg_fill = palette.control;
    widgets.inactive.fg_stroke = Stroke::new(1.0, palette.text);
    widgets.hovered.bg_fill = palette.check_hovered;
    widgets.hovered.weak_bg_fill = palette.control_hovered;
    widgets.hovered.bg_stroke = Stroke::NONE;
    widgets.hovered.fg_stroke = Stroke::new(1.5, palette.strong);
    // egui uses the active style for the widget with the keyboard's focus too: it has the accent colour.
    widgets.active.bg_fill = palette.check_hovered;
    widgets.active.weak_bg_fill = palette.control_hovered;
    widgets.active.bg_stroke = Stroke::new(1.5, palette.accent);
    widgets.active.fg_stroke = Stroke::new(1.5, palette.strong);
    widgets.open.bg_fill = palette.control;
    widgets.open.weak_bg_fill = palette.control;
    widgets.open.bg_stroke = Stroke::NONE;
    widgets.open.fg_stroke = Stroke::new(1.0, palette.strong);
    for state in [
        &mut widgets.noninteractive,
        &mut widgets.inactive,
        &mut widgets.hovered,
        &mut widgets.active,
        &mut widgets.open,
    ] {
        state.corner_radius = CornerRadius::same(5);
        state.expansion = 0.0;
    }
    visuals
}

/// Draws frames around the numbers in a menu, which otherwise resemble texts.
pub(crate) fn frame_fields(ui: &mut egui::Ui) {
    let palette = palette(ui.theme());
    ui.spacing_mut().button_padding = vec2(6.0, 2.0);
    let field = &mut ui.visuals_mut().widgets.inactive;
    field.weak_bg_fill = palette.control;
    field.bg_stroke = Stroke::new(1.0, palette.check);
}

/// Styles the check boxes and radio buttons that follow with an outline, and without a fill.
pub(crate) fn outline_boxes(ui: &mut egui::Ui) {
    let palette = palette(ui.theme());
    let widgets = &mut ui.visuals_mut().widgets;
    for (state, outline) in [(&mut widgets.inactive, palette.check), (&mut widgets.hovered, palette.check_hovered)] {
        state.bg_fill = palette.field;
        state.bg_stroke = Stroke::new(1.0, outline);
    }
    widgets.active.bg_fill = palette.field;
}

fn palette(theme: Theme) -> &'static Palette {
    match theme {
        Theme::Dark => &DARK,
        Theme::Light => &LIGHT,
    }
}

pub(crate) fn not_computed(theme: Theme) -> [u8; 3] {
    let [red, green, blue, _] = palette(theme).not_computed.to_array();
    [red, green, blue]
}

/// Returns the style of what is drawn of data, with texts of a size.
pub(crate) fn drawing(ui: &egui::Ui, size: &TextStyle) -> draw::Style {
    let visuals = ui.visuals();
    draw::Style {
        em: size.resolve(ui.style()).size,
        text: visuals.text_color(),
        line: Stroke::new(1.0, visuals.weak_text_color()),
        background: background(ui.theme()),
    }
}

/// Returns a theme's background.
pub(crate) fn background(theme: Theme) -> Background {
    match theme {
        Theme::Light => Background::Light,
        Theme::Dark => Background::Dark,
    }
}

pub(crate) fn card(style: &Style) -> egui::Frame {
    egui::Frame::new()
        .fill(style.visuals.faint_bg_color)
        .stroke(style.visuals.widgets.noninteractive.bg_stroke)
        .corner_radius(CornerRadius::same(8))
        .inner_margin(Margin::symmetric(10, 8))
}

/// Makes the button of the main action of a dialog, in the accent colour.
pub(crate) fn primary_button(ui: &egui::Ui, text: impl Into<egui::RichText>) -> egui::Button<'static> {
    let fill = if ui.visuals().dark_mode { DARK.accent_fill } else { LIGHT.accent };
    egui::Button::new(text.into().color(Color32::WHITE)).fill(fill)
}

/// Makes the large button of the main action in an empty view.
pub(crate) fn large_primary_button(ui: &egui::Ui, text: &str) -> egui::Button<'static> {
    primary_button(ui, text).min_size(vec2(96.0, 30.0))
}

pub(crate) fn text_width(ui: &egui::Ui, font: &egui::FontId, text: &str) -> f32 {
    ui.painter().layout_no_wrap(text.to_owned(), font.clone(), Color32::PLACEHOLDER).size().x
}

#[cfg(test)]
mod tests {
    use egui::{Color32, Theme};

    use super::{not_computed, palette};
    use valleyscope_experiments::view::{Vision, color_difference};

    #[test]
    fn cells_that_are_not_computed_are_visible_but_do_not_stand_out() {
        for theme in [Theme::Dark, Theme::Light] {
            let [red, green, blue, _] = palette(theme).panel.to_array();
            let apart = color_difference(not_computed(theme), [red, green, blue], Vision::Usual);
            assert!((6.0..24.0).contains(&apart), "{apart} in the {theme:?} theme");
            let ratio = contrast(palette(theme).not_computed, palette(theme).panel);
            assert!(ratio >= 1.4, "{ratio} in the {theme:?} theme");
        }
    }

    #[test]
    fn check_boxes_and_their_marks_have_a_contrast_of_at_least_3() {
        for theme in [Theme::Dark, Theme::Light] {
            let palette = palette(theme);
            for (outline, mark) in [(palette.check, palette.text), (palette.check_hovered, palette.strong)] {
                for (one, other) in [
                    (outline, palette.panel),
                    (outline, palette.raised),
                    (outline, palette.extreme_background),
                    (outline, palette.field),
                    (mark, palette.field),
                ] {
                    let ratio = contrast(one, other);
                    assert!(ratio >= 3.0, "{ratio}: {one:?} on {other:?} in the {theme:?} theme");
                }
            }
        }
    }

    fn contrast(one: Color32, other: Color32) -> f32 {
        let luminance = |color: Color32| {
            let color = egui::Rgba::from(color);
            0.2126 * color.r() + 0.7152 * color.g() + 0.0722 * color.b()
        };
        let [one, other] = [one, other].map(|color| luminance(color) + 0.05);
        one.max(other) / one.min(other)
    }
}
