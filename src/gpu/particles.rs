//! The particles on the landscape: their discs, their trails and the mean paths of their ensembles.

use std::collections::HashMap;
use std::ops::Range;

use bytemuck::Pod;

use super::pipeline::{
    Disc, Overlay, OverlayTarget, PATH, POINT_BYTES, POINTS, Path, PointBuffer, TRAILS, Trail, Uniforms, bind_points,
    buffer, rgb,
};
use super::scene::{EnsembleKey, EnsembleStyle, Positions, Scene};

/// The trails, mean paths and particles on the plane or on the surface.
pub(super) struct Overlays {
    trails: Layer<Trail>,
    paths: Layer<Path>,
    points: Layer<Disc>,
    /// The points of the mean paths as offsets; each path has a missing point before its first and after its last one.
    path_points: PointBuffer,
}

impl Overlays {
    pub(super) fn new(device: &wgpu::Device, target: OverlayTarget<'_>) -> Overlays {
        Overlays {
            trails: Layer::new(device, target, TRAILS, "trail", (4, 1)),
            paths: Layer::new(device, target, PATH, "path", (4, 1)),
            // No ensemble covers another as a whole.
            points: Layer::new(device, target, POINTS, "point", (1, 16)),
            path_points: PointBuffer::new(device, "path"),
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
        let (mut path_points, mut paths) = (Vec::new(), Vec::new());
        for style in &scene.ensembles {
            if let Some(positions) = positions.get(&style.key) {
                add_trails(&mut self.trails, scene, style, positions);
                add_discs(&mut self.points, scene, style, positions);
            }
            if let Some(path) = mean_paths.get(&style.key).filter(|_| style.path_width > 0.0) {
                paths.extend(push_path(&mut path_points, scene, path).map(|path| (style, path)));
            }
        }
        self.path_points.write(device, queue, &path_points);
        for (style, path) in paths {
            add_path(&mut self.paths, scene, style, &self.path_points.buffer, path);
        }
        self.trails.uniforms.upload(device, queue);
        self.paths.uniforms.upload(device, queue);
        self.points.uniforms.upload(device, queue);
    }

    pub(super) fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        self.trails.paint(pass, pipeline);
        self.paths.paint(pass, pipeline);
        self.points.paint(pass, pipeline);
    }
}

/// The overlays of one kind.
struct Layer<T> {
    /// One on the plane; in space, one behind the surface and one in front of it.
    pipelines: Vec<wgpu::RenderPipeline>,
    /// The number of points of an instance.
    points: u32,
    /// The number of parts into which the instances of each draw are divided. The first parts of all draws are drawn, then
    /// the second ones, and so on.
    parts: u32,
    uniforms: Uniforms<T>,
    draws: Vec<Draw>,
    /// The draws over all others.
    above: Vec<Draw>,
}

/// Instances of an overlay, whose points are in a buffer.
struct Draw {
    uniforms: u32,
    buffer: wgpu::Buffer,
    /// The first point of the first instance, and the distance to its next one, in bytes.
    offset: u64,
    stride: u64,
    instances: u32,
    /// Whether the parts behind the surface are drawn.
    is_seen_behind: bool,
}

impl<T: Pod> Layer<T> {
    fn new(
        device: &wgpu::Device,
        target: OverlayTarget<'_>,
        overlay: Overlay,
        entries: &'static str,
        (points, parts): (u32, u32),
    ) -> Layer<T> {
        let uniforms = Uniforms::new(device, entries);
        let pipelines = target.pipelines(device, overlay, entries, &uniforms.layout, points);
        Layer { pipelines, points, parts, uniforms, draws: Vec::new(), above: Vec::new() }
    }

    fn clear(&mut self) {
        self.uniforms.clear();
        self.draws.clear();
        self.above.clear();
    }

    fn paint(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: usize) {
        pass.set_pipeline(&self.pipelines[pipeline]);
        let is_behind = pipeline + 1 < self.pipelines.len();
        let is_drawn = |draw: &&Draw| !is_behind || draw.is_seen_behind;
        for part in 0..self.parts {
            for draw in self.draws.iter().filter(is_drawn) {
                self.draw(pass, draw, [part, part + 1].map(|part| draw.instances * part / self.parts));
            }
        }
        for draw in self.above.iter().filter(is_drawn) {
            self.draw(pass, draw, [0, draw.instances]);
        }
    }

    fn draw(&self, pass: &mut wgpu::RenderPass<'_>, draw: &Draw, [first, end]: [u32; 2]) {
        if first < end {
            self.uniforms.bind(pass, 1, draw.uniforms);
            for point in 0..self.points {
                let offset = draw.offset + u64::from(point) * draw.stride + u64::from(first) * POINT_BYTES;
                bind_points(pass, point, &draw.buffer, offset, end - first);
            }
            pass.draw(0..4, 0..end - first);
        }
    }
}

const POINT_EDGE: f32 = 0.75;
/// The gap between a selected particle and its ring, and the ring's own width, in points.
const RING_GAP: f32 = 2.0;
const RING_WIDTH: f32 = 1.5;

/// Adds the particles of an ensemble. Nothing covers a selected one.
fn add_discs(layer: &mut Layer<Disc>, scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer) {
    let Some(offset) = positions.newest_offset() else { return };
    let plain = disc(scene, style, positions.particles);
    let all = Draw {
        uniforms: layer.uniforms.push(plain),
        buffer: positions.buffer.clone(),
        offset,
        stride: POINT_BYTES,
        instances: positions.particles as u32,
        is_seen_behind: true,
    };
    if let Some(selected) = style.selected.filter(|index| (*index as usize) < positions.particles) {
        let ring_half_width = 0.5 * RING_WIDTH;
        let ringed = Disc {
            edge_opacity: 0.8,
            ring_radius_px: plain.radius_px + (RING_GAP + ring_half_width) * scene.pixels_per_point,
            ring_half_width_px: ring_half_width * scene.pixels_per_point,
            ..plain
        };
        layer.above.push(Draw {
            uniforms: layer.uniforms.push(ringed),
            buffer: positions.buffer.clone(),
            offset: offset + u64::from(selected) * POINT_BYTES,
            instances: 1,
            ..all
        });
    }
    layer.draws.push(all);
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

fn add_trails(layer: &mut Layer<Trail>, scene: &Scene, style: &EnsembleStyle, positions: &PositionBuffer) {
    let all = (style.trail_steps as usize).min(positions.oldest_age()) * positions.particles;
    let pieces = if scene.space.is_some() { (MANY_PIECES / all.max(1)).clamp(1, MOST_TRAIL_PIECES) as u32 } else { 1 };
    for segments in positions.segments(style.trail_steps as usize) {
        let whole = Trail { pieces, ..trail(scene, style, positions, segments) };
        for piece in 0..pieces {
            let uniforms = layer.uniforms.push(Trail { piece, ..whole });
            layer.draws.push(Draw {
                uniforms,
                buffer: positions.buffer.clone(),
                offset: segments.offset,
                stride: positions.column_bytes(),
                instances: (segments.columns * positions.particles) as u32,
                is_seen_behind: all < TOO_MANY_BEHIND,
            });
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

/// Adds the points of a path; returns the index of the missing point before it and its number of segments. A path of a
/// single point is not drawn.
fn push_path(points: &mut Vec<[f32; 2]>, scene: &Scene, path: &[[f32; 2]]) -> Option<(usize, usize)> {
    let first = points.len();
    points.push(NO_POINT);
    push_spaced(points, scene, path);
    points.push(NO_POINT);
    let segments = (points.len() - first).checked_sub(3).filter(|segments| *segments > 0);
    if segments.is_none() {
        points.truncate(first);
    }
    Some((first, segments?))
}

/// Adds a line with its casing. All casings are drawn first, so that adjacent paths keep their colours.
fn add_path(
    layer: &mut Layer<Path>,
    scene: &Scene,
    style: &EnsembleStyle,
    points: &wgpu::Buffer,
    (first, segments): (usize, usize),
) {
    let half_width_px = 0.5 * style.path_width * scene.pixels_per_point;
    let casing_px = CASING * scene.pixels_per_point;
    let line = Path { color: rgb(style.color), half_width_px, opacity: style.opacity, ..Path::default() };
    // The casing would be visible through a faint line, and therefore is much fainter.
    let opacity = style.opacity.powi(4);
    let casing = Path { color: [0.0; 3], half_width_px: half_width_px + casing_px, opacity, ..line };
    for (draws, path) in [(&mut layer.draws, casing), (&mut layer.above, line)] {
        draws.push(Draw {
            uniforms: layer.uniforms.push(path),
            buffer: points.clone(),
            offset: first as u64 * POINT_BYTES,
            stride: POINT_BYTES,
            instances: segments as u32,
            is_seen_behind: true,
        });
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
