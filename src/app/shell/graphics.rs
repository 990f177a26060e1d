//! The choice of a graphics adapter, and the reports of its failures.
//!
//! Adapters are tried in order: a GPU through its native API, OpenGL, then a software driver. When the device is lost,
//! the window is closed and reopened with its session.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui_wgpu::{RenderState, WgpuSetup, WgpuSetupCreateNew};
use egui::Context;
use wgpu::{Adapter, Backend, DeviceType, Surface};

/// The adapters that were tried and failed, which the next attempt skips.
pub(crate) type TriedAdapters = Arc<Mutex<Vec<String>>>;

fn key(adapter: &Adapter) -> String {
    let info = adapter.get_info();
    format!("{} ({:?}, {:?} {})", info.name, info.backend, info.device_type, info.device_pci_bus_id)
}

/// Makes a set-up that takes the best untried adapter that can draw to the window: a GPU through its native API, then
/// through OpenGL, then a software driver.
pub(crate) fn setup(tried: &TriedAdapters) -> WgpuSetup {
    let tried = tried.clone();
    let mut setup = WgpuSetupCreateNew::without_display_handle();
    setup.native_adapter_selector = Some(Arc::new(move |adapters: &[Adapter], surface: Option<&Surface<'_>>| {
        let mut tried = tried.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |adapter: &&Adapter| {
            !tried.contains(&key(adapter)) && surface.is_none_or(|surface| adapter.is_surface_supported(surface))
        };
        let best = adapters.iter().filter(fits).min_by_key(|adapter| rank(adapter));
        let best = best.ok_or_else(|| nothing_to_draw_with(adapters))?;
        tried.push(key(best));
        Ok(best.clone())
    }));
    WgpuSetup::CreateNew(setup)
}

/// Ranks an adapter; the lowest rank is the best.
fn rank(adapter: &Adapter) -> (u8, u8) {
    let info = adapter.get_info();
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        // OpenGL often does not report its device type.
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    };
    (kind, u8::from(info.backend == Backend::Gl))
}

/// The graphics driver on which pictures are drawn off screen.
#[derive(Clone, Debug)]
pub struct Graphics {
    pub(crate) instance: wgpu::Instance,
    pub(crate) adapter: Adapter,
}

impl Graphics {
    /// The driver that draws the window.
    pub fn of(window: &RenderState) -> Graphics {
        Graphics { instance: window.instance.clone(), adapter: window.adapter.clone() }
    }

    /// Finds the best driver of this machine, without a window.
    ///
    /// # Errors
    ///
    /// Fails with a message if there is none.
    pub fn without_window() -> Result<Graphics, String> {
        // Some drivers of OpenGL print complaints, so it is tried last.
        let found = [wgpu::Backends::PRIMARY, wgpu::Backends::GL].into_iter().find_map(|backends| {
            let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
            let instance = wgpu::Instance::new(wgpu::InstanceDescriptor { backends, ..descriptor });
            let adapters = pollster::block_on(instance.enumerate_adapters(backends));
            let adapter = adapters.into_iter().min_by_key(rank)?;
            Some(Graphics { instance, adapter })
        });
        found.ok_or_else(|| "found no graphics adapter; `valleyscope doctor` shows what is missing".to_owned())
    }
}

fn nothing_to_draw_with(adapters: &[Adapter]) -> String {
    match adapters {
        [] => "found no graphics adapter".to_owned(),
        _ => {
            let names: Vec<String> = adapters.iter().map(key).collect();
            format!("none of the graphics adapters can draw to this window: {}", names.join(", "))
        }
    }
}

/// A graphics failure while the window was open.
#[derive(Debug)]
pub(crate) enum GraphicsFault {
    /// The device was lost; nothing can be drawn with it any more.
    Lost(String),
    /// Something was not drawn.
    Error(String),
}

/// Collects graphics failures from all threads.
pub(crate) struct GraphicsFaults {
    device: wgpu::Device,
    faults: Receiver<GraphicsFault>,
}

impl GraphicsFaults {
    /// Installs the error handlers, without which wgpu panics.
    pub(crate) fn watch(render_state: &RenderState, ctx: &Context) -> GraphicsFaults {
        let (sender, faults) = channel();
        let (device, ctx) = (render_state.device.clone(), ctx.clone());
        let report = move |fault| {
            // The window may be closed.
            let _ = sender.send(fault);
            ctx.request_repaint();
        };
        let report_loss = report.clone();
        device.on_uncaptured_error(Arc::new(move |error| report(GraphicsFault::Error(error.to_string()))));
        device.set_device_lost_callback(move |reason, message| {
            report_loss(GraphicsFault::Lost(format!("{reason:?}: {message}")));
        });
        GraphicsFaults { device, faults }
    }

    pub(crate) fn take(&self) -> Vec<GraphicsFault> {
        // Polling reports a lost device before egui draws with it, which would panic.
        if let Err(error) = self.device.poll(wgpu::PollType::Poll) {
            log::warn!("the graphics device did not answer: {error}");
        }
        self.faults.try_iter().collect()
    }
}
