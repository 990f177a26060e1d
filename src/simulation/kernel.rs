//! One step of many particles, in the widest vectors of the machine.

use super::diagnostics::{Observed, Sample, Sums};
use crate::landscape::Landscape;
use crate::lanes::{Doubles, Lanes, Real};
use crate::optimizer::{Clock, Optimizer};
use crate::random::Streams;

/// Particles a block: as many doubles as the widest registers hold.
pub(super) const WIDTH: usize = 8;
pub(super) type Block = Lanes<f64, WIDTH>;
/// A value for each coordinate, x and y.
pub(super) type Pair<T> = [T; 2];

/// What a step needs besides the particles.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub landscape: Landscape,
    /// σ
    pub noise: f64,
    /// The diagnostics and the mean position before the step.
    pub pivots: (Sample, [f64; 2]),
}

/// The particles that a step moves.
pub(super) struct Particles<'a> {
    pub count: usize,
    pub positions: &'a mut [Pair<Block>],
    pub streams: &'a mut [Streams<WIDTH>],
}

/// A draw from Normal(1, σ), made of one from Normal(0, 1).
#[inline(always)]
pub(super) fn noise_factor<R: Real>(normal: R, noise: f64) -> R {
    R::splat(1.0) + R::splat(noise) * normal
}

impl Step {
    /// Takes the step and sums up what came of it. `memory` is a block's for each of the coordinates.
    pub fn run<O: Optimizer>(
        &self,
        optimizer: &O,
        clock: &mut Clock,
        particles: Particles<'_>,
        memory: &mut [Pair<O::Memory<Block>>],
    ) -> Sums<Block> {
        *clock = optimizer.tick(*clock);
        let full = particles.count / WIDTH;
        let (full_positions, rest_positions) = particles.positions.split_at_mut(full);
        let (full_streams, rest_streams) = particles.streams.split_at_mut(full);
        let (full_memory, rest_memory) = memory.split_at_mut(full);
        let mut sums = self.full_blocks(optimizer, clock, full_positions, full_streams, full_memory);
        let rest = rest_positions.iter_mut().zip(rest_streams).zip(rest_memory);
        for ((position, streams), memory) in rest {
            let observed = self.block::<O, Block>(&optimizer.factors(clock), position, streams, memory);
            sums.add_some(&observed, particles.count % WIDTH);
        }
        sums
    }

    /// The results have the same bits whichever instructions are used.
    fn full_blocks<O: Optimizer>(
        &self,
        optimizer: &O,
        clock: &Clock,
        positions: &mut [Pair<Block>],
        streams: &mut [Streams<WIDTH>],
        memory: &mut [Pair<O::Memory<Block>>],
    ) -> Sums<Block> {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                // SAFETY: the instructions were just detected.
                return unsafe { self.with_avx512(optimizer, clock, positions, streams, memory) };
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                // SAFETY: the instructions were just detected.
                return unsafe { self.with_avx2(optimizer, clock, positions, streams, memory) };
            }
        }
        self.blocks::<O, Block>(optimizer, clock, positions, streams, memory)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn with_avx512<O: Optimizer>(
        &self,
        optimizer: &O,
        clock: &Clock,
        positions: &mut [Pair<Block>],
        streams: &mut [Streams<WIDTH>],
        memory: &mut [Pair<O::Memory<Block>>],
    ) -> Sums<Block> {
        self.blocks::<O, crate::lanes::x86::F64x8>(optimizer, clock, positions, streams, memory)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn with_avx2<O: Optimizer>(
        &self,
        optimizer: &O,
        clock: &Clock,
        positions: &mut [Pair<Block>],
        streams: &mut [Streams<WIDTH>],
        memory: &mut [Pair<O::Memory<Block>>],
    ) -> Sums<Block> {
        self.blocks::<O, crate::lanes::x86::F64x4x2>(optimizer, clock, positions, streams, memory)
    }

    #[inline(always)]
    fn blocks<O: Optimizer, V: Doubles<WIDTH>>(
        &self,
        optimizer: &O,
        clock: &Clock,
        positions: &mut [Pair<Block>],
        streams: &mut [Streams<WIDTH>],
        memory: &mut [Pair<O::Memory<Block>>],
    ) -> Sums<Block> {
        let factors = optimizer.factors::<V>(clock);
        let mut sums = Sums::<V>::about(&self.pivots.0, self.pivots.1);
        for ((position, streams), memory) in positions.iter_mut().zip(streams).zip(memory) {
            sums.add(&self.block::<O, V>(&factors, position, streams, memory));
        }
        sums.map(V::to_lanes)
    }

    /// Steps one block and says what came of it.
    #[inline(always)]
    fn block<O: Optimizer, V: Doubles<WIDTH>>(
        &self,
        factors: &O::Factors<V>,
        position: &mut Pair<Block>,
        streams: &mut Streams<WIDTH>,
        memory: &mut Pair<O::Memory<Block>>,
    ) -> Observed<V> {
        let [x, y] = position.map(V::from_lanes);
        let [gradient_x, gradient_y] = self.landscape.gradient(self.landscape.uv_from_xy([x, y]));
        let [normal_x, normal_y] = streams.normal_pair::<V>();
        let noisy_x = gradient_x * noise_factor(normal_x, self.noise);
        let noisy_y = gradient_y * noise_factor(normal_y, self.noise);
        let [memory_x, memory_y] = memory.map(|memory| O::map_memory(memory, V::from_lanes));
        let (memory_x, move_x) = O::step(factors, x, noisy_x, memory_x);
        let (memory_y, move_y) = O::step(factors, y, noisy_y, memory_y);
        *memory = [memory_x, memory_y].map(|memory| O::map_memory(memory, V::to_lanes));
        let moved = [move_x.theta, move_y.theta];
        *position = moved.map(V::to_lanes);
        let valley = self.landscape.uv_from_xy(moved);
        Observed {
            position: moved,
            valley,
            loss: self.landscape.loss(valley),
            effective_step: V::splat(0.5) * (move_x.direction.abs() + move_y.direction.abs()),
        }
    }
}
