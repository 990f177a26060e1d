//! The controls of the colours of the loss.

use egui::Ui;
use valleyscope_engine::parameter::{Extent, Parameter};
use valleyscope_engine::quantity::OutOfRange;
use valleyscope_experiments::view::{Colormap, SymLog};

use crate::app::boxes::check_box;
use crate::app::controls::{Adjustable, Control};
use crate::app::number;

/// An end of the colour scale as a slider's quantity.
#[derive(Clone, Copy, PartialEq)]
struct ScaleEnd(f64);

impl ScaleEnd {
    const MIN: f64 = 1e-9;
    const MAX: f64 = 1e12;
}

impl Adjustable for ScaleEnd {
    fn number(self) -> f64 {
        self.0
    }

    fn checked(self, value: f64) -> Result<Self, OutOfRange> {
        let expected = || format!("a number from {:e} to {:e}", Self::MIN, Self::MAX);
        let refused = || OutOfRange { name: "scale", expected: expected(), found: number::text(value) };
        (Self::MIN..=Self::MAX).contains(&value).then_some(ScaleEnd(value)).ok_or_else(refused)
    }

    fn nearest(self, value: f64) -> Self {
        ScaleEnd(value.clamp(Self::MIN, Self::MAX))
    }
}

const SCALE_LINEAR: Parameter = Parameter::new("linear", "Linear below", Extent::logarithmic(1e-4, 10.0))
    .help("Colour smaller losses about linearly, and larger ones logarithmically.")
    .paper("no such setting");

const SCALE_MAX: Parameter = Parameter::new("max", "Largest loss", Extent::logarithmic(1e-2, 1e6))
    .help("The loss at the upper end of the colour bar.")
    .paper("no such setting");

const SCALE_DEPTH: Parameter = Parameter::new("depth", "Depth below 0", Extent::logarithmic(1e-2, 1e6))
    .help("How far the lower end of the colour bar is below 0.")
    .paper("no such setting");

/// The usual scale, when it is first fixed from a menu and when its controls are reset.
pub(in crate::app) const FIRST_SCALE: SymLog = SymLog::symmetric(0.01, 10.0);

/// Shows the controls of the colour scale; `first` is the scale when it is first fixed.
pub(in crate::app) fn color_scale(ui: &mut Ui, scale: &mut Option<SymLog>, first: SymLog) {
    let mut follows = scale.is_none();
    if check_box(ui, &mut follows, "Colour scale follows the view").changed() {
        *scale = (!follows).then_some(first);
    }
    if let Some(scale) = scale {
        let (mut linear, mut max) = (ScaleEnd(scale.linear), ScaleEnd(scale.max));
        Control(&SCALE_LINEAR).show(ui, "", &mut linear, ScaleEnd(FIRST_SCALE.linear));
        Control(&SCALE_MAX).show(ui, "", &mut max, ScaleEnd(FIRST_SCALE.max));
        let mut has_negative = scale.min < 0.0;
        if check_box(ui, &mut has_negative, "Colours for losses below 0").changed() {
            scale.min = if has_negative { -max.0 } else { 0.0 };
        }
        if has_negative {
            let mut depth = ScaleEnd(-scale.min);
            Control(&SCALE_DEPTH).show(ui, "", &mut depth, ScaleEnd(-FIRST_SCALE.min));
            scale.min = -depth.0;
        }
        // The linear part lies inside the scale.
        *scale = SymLog { linear: linear.0.min(max.0), max: max.0, ..*scale };
    }
}

/// Returns the name of a colour map in menus.
pub(in crate::app) fn colormap_name(colormap: Colormap) -> String {
    match colormap {
        Colormap::Cividis => "Cividis (for colour vision deficiency)".to_owned(),
        other => format!("{other:?}"),
    }
}
