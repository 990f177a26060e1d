//! The window in which animations are set, started and stopped.

use egui::{Align2, ComboBox, Context, ScrollArea, Ui, Window, vec2};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::LETTERS;

use super::{SettingAnimation, SettingAnimations};
use crate::app::boxes::check_box;
use crate::app::controls::{Motion, SliderId};
use crate::app::document::Document;
use crate::app::form;
use crate::app::icons::{Icon, icon_button};
use crate::app::live::Live;
use crate::app::number;
use crate::app::typed::TypedField;

/// The width of the window and of a field, in points.
const WIDTH: f32 = 340.0;
const FIELD: f32 = 58.0;
/// The longest animation, in seconds.
const LONGEST: f64 = 3600.0;

impl SettingAnimations {
    /// Shows the window while it is open. A slider's menu opens it.
    pub(in crate::app) fn window(&mut self, ctx: &Context, document: &Document, live: &Live) {
        if let Some(slider) = Motion::take_request(ctx) {
            self.add(live.chosen, slider, document);
            self.is_open = true;
        }
        let mut is_open = self.is_open;
        let window = Window::new("Animate settings").open(&mut is_open).resizable(false).collapsible(true);
        window.pivot(Align2::CENTER_BOTTOM).default_pos(ctx.content_rect().center_bottom() - vec2(0.0, 120.0)).show(
            ctx,
            |ui| {
                ui.set_width(WIDTH);
                let most = 0.4 * ui.ctx().content_rect().height();
                ScrollArea::vertical().max_height(most).show(ui, |ui| self.contents(ui, document, live));
            },
        );
        self.is_open = is_open;
    }

    fn contents(&mut self, ui: &mut Ui, document: &Document, live: &Live) {
        let mut removed = None;
        for (index, animation) in self.all.iter_mut().enumerate() {
            let Some(spec) = document.specs().nth(animation.place) else { continue };
            let Some((parameter, _, owner)) = animation.slider.setting(spec) else { continue };
            let mut name = form::owned(&owner, parameter.label);
            if document.count() > 1 {
                name = format!("{}: {name}", LETTERS[animation.place]);
            }
            if ui.push_id(index, |ui| animation.row(ui, &name, spec, live)).inner {
                removed = Some(index);
            }
            ui.separator();
        }
        if let Some(index) = removed {
            self.all.remove(index);
        }
        if self.all.is_empty() {
            ui.weak("Choose a setting. It moves while the run plays, as if you dragged its slider.");
        }
        let mut added = None;
        ComboBox::from_id_salt("animate")
            .selected_text("Add a setting")
            .width(0.6 * WIDTH)
            .show_ui(ui, |ui| {
                let Some(spec) = document.specs().nth(live.chosen) else { return };
                for slider in SliderId::live_ones(spec) {
                    let is_new = !self.all.iter().any(|animation| animation.is_of(live.chosen, &slider));
                    let Some((parameter, _, owner)) = slider.setting(spec).filter(|_| is_new) else { continue };
                    if ui.selectable_label(false, form::owned(&owner, parameter.label)).clicked() {
                        added = Some(slider);
                    }
                }
            })
            .response
            .accessible_name("Setting to animate");
        if let Some(slider) = added {
            self.add(live.chosen, slider, document);
        }
    }
}

impl SettingAnimation {
    /// Shows the animation's settings and its buttons; returns whether it is to be removed.
    fn row(&mut self, ui: &mut Ui, name: &str, spec: &SimulationSpec, live: &Live) -> bool {
        let is_removed = ui.horizontal(|ui| {
            ui.strong(name);
            let state = match &self.running {
                Some(_) if live.is_playing() => "moving",
                Some(_) => "waits for the run to play",
                None => "",
            };
            ui.weak(state);
            let right = egui::Layout::right_to_left(egui::Align::Center);
            let remove = |ui: &mut Ui| {
                icon_button(ui, Icon::Close, 18.0, &format!("Remove the animation of {name}"), "Remove this animation")
                    .clicked()
            };
            ui.with_layout(right, remove).inner
        });
        let slider = &self.slider;
        let nearest = |value: f64| {
            let mut spec = spec.clone();
            slider.set(&mut spec, value);
            slider.setting(&spec).map_or(value, |(_, value, _)| value)
        };
        ui.horizontal(|ui| {
            for (label, value) in [("From", &mut self.from), ("to", &mut self.to)] {
                ui.label(label);
                let accessible = format!("{name}: animate {}", label.to_lowercase());
                let field = TypedField { name: &accessible, width: FIELD };
                if let Some(entered) = field.show(ui, &number::text(*value), number::read).entered {
                    *value = nearest(entered);
                }
            }
            ui.label("in");
            let accessible = format!("{name}: seconds of the animation");
            let field = TypedField { name: &accessible, width: FIELD };
            let typed = field.show(ui, &number::text(self.secs), |text| {
                let secs = number::read(text)?;
                let refused = || format!("The time must be a number above 0 and up to {LONGEST} s, found {secs}");
                (secs > 0.0 && secs <= LONGEST).then_some(secs).ok_or_else(refused)
            });
            self.secs = typed.entered.unwrap_or(self.secs);
            ui.label("s");
        });
        ui.horizontal(|ui| {
            let back = check_box(ui, &mut self.is_back_and_forth, "Back and forth");
            back.on_hover_text("Again and again, until it is stopped")
                .accessible_name(format!("{name}: back and forth"));
            let (verb, hint) = match self.running {
                None => ("Start", "Move the setting while the run plays"),
                Some(_) => ("Stop", "Leave the setting as it is"),
            };
            let button = ui.button(verb).on_hover_text(hint).accessible_name(format!("{verb} animating {name}"));
            if button.clicked() {
                match self.running {
                    None => self.start(spec),
                    Some(_) => self.running = None,
                }
            }
        });
        is_removed.inner
    }
}
