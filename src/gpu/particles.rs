//! The particles on the landscape: their discs, their trails and the mean paths of their ensembles.

use std::collections::HashMap;
use std::ops::Range;

use super::pipeline::{
    Disc, OverlayTarget, PATH, POINT_BYTES, POINTS, Path, PointBuffer, TRAILS, Trail, Uniforms, bind_points, buffer,
    rgb,
};
use super::scene::{EnsembleKey, EnsembleStyle, Positions, Scene};

/// The trails, mean paths and particles on the plane or on the surface.
pub(super) struct Overlays {
    trails: Trails,
    paths: Paths,
    points: Points,
}

impl Overlays {
    pub(super) fn new(device: &wgpu::Device, target: OverlayTarget<'_>) -> Overlays {
        Overlays {
            trails: Trails::new(device, target),
            paths: Paths::new(device, target),
            points: Points::new(device, target),
        }
    }

    pub(super) fn prepare(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        scene: &Scene,
        positions: &HashMap<EnsembleKey, PositionBuffer>,
        mean_paths: &HashMap<EnsembleKey, Vec<[f32; 2]>>,
    ) {
        self.trails.clear();
        self.paths.clear();
        self.points.clear();
        for style in &scene.ensembles {
            if let Some(positions) = positions.get(&style.key) {
                self.trails.add(scene, style, positions);
                self.points.add(scene, style, positions);
            }
            if let Some(path) = mean_paths.get(&style.key).filter(|_| style.path_width > 0.0) {
                self.paths.add(scene, style, path);
            }
        }
        self.trails.uniforms.upload(device, queue);
        self.paths.uniforms.upload(device, queue);
        self.paths.buffer.write(device, queue, &self.paths.points);
        self.points.uniforms.upload(device, queue);
    }

    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        self.trails.paint(pass, pipeline);
        self.paths.paint(pass, pipeline);
        self.points.paint(pass, pipeline);
    }
}

const POINT_EDGE: f32 = 0.75;
/// The gap between a selected particle and its ring, and the ring's own width, in points.
const RING_GAP: f32 = 2.0;
const RING_WIDTH: f32 = 1.5;

pub(super) struct Points {
    /// One on the plane; in space, one behind the surface and one in front of it.
    pipelines: Vec<wgpu::RenderPipeline>,
    uniforms: Uniforms<Disc>,
    /// The draws, selected particles last, so that nothing covers them.
    draws: Vec<PointDraw>,
    selected: Vec<PointDraw>,
}

struct PointDraw {
    uniforms: u32,
    positions: wgpu::Buffer,
    offset: u64,
    instances: u32,
}

impl Points {
    pub(super) fn new(device: &wgpu::Device, target: OverlayTarget<'_>) -> Self {
        let uniforms = Uniforms::new(device, "points");
        let pipelines = target.pipelines(device, POINTS, "point", &uniforms.layout, 1);
        Points { pipelines, uniforms, draws: Vec::new(), selected: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.uniforms.clear();
        self.draws.clear();
        self.selected.clear();
    }

    pub(super) fn add(&mut self, scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer) {
        let Some(offset) = positions.newest_offset() else { return };
        let plain = disc(scene, style, positions.particles);
        self.draws.push(PointDraw {
            uniforms: self.uniforms.push(plain),
            positions: positions.buffer.clone(),
            offset,
            instances: positions.particles as u32,
        });
        let Some(selected) = style.selected.filter(|index| (*index as usize) < positions.particles) else { return };
        let ring_half_width = 0.5 * RING_WIDTH;
        let ringed = Disc {
            edge_opacity: 0.8,
            ring_radius_px: plain.radius_px + (RING_GAP + ring_half_width) * scene.pixels_per_point,
            ring_half_width_px: ring_half_width * scene.pixels_per_point,
            ..plain
        };
        self.selected.push(PointDraw {
            uniforms: self.uniforms.push(ringed),
            positions: positions.buffer.clone(),
            offset: offset + u64::from(selected) * POINT_BYTES,
            instances: 1,
        });
    }

    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        pass.set_pipeline(&self.pipelines[pipeline]);
        for draw in self.draws.iter().chain(&self.selected) {
            self.uniforms.bind(pass, 1, draw.uniforms);
            bind_points(pass, 0, &draw.positions, draw.offset, draw.instances);
            pass.draw(0..4, 0..draw.instances);
        }
    }
}

/// Computes the uniform values of an ensemble's discs. One particle has a clear edge; the edges of many would overlap
/// to a dark mass.
fn disc(scene: &Scene, style: &EnsembleStyle, particles: usize) -> Disc {
    Disc {
        color: rgb(style.color),
        radius_px: style.point_radius * scene.pixels_per_point,
        edge_opacity: 0.8 * (particles as f32).powf(-0.1),
        edge_px: POINT_EDGE * scene.pixels_per_point,
        opacity: style.opacity,
        ..Disc::default()
    }
}

/// Width of the dark edge on each side, in points.
const TRAIL_EDGE: f32 = 0.75;
/// The largest number of particles whose trails have edges; more would overlap and darken the background.
const MOST_EDGED: usize = 300;
/// The largest number of pieces in which a segment follows the surface in space.
const MOST_TRAIL_PIECES: usize = 32;
/// The number of pieces of all trails of an ensemble from which on segments have fewer pieces.
const MANY_PIECES: usize = 60_000;
/// The number of segments of an ensemble's trails from which on they are not drawn behind the surface in space, where
/// so many would be a haze, at twice the cost.
const TOO_MANY_BEHIND: usize = 100_000;

pub(super) struct Trails {
    /// One on the plane; in space, one behind the surface and one in front of it.
    pipelines: Vec<wgpu::RenderPipeline>,
    uniforms: Uniforms<Trail>,
    draws: Vec<TrailDraw>,
}

struct TrailDraw {
    uniforms: u32,
    positions: wgpu::Buffer,
    offset: u64,
    stride: u64,
    instances: u32,
    /// Whether the parts behind the surface are drawn.
    is_seen_behind: bool,
}

impl Trails {
    pub(super) fn new(device: &wgpu::Device, target: OverlayTarget<'_>) -> Self {
        let uniforms = Uniforms::new(device, "trails");
        let pipelines = target.pipelines(device, TRAILS, "trail", &uniforms.layout, 4);
        Trails { pipelines, uniforms, draws: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.uniforms.clear();
        self.draws.clear();
    }

    pub(super) fn add(&mut self, scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer) {
        let all = (style.trail_steps as usize).min(positions.oldest_age()) * positions.particles;
        let pieces =
            if scene.space.is_some() { (MANY_PIECES / all.max(1)).clamp(1, MOST_TRAIL_PIECES) as u32 } else { 1 };
        for segments in positions.segments(style.trail_steps as usize) {
            let whole = Trail { pieces, ..trail(scene, style, positions, segments) };
            for piece in 0..pieces {
                let uniforms = self.uniforms.push(Trail { piece, ..whole });
                self.draws.push(TrailDraw {
                    uniforms,
                    positions: positions.buffer.clone(),
                    offset: segments.offset,
                    stride: positions.column_bytes(),
                    instances: (segments.columns * positions.particles) as u32,
                    is_seen_behind: all < TOO_MANY_BEHIND,
                });
            }
        }
    }

    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        pass.set_pipeline(&self.pipelines[pipeline]);
        let is_behind = pipeline + 1 < self.pipelines.len();
        for draw in self.draws.iter().filter(|draw| !is_behind || draw.is_seen_behind) {
            self.uniforms.bind(pass, 1, draw.uniforms);
            for column in 0..4 {
                let offset = draw.offset + u64::from(column) * draw.stride;
                bind_points(pass, column, &draw.positions, offset, draw.instances);
            }
            pass.draw(0..4, 0..draw.instances);
        }
    }
}

fn trail(scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer, segments: Segments) -> Trail {
    let opacity = style.opacity * opacity(positions.particles);
    let edge = if positions.particles <= MOST_EDGED { TRAIL_EDGE } else { 0.0 };
    Trail {
        color: rgb(style.color),
        opacity,
        edge_opacity: 0.5 * opacity * opacity,
        edge_px: edge * scene.pixels_per_point,
        half_width_px: 0.5 * style.trail_width * scene.pixels_per_point,
        fade_steps: style.trail_steps as f32,
        first_age: segments.first_age as u32,
        oldest_age: positions.oldest_age() as u32,
        particles: positions.particles as u32,
        ..Trail::default()
    }
}

/// Chooses the opacity of a trail: a single trail is opaque; many are faint, so that dense regions can be distinguished
/// from sparse ones.
fn opacity(particles: usize) -> f32 {
    (particles as f32).powf(-0.15)
}

/// The width of the casing on each side of the line, in points.
const CASING: f32 = 1.0;
/// The smallest distance of points on the screen; closer ones are left out, as shorter pieces would spoil the line's
/// smooth edge.
const SPACING_PX: f32 = 1.0;
/// The longest piece of a line in space, which follows the surface, in halves of the square in view.
const LONGEST_IN_SPACE: f32 = 1.0 / 64.0;
/// The largest number of pieces from one point to the next.
const MOST_PATH_PIECES: f32 = 256.0;
/// The missing point before and after each line.
const NO_POINT: [f32; 2] = [f32::NAN; 2];

pub(super) struct Paths {
    /// One on the plane; in space, one behind the surface and one in front of it.
    pipelines: Vec<wgpu::RenderPipeline>,
    uniforms: Uniforms<Path>,
    buffer: PointBuffer,
    /// The points as offsets; each path has a missing point before its first and after its last one.
    points: Vec<[f32; 2]>,
    draws: Vec<PathDraw>,
}

struct PathDraw {
    casing: u32,
    line: u32,
    /// The missing point before the path.
    first: u64,
    segments: u32,
}

impl Paths {
    pub(super) fn new(device: &wgpu::Device, target: OverlayTarget<'_>) -> Self {
        let uniforms = Uniforms::new(device, "path");
        let pipelines = target.pipelines(device, PATH, "path", &uniforms.layout, 4);
        Paths { pipelines, uniforms, buffer: PointBuffer::new(device, "path"), points: Vec::new(), draws: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.uniforms.clear();
        self.points.clear();
        self.draws.clear();
    }

    pub(super) fn add(&mut self, scene: &Scene, style: &EnsembleStyle, path: &[[f32; 2]]) {
        let first = self.points.len();
        self.points.push(NO_POINT);
        push_spaced(&mut self.points, scene, path);
        self.points.push(NO_POINT);
        let Some(segments) = (self.points.len() - first).checked_sub(3).filter(|segments| *segments > 0) else {
            self.points.truncate(first);
            return;
        };
        let half_width_px = 0.5 * style.path_width * scene.pixels_per_point;
        let casing_px = CASING * scene.pixels_per_point;
        let line = Path { color: rgb(style.color), half_width_px, opacity: style.opacity, ..Path::default() };
        // The casing would be visible through a faint line, and therefore is much fainter.
        let opacity = style.opacity.powi(4);
        let casing = Path { color: [0.0; 3], half_width_px: half_width_px + casing_px, opacity, ..line };
        self.draws.push(PathDraw {
            casing: self.uniforms.push(casing),
            line: self.uniforms.push(line),
            first: first as u64,
            segments: segments as u32,
        });
    }

    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        pass.set_pipeline(&self.pipelines[pipeline]);
        // All casings are drawn first, so that adjacent paths keep their colours.
        for draw in &self.draws {
            self.paint_one(pass, draw, draw.casing);
        }
        for draw in &self.draws {
            self.paint_one(pass, draw, draw.line);
        }
    }

    fn paint_one(&self, pass: &mut wgpu::RenderPass<'_>, draw: &PathDraw, uniforms: u32) {
        for point in 0..4 {
            self.buffer.bind(pass, point, draw.first + u64::from(point), draw.segments);
        }
        self.uniforms.bind(pass, 1, uniforms);
        pass.draw(0..4, 0..draw.segments);
    }
}

/// Adds a path as offsets, leaving out points close to the previous one, but never the last one. The line has a gap
/// where the mean is not finite. In space, long pieces are divided.
fn push_spaced(points: &mut Vec<[f32; 2]>, scene: &Scene, path: &[[f32; 2]]) {
    let [center_x, center_y] = scene.viewport.camera.center;
    let (spacing, longest) = match &scene.space {
        None => (SPACING_PX, f32::INFINITY),
        Some(space) => (SPACING_PX / space.view(scene).px_per_unit() as f32, LONGEST_IN_SPACE),
    };
    let mut previous = NO_POINT;
    for (index, [x, y]) in path.iter().enumerate() {
        let point = scene.offset([f64::from(*x) - center_x, f64::from(*y) - center_y]).map(|part| part as f32);
        let length = (point[0] - previous[0]).hypot(point[1] - previous[1]);
        let is_close = length < spacing;
        if !is_close || index + 1 == path.len() {
            // The comparison fails for a length that is not finite.
            let pieces = if length > longest { (length / longest).ceil().min(MOST_PATH_PIECES) as u32 } else { 1 };
            for piece in 1..pieces {
                let part = piece as f32 / pieces as f32;
                points.push([0, 1].map(|axis| previous[axis] + part * (point[axis] - previous[axis])));
            }
            points.push(point);
            previous = point;
        }
    }
}

/// The number of columns from the ring's beginning that are repeated behind its end, so that any four consecutive
/// columns that start inside the ring are contiguous in memory.
const MIRRORED: usize = 3;

/// The columns of a ring in use. Pure arithmetic.
#[derive(Clone, Copy, Debug)]
struct Ring {
    capacity: usize,
    start: usize,
    len: usize,
}

impl Ring {
    /// The slot of the `index`-th oldest column; for −1, of the column before the oldest.
    fn slot(&self, index: isize) -> usize {
        (self.start as isize + index).rem_euclid(self.capacity as isize) as usize
    }

    /// The slots of columns `first..first + count`, in at most two ranges.
    fn pieces(&self, first: isize, count: usize) -> [Range<usize>; 2] {
        let slot = self.slot(first);
        let before_wrap = count.min(self.capacity - slot);
        [slot..slot + before_wrap, 0..count - before_wrap]
    }

    /// Makes space for `count ≤ capacity` newer columns; returns their slots.
    fn push(&mut self, count: usize) -> [Range<usize>; 2] {
        let pieces = self.pieces(self.len as isize, count);
        self.len += count;
        self.keep_newest(self.capacity);
        pieces
    }

    fn keep_newest(&mut self, count: usize) {
        let dropped = self.len.saturating_sub(count);
        self.start = self.slot(dropped as isize);
        self.len -= dropped;
    }
}

pub(super) struct PositionBuffer {
    pub particles: usize,
    pub buffer: wgpu::Buffer,
    run: u64,
    /// The step of the newest column.
    step: u64,
    ring: Ring,
}

impl PositionBuffer {
    /// Creates an empty ring for at least `columns` columns, or as many as the device can hold.
    pub(super) fn new(device: &wgpu::Device, positions: &Positions<'_>) -> Self {
        let particles = positions.particles;
        let (buffer, capacity) = allocate_ring(device, particles, positions.capacity);
        let ring = Ring { capacity, start: 0, len: 0 };
        PositionBuffer { particles, buffer, run: positions.run, step: positions.step, ring }
    }

    /// Whether newer columns, of as many particles, continue the stored ones.
    pub(super) fn is_continued_by(&self, positions: &Positions<'_>) -> bool {
        let columns = (positions.columns.len() / self.particles) as u64;
        self.run == positions.run && positions.step >= self.step && positions.step - self.step <= columns
    }

    /// Removes all columns, but not the buffer: at full speed every snapshot replaces the whole trail.
    pub(super) fn begin_anew(&mut self, positions: &Positions<'_>) {
        (self.run, self.step) = (positions.run, positions.step);
        (self.ring.start, self.ring.len) = (0, 0);
    }

    /// Adds columns, of which the last belongs to `positions.step`. Columns of steps that are already stored are
    /// overwritten.
    pub(super) fn push(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, positions: &Positions<'_>) {
        self.reserve(device, queue, positions.capacity);
        let columns = positions.columns.len() / self.particles;
        let rewritten = columns.saturating_sub((positions.step - self.step) as usize);
        self.ring.len = self.ring.len.saturating_sub(rewritten);
        self.step = positions.step;

        let count = columns.min(self.ring.capacity);
        let mut rest = &positions.columns[(columns - count) * self.particles..];
        for slots in self.ring.push(count) {
            let (piece, after) = rest.split_at(slots.len() * self.particles);
            self.write(queue, slots.start, piece);
            // The ring's first columns are repeated behind its end.
            let mirrored = MIRRORED.saturating_sub(slots.start).min(slots.len());
            self.write(queue, self.ring.capacity + slots.start, &piece[..mirrored * self.particles]);
            rest = after;
        }
        self.ring.keep_newest(positions.capacity.max(1));
    }

    fn write(&self, queue: &wgpu::Queue, slot: usize, points: &[[f32; 2]]) {
        if !points.is_empty() {
            queue.write_buffer(&self.buffer, self.offset(slot), bytemuck::cast_slice(points));
        }
    }

    /// Moves to a larger buffer when it cannot hold the columns.
    fn reserve(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, columns: usize) {
        if columns <= self.ring.capacity || self.ring.capacity == most_columns(device, self.particles) {
            return;
        }
        let (buffer, capacity) = allocate_ring(device, self.particles, columns);
        let larger = Ring { capacity, start: 0, len: self.ring.len };
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("positions") });
        let mut copy = |pieces: [Range<usize>; 2], mut slot: usize| {
            for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
                let bytes = piece.len() as u64 * self.column_bytes();
                let to = slot as u64 * self.column_bytes();
                encoder.copy_buffer_to_buffer(&self.buffer, self.offset(piece.start), &buffer, to, bytes);
                slot += piece.len();
            }
        };
        copy(self.ring.pieces(0, self.ring.len), 0);
        copy(self.ring.pieces(0, self.ring.len.min(MIRRORED)), capacity);
        queue.submit([encoder.finish()]);
        self.buffer = buffer;
        self.ring = larger;
    }

    fn column_bytes(&self) -> u64 {
        self.particles as u64 * POINT_BYTES
    }

    fn offset(&self, slot: usize) -> u64 {
        slot as u64 * self.column_bytes()
    }

    /// The number of steps from the oldest column to the newest.
    pub(super) fn oldest_age(&self) -> usize {
        self.ring.len.saturating_sub(1)
    }

    pub(super) fn newest_offset(&self) -> Option<u64> {
        (self.ring.len > 0).then(|| self.offset(self.ring.slot(self.ring.len as isize - 1)))
    }

    /// Lists the newest `segments` steps as draws of consecutive columns, oldest first. Each draw's byte offset is that
    /// of the column before its first segment.
    pub(super) fn segments(&self, segments: usize) -> impl Iterator<Item = Segments> + '_ {
        let segments = segments.min(self.oldest_age());
        let first = (self.oldest_age() - segments) as isize;
        let mut age = segments;
        self.ring.pieces(first - 1, segments).into_iter().filter(|piece| !piece.is_empty()).map(move |piece| {
            let first_age = age;
            age -= piece.len();
            Segments { offset: self.offset(piece.start), columns: piece.len(), first_age }
        })
    }
}

/// Trail segments whose columns are contiguous in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments {
    pub offset: u64,
    pub columns: usize,
    /// Steps since the first segment's start.
    pub first_age: usize,
}

fn most_columns(device: &wgpu::Device, particles: usize) -> usize {
    let columns = device.limits().max_buffer_size / (particles as u64 * POINT_BYTES);
    (columns as usize).saturating_sub(MIRRORED).max(MIRRORED)
}

fn allocate_ring(device: &wgpu::Device, particles: usize, columns: usize) -> (wgpu::Buffer, usize) {
    // Capacities are powers of two, so that a growing trail is seldom moved.
    let most = most_columns(device, particles);
    let capacity = columns.min(most).next_power_of_two().clamp(MIRRORED, most);
    let bytes = ((capacity + MIRRORED) * particles) as u64 * POINT_BYTES;
    let usage = wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_SRC;
    (buffer(device, "positions", bytes, usage), capacity)
}
