//! The last positions of an ensemble in a ring of columns on the GPU, a column for each step.

use std::ops::Range;

use super::Positions;
use super::pipeline::POINT_BYTES;

/// The number of columns from the ring's beginning that are repeated behind its end, so that any four consecutive
/// columns that start inside the ring are contiguous in memory.
const MIRRORED: usize = 3;

/// The columns of a ring in use. Pure arithmetic.
#[derive(Clone, Copy, Debug)]
struct Ring {
    capacity: usize,
    /// The place of the oldest column.
    start: usize,
    len: usize,
}

impl Ring {
    /// Returns the place of the `index`-th oldest column; for −1, of the column before the oldest.
    fn place(&self, index: isize) -> usize {
        (self.start as isize + index).rem_euclid(self.capacity as isize) as usize
    }

    /// Returns the places of columns `first..first + count`, in at most two pieces.
    fn pieces(&self, first: isize, count: usize) -> [Range<usize>; 2] {
        let place = self.place(first);
        let before_wrap = count.min(self.capacity - place);
        [place..place + before_wrap, 0..count - before_wrap]
    }

    /// Makes room for `count ≤ capacity` newer columns, and returns their places.
    fn push(&mut self, count: usize) -> [Range<usize>; 2] {
        let pieces = self.pieces(self.len as isize, count);
        self.len += count;
        self.keep_newest(self.capacity);
        pieces
    }

    fn keep_newest(&mut self, count: usize) {
        let dropped = self.len.saturating_sub(count);
        self.start = self.place(dropped as isize);
        self.len -= dropped;
    }
}

/// One ensemble's ring on the GPU.
pub(super) struct PositionBuffer {
    pub particles: usize,
    pub buffer: wgpu::Buffer,
    run: u64,
    /// The step of the newest column.
    step: u64,
    ring: Ring,
}

impl PositionBuffer {
    /// Returns an empty ring for at least `columns` columns, or as many as the device can hold.
    pub(super) fn new(device: &wgpu::Device, positions: &Positions<'_>) -> Self {
        let particles = positions.particles;
        let (buffer, capacity) = allocate(device, particles, positions.capacity);
        let ring = Ring { capacity, start: 0, len: 0 };
        PositionBuffer { particles, buffer, run: positions.run, step: positions.step, ring }
    }

    /// Returns whether newer columns, of as many particles, continue the stored ones.
    pub(super) fn is_continued_by(&self, positions: &Positions<'_>) -> bool {
        let columns = (positions.columns.len() / self.particles) as u64;
        self.run == positions.run && positions.step >= self.step && positions.step - self.step <= columns
    }

    /// Removes all columns, but keeps the buffer: at full speed every snapshot replaces the whole trail.
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

        let kept = columns.min(self.ring.capacity);
        let mut rest = &positions.columns[(columns - kept) * self.particles..];
        for places in self.ring.push(kept) {
            let (piece, after) = rest.split_at(places.len() * self.particles);
            self.write(queue, places.start, piece);
            // The ring's first columns are repeated behind its end.
            let mirrored = MIRRORED.saturating_sub(places.start).min(places.len());
            self.write(queue, self.ring.capacity + places.start, &piece[..mirrored * self.particles]);
            rest = after;
        }
        self.ring.keep_newest(positions.capacity.max(1));
    }

    fn write(&self, queue: &wgpu::Queue, place: usize, points: &[[f32; 2]]) {
        if !points.is_empty() {
            queue.write_buffer(&self.buffer, self.offset(place), bytemuck::cast_slice(points));
        }
    }

    /// Moves to a larger buffer when it cannot hold the columns to be kept.
    fn reserve(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, columns: usize) {
        if columns <= self.ring.capacity || self.ring.capacity == most_columns(device, self.particles) {
            return;
        }
        let (buffer, capacity) = allocate(device, self.particles, columns);
        let larger = Ring { capacity, start: 0, len: self.ring.len };
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("positions") });
        let mut copy = |pieces: [Range<usize>; 2], mut place: usize| {
            for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
                let bytes = piece.len() as u64 * self.column_bytes();
                let to = place as u64 * self.column_bytes();
                encoder.copy_buffer_to_buffer(&self.buffer, self.offset(piece.start), &buffer, to, bytes);
                place += piece.len();
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

    fn offset(&self, place: usize) -> u64 {
        place as u64 * self.column_bytes()
    }

    /// Returns the steps from the oldest column to the newest.
    pub(super) fn oldest_age(&self) -> usize {
        self.ring.len.saturating_sub(1)
    }

    /// Returns the offset of the newest column, in bytes.
    pub(super) fn newest_offset(&self) -> Option<u64> {
        (self.ring.len > 0).then(|| self.offset(self.ring.place(self.ring.len as isize - 1)))
    }

    /// Returns the newest `segments` steps as draws of consecutive columns, oldest first. Each draw's byte offset
    /// is that of the column before its first segment.
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

    /// Returns the bytes from a column to the next.
    pub(super) fn stride(&self) -> u64 {
        self.column_bytes()
    }
}

/// Trail segments whose columns are contiguous in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments {
    pub offset: u64,
    /// The number of segments of each particle.
    pub columns: usize,
    /// Steps since the first segment's start.
    pub first_age: usize,
}

/// Returns the number of columns of a ring that fit into one buffer of the device.
fn most_columns(device: &wgpu::Device, particles: usize) -> usize {
    let columns = device.limits().max_buffer_size / (particles as u64 * POINT_BYTES);
    (columns as usize).saturating_sub(MIRRORED).max(MIRRORED)
}

fn allocate(device: &wgpu::Device, particles: usize, columns: usize) -> (wgpu::Buffer, usize) {
    // Capacities are powers of two, so that a growing trail is seldom moved.
    let most = most_columns(device, particles);
    let capacity = columns.min(most).next_power_of_two().clamp(MIRRORED, most);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("positions"),
        size: ((capacity + MIRRORED) * particles) as u64 * POINT_BYTES,
        usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    (buffer, capacity)
}
