//! The sliders that are animated, as their controls show it, and requests to animate one.

use std::sync::Arc;

use egui::{Context, Id};

use super::slider::SliderId;

/// The motion of a slider in words, as in "Moves from 1 to 2 in 10 s."
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Motion(pub String);

impl Motion {
    /// Sets the motions of all sliders, for the controls of this frame.
    pub(in crate::app) fn set_all(ctx: &Context, all: Vec<(SliderId, Motion)>) {
        ctx.data_mut(|data| data.insert_temp(Id::unique("motions of sliders"), Arc::new(all)));
    }

    /// Returns the motion of a slider, if it moves.
    pub(super) fn of(ctx: &Context, slider: &SliderId) -> Option<Motion> {
        let all: Arc<Vec<(SliderId, Motion)>> = ctx.data(|data| data.get_temp(Id::unique("motions of sliders")))?;
        all.iter().find(|(other, _)| other == slider).map(|(_, motion)| motion.clone())
    }

    /// Requests to animate a slider.
    pub(super) fn request(ctx: &Context, slider: SliderId) {
        ctx.data_mut(|data| data.insert_temp(Id::unique("slider to animate"), Some(slider)));
    }

    /// Takes the slider that was requested last.
    pub(in crate::app) fn take_request(ctx: &Context) -> Option<SliderId> {
        ctx.data_mut(|data| data.remove_temp::<Option<SliderId>>(Id::unique("slider to animate"))).flatten()
    }
}
