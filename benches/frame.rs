//! The window thread's work for one frame, GPU time apart.
//!
//! `cargo bench --bench frame`. A frame takes in the engine's newest snapshot, lays the whole window out,
//! tessellates it, and hands buffers and particles' positions to the graphics driver. The engine plays 4
//! optimizers × 1,000 particles with 200-step trails meanwhile, on its own thread. What the driver does with
//! the commands is not counted. It needs a Vulkan driver; a software one will do.

use divan::Bencher;
use eframe::App as _;
use eframe::egui_wgpu::{self, ScreenDescriptor, wgpu};
use valleyscope::app::{Options, Pace, Valleyscope};
use valleyscope::preset::{Library, Loaded, Preset, Source};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

/// The window without a display: app, interface and graphics device.
struct Window {
    app: Valleyscope,
    context: egui::Context,
    frame: eframe::Frame,
    graphics: egui_wgpu::RenderState,
    screen: ScreenDescriptor,
    time: f64,
    _folder: tempfile::TempDir,
}

impl Window {
    fn open(play: bool, pace: Pace) -> Window {
        let context = egui::Context::default();
        let setup = egui_kittest::wgpu::default_wgpu_setup();
        let graphics = egui_kittest::wgpu::create_render_state(setup, egui_wgpu::RendererOptions::default());
        let mut creation = eframe::CreationContext::_new_kittest(context.clone());
        creation.wgpu_render_state = Some(graphics.clone());
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let options = Options {
            preset: Some(preset()),
            library: Library::in_folder(folder.path()),
            native_dialogs: false,
            play,
            pace: Some(pace),
            ..Options::default()
        };
        Window {
            app: Valleyscope::new(&creation, options),
            context,
            frame: eframe::Frame::_new_kittest(),
            graphics,
            screen: ScreenDescriptor { size_in_pixels: [1400, 900], pixels_per_point: 1.0 },
            time: 0.0,
            _folder: folder,
        }
    }

    /// The counted part.
    fn draw(&mut self) -> (Vec<wgpu::CommandBuffer>, wgpu::CommandEncoder) {
        self.time += 1.0 / 60.0;
        let [width, height] = self.screen.size_in_pixels;
        let size = egui::vec2(width as f32, height as f32);
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size)),
            time: Some(self.time),
            ..egui::RawInput::default()
        };
        let (app, frame) = (&mut self.app, &mut self.frame);
        app.logic(&self.context, frame);
        let output = self.context.run_ui(input, |ui| app.ui(ui, frame));
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
        (buffers, encoder)
    }

    /// What comes between two frames: the driver takes the commands, and time passes.
    fn finish(&mut self, (mut buffers, encoder): (Vec<wgpu::CommandBuffer>, wgpu::CommandEncoder)) {
        buffers.push(encoder.finish());
        self.graphics.queue.submit(buffers);
        let waited = self.graphics.device.poll(wgpu::PollType::wait_indefinitely());
        waited.expect("the device works");
        std::thread::sleep(std::time::Duration::from_millis(12));
    }
}

/// A frame in a row of frames; the first of them, which make fonts and layout, are not counted.
fn frames(bencher: Bencher, play: bool, pace: Pace) {
    let mut window = Window::open(play, pace);
    for _ in 0..30 {
        let drawn = window.draw();
        window.finish(drawn);
    }
    let window = std::cell::RefCell::new(window);
    let drawn = std::cell::RefCell::new(None);
    bencher
        .with_inputs(|| {
            if let Some(drawn) = drawn.take() {
                window.borrow_mut().finish(drawn);
            }
        })
        .bench_local_values(|()| drawn.replace(Some(window.borrow_mut().draw())).is_some());
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn paused(bencher: Bencher) {
    frames(bencher, false, Pace::default());
}

/// 60 steps a second, the speed at a first start.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn playing(bencher: Bencher) {
    frames(bencher, true, Pace::default());
}

/// As fast as it goes: between two frames all of the trails are replaced.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn playing_at_full_speed(bencher: Bencher) {
    frames(bencher, true, Pace { unlimited: true, ..Pace::default() });
}

fn preset() -> Loaded {
    let text = include_str!("frame.ron");
    let preset = Preset::parse(text, "benches/frame.ron").expect("the benchmark's preset is valid");
    Loaded { preset, text: text.to_owned(), source: Source::BuiltIn("frame") }
}
