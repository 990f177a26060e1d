//! The frame of all small plots: axes, grid, and which gestures move them.

use egui::{Rangef, TextStyle, Ui, Vec2};
use egui_plot::{AxisHints, GridMark, Plot};

/// A mark on an axis, and what it says.
pub type AxisMark = (GridMark, String);

/// A plot of this size with these marks on its axes. It is dragged and zoomed vertically only where its range of
/// values is `free`; other gestures are the program's own.
pub fn plot_frame<'p>(plot: Plot<'p>, ui: &Ui, size: Vec2, free: bool, marks: &[Vec<AxisMark>; 2]) -> Plot<'p> {
    let font = TextStyle::Small.resolve(ui.style());
    let hint = |hints: AxisHints<'static>, marks: &[AxisMark]| {
        let marks = marks.to_vec();
        hints.tick_label_font(font.clone()).label_spacing(Rangef::new(1.0, 2.0)).formatter(move |mark, _| {
            marks.iter().find(|(known, _)| known.value == mark.value).map_or_else(String::new, |(_, text)| text.clone())
        })
    };
    let grid = |marks: &[AxisMark]| -> Vec<GridMark> { marks.iter().map(|(mark, _)| *mark).collect() };
    let (x_grid, y_grid) = (grid(&marks[0]), grid(&marks[1]));
    // The last label of the horizontal axis stands half beyond its end.
    plot.width(size.x - 10.0)
        .height(size.y)
        .show_x(false)
        .show_y(false)
        .allow_drag([true, free])
        .allow_zoom([true, free])
        .allow_scroll(false)
        .allow_axis_zoom_drag(false)
        .allow_double_click_reset(false)
        .grid_spacing(Rangef::new(1.0, 60.0))
        .grid_fade(0.9)
        .grid_color(ui.visuals().weak_text_color().gamma_multiply(0.35))
        .x_grid_spacer(move |_| x_grid.clone())
        .y_grid_spacer(move |_| y_grid.clone())
        .custom_x_axes(vec![hint(AxisHints::new_x(), &marks[0])])
        .custom_y_axes(vec![hint(AxisHints::new_y().min_thickness(46.0), &marks[1])])
}
