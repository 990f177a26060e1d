//! The app without a window, and without a GPU unless a test asks for one.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::epaint::ImageDelta;
use egui::{
    ColorImage, ImageData, Key, Modifiers, TextureOptions, TexturesDelta, ViewportCommand, ViewportEvent, ViewportId,
};
use egui_kittest::kittest::Queryable;
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_kittest::{Harness, Node, TestRenderer};
pub use valleyscope::app::shell::session::SessionTexts;
use valleyscope::app::shell::session::Store;
use valleyscope::app::{AppOptions, InstallCommand, OpenedContent, TrainingPaths, Valleyscope};
use valleyscope_experiments::preset::{Library, Preset};
use valleyscope_machine::WorkerFolder;

use crate::canvas_space::render_state;

/// A preset with two optimizers and no lesson.
pub const PLAIN: &str = r#"Landscape(
    version: 1,
    title: "Plain",
    simulations: [(spec: (
        noise: 1.0,
        optimizers: [
            (id: 0, rule: Adam(learning_rate: 0.01)),
            (id: 1, rule: Focus(learning_rate: 0.01)),
        ],
    ))],
)"#;

/// A file that is dropped from the desktop.
#[derive(Debug)]
struct Dropped(std::path::PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

/// The whole pictures that an app hands to the graphics driver, of those with sharp pixels. Maps have these; small
/// pictures of kept diagrams, which may have the same size, are smoothed.
#[derive(Clone, Default)]
pub struct Uploads(Arc<Mutex<Vec<Arc<ColorImage>>>>);

impl Uploads {
    pub fn take(&self) -> Vec<Arc<ColorImage>> {
        std::mem::take(&mut self.0.lock().expect("no thread panics while it holds the lock"))
    }
}

impl TestRenderer for Uploads {
    fn handle_delta(&mut self, delta: &mut TexturesDelta) {
        let is_sharp = |delta: &&ImageDelta| delta.options == TextureOptions::NEAREST;
        let images = delta.set.values().flatten().filter(|delta| delta.is_whole()).filter(is_sharp);
        let images = images.map(|delta| match &delta.image {
            ImageData::Color(image) => Arc::clone(image),
        });
        self.0.lock().expect("no thread panics while it holds the lock").extend(images);
        delta.clear();
    }

    fn render(&mut self, _: &egui::Context, _: &egui::FullOutput) -> Result<image::RgbaImage, String> {
        Err("nothing is drawn".to_owned())
    }
}

/// An app under test, with a folder of its own for the user's presets.
pub struct App {
    pub harness: Harness<'static, Valleyscope>,
    pub folder: tempfile::TempDir,
}

pub struct Begin<'a> {
    pub preset: Option<&'a str>,
    pub size: [f32; 2],
    pub pixels_per_point: f32,
    pub storage: Option<&'a SessionTexts>,
    /// Keeps the session in `app.ron` in the app's own folder if true.
    pub keeps_session: bool,
    /// The folder of runs; `None` for one in the app's own folder.
    pub runs: Option<&'a Path>,
    /// The folder of kept phase diagrams; `None` for one in the app's own folder.
    pub diagrams: Option<&'a Path>,
    /// The command that installs the worker; without it, the window cannot install it.
    pub install: Option<InstallCommand>,
    /// The computing time from which dropping a phase diagram needs a question; `None` for the default.
    pub worth_asking: Option<Duration>,
    /// Has a graphics driver if true.
    pub draws: bool,
    /// The log of the pictures that are handed to the graphics driver, if any; nothing is drawn then.
    pub uploads: Option<Uploads>,
    /// Starts playing if true, as the program does unless the session was paused.
    pub play: bool,
    /// Shows the opening if true, as the program does at a first start.
    pub opening: bool,
    /// Shows motion if true, in 60 frames a second. Else views change at once.
    pub moves: bool,
}

impl Default for Begin<'_> {
    fn default() -> Self {
        Begin {
            preset: Some(PLAIN),
            size: [1400.0, 900.0],
            pixels_per_point: 1.0,
            storage: None,
            keeps_session: false,
            runs: None,
            diagrams: None,
            install: None,
            worth_asking: None,
            draws: false,
            uploads: None,
            play: false,
            opening: false,
            moves: false,
        }
    }
}

impl App {
    /// Starts the app with [`PLAIN`], paused.
    pub fn plain() -> App {
        App::begin(Begin::default())
    }

    /// Starts the app with a preset given as text, paused.
    pub fn with(preset: &str) -> App {
        App::begin(Begin { preset: Some(preset), ..Begin::default() })
    }

    pub fn begin(begin: Begin<'_>) -> App {
        App::prepared(begin, |_| ())
    }

    pub fn prepared(begin: Begin<'_>, prepare: impl FnOnce(&Path)) -> App {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        prepare(folder.path());
        let library = Library::in_folder(folder.path().join("presets"));
        let opened = begin.preset.map(|text| {
            let preset = Preset::parse(text, "test").expect("the test's preset is valid");
            (OpenedContent::Preset(Box::new(preset)), None)
        });
        let worker = WorkerFolder::at(&folder.path().join("worker"));
        let usual = AppOptions::default();
        let options = AppOptions {
            worth_asking: begin.worth_asking.unwrap_or(usual.worth_asking),
            opened: opened.into_iter().collect(),
            library,
            diagrams: Some(begin.diagrams.map_or_else(|| folder.path().join("diagrams"), Path::to_owned)),
            native_dialogs: false,
            play: begin.play,
            opening: begin.opening,
            session: begin.storage.cloned().unwrap_or_default(),
            store: begin.keeps_session.then(|| Store::new(folder.path().join("app.ron"))),
            training: TrainingPaths {
                are_runs_named: false,
                runs: Some(begin.runs.map_or_else(|| folder.path().join("runs"), Path::to_owned)),
                worker: Some(worker.program()),
                worker_folder: Some(worker),
                install: begin.install,
                aliases: Some(folder.path().join("metrics.ron")),
            },
            ..usual
        };
        let builder = match begin.uploads {
            Some(uploads) => Harness::builder().renderer(uploads),
            None if begin.draws => Harness::builder().renderer(WgpuTestRenderer::from_render_state(render_state())),
            None => Harness::builder(),
        };
        let harness = builder
            .with_size(begin.size)
            .with_pixels_per_point(begin.pixels_per_point)
            .with_max_steps(40)
            .with_step_dt(if begin.moves { 1.0 / 60.0 } else { 0.25 })
            .build_eframe(move |cc| Valleyscope::new(cc, options));
        if begin.moves {
            harness.ctx.all_styles_mut(|style| style.animation_time = 0.08);
        }
        let mut app = App { harness, folder };
        app.until("the first snapshot", |app| app.state().live().snapshot.is_some());
        app
    }

    pub fn state(&self) -> &Valleyscope {
        self.harness.state()
    }

    /// Runs some frames, in which animations end and the undo history settles.
    pub fn settle(&mut self) {
        self.harness.run_steps(8);
        self.harness.check_accessibility();
    }

    /// Runs frames until `holds` is true, which depends on the player's or a file's thread.
    pub fn until(&mut self, what: &str, holds: impl Fn(&App) -> bool) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(120) {
            self.harness.step();
            if holds(self) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("waited in vain for {what}");
    }

    pub fn slider<'a>(&'a self, name: &'a str) -> Node<'a> {
        self.harness.get_by_role_and_label(Role::Slider, name)
    }

    pub fn set_slider(&mut self, name: &str, value: f64) -> &mut Self {
        self.slider(name).set_value_accesskit(value);
        self.harness.run_steps(2);
        self
    }

    pub fn focus(&mut self, role: Role, name: &str) {
        self.harness.get_by_role_and_label(role, name).focus();
        self.harness.run_steps(2);
    }

    pub fn set(&mut self, role: Role, name: &str, value: f64) {
        self.harness.get_by_role_and_label(role, name).set_value_accesskit(value);
        self.settle();
    }

    pub fn click(&mut self, role: Role, name: &str) -> &mut Self {
        self.harness.get_by_role_and_label(role, name).click_accesskit();
        self.harness.run_steps(3);
        self
    }

    pub fn button(&mut self, name: &str) -> &mut Self {
        self.click(Role::Button, name)
    }

    pub fn key(&mut self, key: Key) {
        self.keys(Modifiers::NONE, key);
    }

    pub fn keys(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.settle();
    }

    pub fn undo(&mut self) {
        self.settle();
        self.keys(Modifiers::COMMAND, Key::Z);
    }

    /// Chooses an entry of a field's list, and closes the list.
    pub fn choose(&mut self, field: &str, entry: &str) {
        self.click(Role::ComboBox, field);
        self.button(entry);
        if egui::Popup::is_any_open(&self.harness.ctx) {
            self.key(Key::Escape);
        }
        self.settle();
    }

    /// Chooses an entry of a setting's menu.
    pub fn row_menu(&mut self, setting: &str, entry: &str) {
        self.button(&format!("{setting}: menu"));
        self.button(&format!("{entry} {setting}")).settle();
    }

    /// Pins a setting, or unpins it.
    pub fn pin(&mut self, setting: &str) {
        self.button(&format!("{setting}: menu"));
        self.click(Role::CheckBox, &format!("Pin {setting}")).settle();
    }

    pub fn menu(&mut self, menu: &str, entry: &str) {
        self.button(menu);
        self.harness.get_by_label(entry).click_accesskit();
        self.harness.run_steps(3);
    }

    pub fn replace(&mut self, field: &str, role: Role, text: &str) {
        self.focus(role, field);
        self.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        self.harness.run_steps(2);
        self.harness.get_by_role_and_label(role, field).type_text(text);
        self.harness.run_steps(4);
    }

    /// Types into a field like a user: the old text is selected when the field gets the focus.
    pub fn type_into(&mut self, field: &str, text: &str) {
        self.focus(Role::TextInput, field);
        self.harness.get_by_role_and_label(Role::TextInput, field).type_text(text);
        self.harness.run_steps(2);
        self.harness.key_press(Key::Enter);
        self.harness.run_steps(3);
    }

    /// Sets red, green or blue, as `R`, in a colour button's picker.
    pub fn set_color(&mut self, button: &str, channel: &str, value: u8) {
        self.harness.get_by_label(button).click_accesskit();
        self.harness.run_steps(3);
        // Only the picker's fields have no names.
        self.harness.get_by_role_and_label(Role::SpinButton, channel).set_value_accesskit(f64::from(value));
        self.harness.run_steps(3);
        self.key(Key::Escape);
    }

    /// Restores the usual colour by a right click on a colour button.
    pub fn take_usual_color(&mut self, button: &str) {
        self.harness.get_by_label(button).scroll_to_me();
        self.harness.run_steps(3);
        self.harness.get_by_label(button).click_secondary();
        self.settle();
    }

    pub fn shows(&self, text: &str) -> bool {
        self.harness.query_all_by_label_contains(text).next().is_some()
    }

    /// Presses the only node whose name contains a text.
    pub fn press(&mut self, part_of_name: &str) -> &mut Self {
        self.harness.get_by_label_contains(part_of_name).click_accesskit();
        self.harness.run_steps(3);
        self
    }

    /// Drops a file on the window.
    pub fn drop(&mut self, path: &Path) {
        let hovered = egui::HoveredFile { path: Some(path.to_owned()), ..Default::default() };
        self.harness.input_mut().hovered_files.push(hovered);
        self.harness.step();
        let dropped = Dropped(path.to_owned());
        self.harness.input_mut().dropped_files.push(std::sync::Arc::new(dropped));
        self.harness.step();
    }

    /// Requests the closing of the window, as its button does; returns the app's viewport commands.
    pub fn close(&mut self) -> Vec<ViewportCommand> {
        let viewport = self.harness.input_mut().viewports.get_mut(&ViewportId::ROOT).expect("there is a window");
        viewport.events.push(ViewportEvent::Close);
        self.harness.step();
        self.harness.output().viewport_output[&ViewportId::ROOT].commands.clone()
    }

    pub fn write(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("the test's folder can be written");
        path
    }

    pub fn open(&mut self, path: &Path) {
        self.menu("File", "Open…");
        self.type_path(path);
    }

    pub fn type_path(&mut self, path: &Path) {
        self.type_over("Path of the file", path);
    }

    /// Replaces a field's text by a path, and presses Enter.
    pub fn type_over(&mut self, field: &str, path: &Path) {
        self.until(field, |app| app.harness.query_by_role_and_label(Role::TextInput, field).is_some());
        self.focus(Role::TextInput, field);
        self.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        self.harness.run_steps(1);
        let path = path.to_str().expect("a path in UTF-8");
        self.harness.get_by_role_and_label(Role::TextInput, field).type_text(path);
        self.harness.run_steps(2);
        self.harness.key_press(Key::Enter);
        self.harness.run_steps(3);
    }
}
