//! The controls and drawings of which all tabs are made.

pub(crate) mod curves;
pub(crate) mod form;
pub(crate) mod icons;
pub(crate) mod number;
pub(crate) mod optimizer_cards;
pub(crate) mod plot;
pub(crate) mod setting;
pub(crate) mod text_editor;
pub(crate) mod theme;
pub(crate) mod typed_kinds;
