//! The app's window without a display, driven by benchmarks like a user.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use eframe::App as _;
use eframe::egui_wgpu::{self, RenderState, ScreenDescriptor, wgpu};
use valleyscope::app::{AppOptions, OpenedContent, TrainingPaths, Valleyscope};
use valleyscope_experiments::preset::{Library, Preset, SweepPreset, built_ins};
use valleyscope_runs::atomic_file::Overwrite;

/// The window without a display: app, interface and graphics device.
pub struct Window {
    pub app: Valleyscope,
    pub context: egui::Context,
    pub frame: eframe::Frame,
    pub graphics: egui_wgpu::RenderState,
    screen: ScreenDescriptor,
    time: f64,
    pub events: Vec<egui::Event>,
    dropped: Vec<Arc<dyn egui::DroppedFile + Send + Sync>>,
    /// The window's accessibility tree, if requested.
    said: Option<egui::accesskit::TreeUpdate>,
    pub folder: tempfile::TempDir,
}

pub struct Drawn {
    pub buffers: Vec<wgpu::CommandBuffer>,
    pub encoder: wgpu::CommandEncoder,
    pub primitives: Vec<egui::ClippedPrimitive>,
}

/// A file dropped from the desktop.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

impl Window {
    pub fn in_folder(folder: tempfile::TempDir, options: AppOptions) -> Window {
        let context = egui::Context::default();
        let setup = egui_kittest::wgpu::default_wgpu_setup();
        let graphics = egui_kittest::wgpu::create_render_state(setup, egui_wgpu::RendererOptions::default());
        let mut creation = eframe::CreationContext::_new_kittest(context.clone());
        creation.wgpu_render_state = Some(graphics.clone());
        let options = AppOptions {
            training: TrainingPaths { runs: Some(folder.path().to_owned()), ..TrainingPaths::default() },
            library: Library::in_folder(folder.path()),
            native_dialogs: false,
            ..options
        };
        Window {
            app: Valleyscope::new(&creation, options),
            context,
            frame: eframe::Frame::_new_kittest(),
            graphics,
            screen: ScreenDescriptor { size_in_pixels: [1400, 900], pixels_per_point: 1.0 },
            time: 0.0,
            events: Vec::new(),
            dropped: Vec::new(),
            said: None,
            folder,
        }
    }

    /// Draws a frame; this is the measured part.
    pub fn draw(&mut self) -> Drawn {
        self.time += 1.0 / 60.0;
        let [width, height] = self.screen.size_in_pixels;
        let size = egui::vec2(width as f32, height as f32);
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size)),
            time: Some(self.time),
            events: std::mem::take(&mut self.events),
            dropped_files: std::mem::take(&mut self.dropped),
            ..egui::RawInput::default()
        };
        let (app, frame) = (&mut self.app, &mut self.frame);
        app.logic(&self.context, frame);
        let mut output = self.context.run_ui(input, |ui| app.ui(ui, frame));
        self.said = output.platform_output.accesskit_update.take().or(self.said.take());
        let primitives = self.context.tessellate(output.shapes, output.pixels_per_point);
        let (device, queue) = (&self.graphics.device, &self.graphics.queue);
        let mut renderer = self.graphics.renderer.write();
        for (id, images) in &output.textures_delta.set {
            for image in images {
                renderer.update_texture(device, queue, *id, image);
            }
        }
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let buffers = renderer.update_buffers(device, queue, &mut encoder, &primitives, &self.screen);
        for id in &output.textures_delta.free {
            renderer.free_texture(id);
        }
        // The textures have been uploaded.
        output.textures_delta.clear();
        Drawn { buffers, encoder, primitives }
    }

    /// Turns the wheel by so many points.
    pub fn turn_wheel(&mut self, points: f32) {
        self.events.push(egui::Event::MouseWheel {
            unit: egui::MouseWheelUnit::Point,
            delta: egui::vec2(0.0, points),
            phase: egui::TouchPhase::Move,
            modifiers: egui::Modifiers::NONE,
            source: egui::MouseWheelSource::Unknown,
        });
    }

    /// Draws a frame into a texture, and waits until the driver has done so.
    pub fn render(&mut self, mut drawn: Drawn) {
        let RenderState { device, target_format, renderer, .. } = &self.graphics;
        let [width, height] = self.screen.size_in_pixels;
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: *target_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut pass = drawn
            .encoder
            .begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations::default(),
                })],
                ..Default::default()
            })
            .forget_lifetime();
        renderer.read().render(&mut pass, &drawn.primitives, &self.screen);
        drop(pass);
        self.submit(drawn);
    }

    /// Waits until the driver has carried out a frame's commands.
    pub fn submit(&mut self, Drawn { mut buffers, encoder, .. }: Drawn) {
        buffers.push(encoder.finish());
        self.graphics.queue.submit(buffers);
        let waited = self.graphics.device.poll(wgpu::PollType::wait_indefinitely());
        waited.expect("the device works");
    }

    /// Finishes a frame: the driver takes the commands, and time passes.
    pub fn finish(&mut self, drawn: Drawn) {
        self.submit(drawn);
        std::thread::sleep(Duration::from_millis(12));
    }
}

impl Window {
    pub fn until(&mut self, holds: impl Fn(&Valleyscope) -> bool) {
        while !holds(&self.app) {
            let drawn = self.draw();
            self.finish(drawn);
        }
    }

    /// Shows the phase diagram of a sweep, and begins to compute it.
    pub fn show_sweep(&mut self, preset: SweepPreset) {
        let path = self.folder.path().join("sweep.ron");
        let written = Preset::Sweep(preset.clone()).write(&path, Overwrite::No);
        written.expect("a temporary folder can be written");
        self.dropped.push(Arc::new(Dropped(path)));
        self.until(|app| *app.phase().preset() == preset);
    }
}

impl Window {
    /// Returns the middle of the widget with this name.
    pub fn place_of(&mut self, name: &str) -> egui::Pos2 {
        self.context.enable_accesskit();
        self.settle();
        self.context.disable_accesskit();
        let nodes = &self.said.as_ref().expect("the window says what it shows").nodes;
        let found = nodes.iter().find(|(_, node)| node.label() == Some(name)).and_then(|(_, node)| node.bounds());
        let bounds = found.expect("it is shown");
        egui::pos2((bounds.x0 + bounds.x1) as f32 / 2.0, (bounds.y0 + bounds.y1) as f32 / 2.0)
    }

    pub fn settle(&mut self) {
        for _ in 0..3 {
            let drawn = self.draw();
            self.finish(drawn);
        }
    }

    pub fn press_pointer(&mut self, pos: egui::Pos2) {
        let modifiers = egui::Modifiers::NONE;
        let button = egui::PointerButton::Primary;
        self.events.push(egui::Event::PointerMoved(pos));
        self.events.push(egui::Event::PointerButton { pos, button, pressed: true, modifiers });
    }

    pub fn release_pointer(&mut self, pos: egui::Pos2) {
        let (button, modifiers) = (egui::PointerButton::Primary, egui::Modifiers::NONE);
        self.events.push(egui::Event::PointerButton { pos, button, pressed: false, modifiers });
    }

    /// Clicks on the widget with this name.
    pub fn click(&mut self, name: &str) {
        let pos = self.place_of(name);
        self.press_pointer(pos);
        self.release_pointer(pos);
        self.settle();
    }
}

/// Returns four optimizers with a thousand particles each.
pub fn landscape() -> Preset {
    Preset::parse(include_str!("../frame.ron"), "benches/frame.ron").expect("the benchmark's preset is valid")
}

/// Returns what a window opens at its start to show a preset.
pub fn opened(preset: Preset) -> (OpenedContent, Option<PathBuf>) {
    (OpenedContent::Preset(Box::new(preset)), None)
}

pub fn fig2a() -> SweepPreset {
    let built_in = built_ins().iter().find(|built_in| built_in.name == "fig2a").expect("a built-in preset");
    let Preset::Sweep(preset) = &built_in.preset else { panic!("fig2a is a sweep") };
    preset.clone()
}
