//! The surface of a landscape in space as a picture that the processor draws.

use valleyscope_experiments::view::{Colormap, HeightField, SpaceView};

use super::canvas::MapImage;

/// The samples of a pixel along each of its sides.
const SAMPLES: usize = 2;
const FLOOR: f64 = -0.5;

/// A corner of a triangle.
#[derive(Clone, Copy)]
struct Corner {
    /// The position, in samples.
    at: [f64; 2],
    /// The inverse of the distance from the eye, which is linear over the picture.
    nearness: f64,
    /// The position on the colour bar.
    level: f64,
    brightness: f64,
}

/// The samples of the picture.
struct Raster {
    size: [usize; 2],
    nearness: Vec<f64>,
    rgb: Vec<[u8; 3]>,
}

/// The surface as it is seen on a canvas of `view.size_px` units, with this number of pixels per unit; transparent
/// beside it.
pub(super) fn image(view: &SpaceView, heights: &HeightField, colormap: Colormap, px_per_unit: f64) -> MapImage {
    let [width, height] = view.size_px.map(|size| (f64::from(size) * px_per_unit).ceil() as usize);
    let size = [width * SAMPLES, height * SAMPLES];
    let mut raster = Raster { size, nearness: vec![0.0; size[0] * size[1]], rgb: vec![[0; 3]; size[0] * size[1]] };
    let scale = px_per_unit * SAMPLES as f64;
    let corner = |point: [f64; 3], level: f64, brightness: f64| {
        let projected = view.project(point);
        let at = projected.px.map(|px| f64::from(px) * scale);
        Corner { at, nearness: 1.0 / projected.distance, level, brightness }
    };
    let last = HeightField::SIDE - 1;
    let position = |column: usize, row: usize| [column, row].map(|index| 2.0 * index as f64 / last as f64 - 1.0);
    let on_surface = |column: usize, row: usize| {
        let position = position(column, row);
        let point = heights.point(position)?;
        Some(corner(point, point[2] + 0.5, view.brightness(heights.normal(position)?)))
    };
    let colored = |level: f64| colormap.rgb(level).map(f64::from);
    let points: Vec<Option<Corner>> =
        (0..=last).flat_map(|row| (0..=last).map(move |column| (column, row))).map(|(c, r)| on_surface(c, r)).collect();
    for row in 0..last {
        for column in 0..last {
            let at = |column: usize, row: usize| points[row * HeightField::SIDE + column];
            let [lower_left, upper_left] = [at(column, row), at(column, row + 1)];
            let [lower_right, upper_right] = [at(column + 1, row), at(column + 1, row + 1)];
            raster.triangle([lower_left, upper_left, lower_right], colored);
            raster.triangle([upper_left, lower_right, upper_right], colored);
        }
    }
    // Walls are duller, as in the window, so that the eye takes them for a cut.
    let dull = |level: f64| colored(level).map(|channel| 0.5 * (127.5 + channel));
    for (axis, side) in [(0, 0), (0, last), (1, 0), (1, last)] {
        let mut normal = [0.0; 3];
        normal[axis] = if side == 0 { -1.0 } else { 1.0 };
        let brightness = view.brightness(normal);
        let wall = |along: usize| {
            let [x, y] = if axis == 0 { position(side, along) } else { position(along, side) };
            let top = heights.height([x, y])?;
            let level = top + 0.5;
            Some([corner([x, y, top.min(FLOOR)], level, brightness), corner([x, y, top], level, brightness)])
        };
        for along in 0..last {
            let (Some([low, high]), Some([next_low, next_high])) = (wall(along), wall(along + 1)) else { continue };
            raster.triangle([low, high, next_low].map(Some), dull);
            raster.triangle([high, next_low, next_high].map(Some), dull);
        }
    }
    raster.averaged([width, height])
}

impl Raster {
    /// Draws a triangle where it is nearer than what was drawn before; none with a corner where there is no surface.
    fn triangle(&mut self, corners: [Option<Corner>; 3], color: impl Fn(f64) -> [f64; 3]) {
        let [Some(a), Some(b), Some(c)] = corners else { return };
        let cross =
            |o: [f64; 2], p: [f64; 2], q: [f64; 2]| (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
        let area = cross(a.at, b.at, c.at);
        if area == 0.0 {
            return;
        }
        let range = |axis: usize| {
            let [low, high] = [f64::min, f64::max].map(|of| of(of(a.at[axis], b.at[axis]), c.at[axis]));
            let end = (high.ceil().max(0.0) as usize).min(self.size[axis]);
            (low.floor().max(0.0) as usize).min(end)..end
        };
        for y in range(1) {
            for x in range(0) {
                let at = [x as f64 + 0.5, y as f64 + 0.5];
                let parts = [cross(b.at, c.at, at) / area, cross(c.at, a.at, at) / area, cross(a.at, b.at, at) / area];
                if parts.iter().any(|part| *part < 0.0) {
                    continue;
                }
                let mixed = |of: fn(&Corner) -> f64| parts[0] * of(&a) + parts[1] * of(&b) + parts[2] * of(&c);
                let (index, nearness) = (y * self.size[0] + x, mixed(|corner| corner.nearness));
                if nearness > self.nearness[index] {
                    self.nearness[index] = nearness;
                    let brightness = mixed(|corner| corner.brightness);
                    let lit = |channel: f64| (channel * brightness).round().min(255.0) as u8;
                    self.rgb[index] = color(mixed(|corner| corner.level)).map(lit);
                }
            }
        }
    }

    /// The picture with the mean colour of each pixel's samples on the surface, and the part of them as opacity.
    fn averaged(&self, [width, height]: [usize; 2]) -> MapImage {
        const ALL: u32 = (SAMPLES * SAMPLES) as u32;
        let mut rgba = Vec::with_capacity(4 * width * height);
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let samples = (0..SAMPLES * SAMPLES).map(|sample| {
                let [column, row] = [x * SAMPLES + sample % SAMPLES, y * SAMPLES + sample / SAMPLES];
                row * self.size[0] + column
            });
            let (mut sum, mut count) = ([0_u32; 3], 0);
            for index in samples.filter(|index| self.nearness[*index] > 0.0) {
                sum = [0, 1, 2].map(|channel| sum[channel] + u32::from(self.rgb[index][channel]));
                count += 1;
            }
            rgba.extend(sum.map(|sum| ((sum + count / 2) / count.max(1)) as u8));
            rgba.push((255 * count / ALL) as u8);
        }
        MapImage { width, height, rgba }
    }
}

#[cfg(test)]
mod tests {
    use valleyscope_experiments::view::{Camera, Orbit, SymLog};

    use super::*;

    #[test]
    fn each_point_has_its_colour_and_its_light() {
        let camera = Camera::new([0.0; 2], 4.0);
        let scale = SymLog::symmetric(0.5, 10.0);
        let heights = HeightField::sample(|[x, y]| 2.0 * x.sin() * y.cos(), camera, &scale);
        let view = SpaceView { camera, orbit: Orbit::HOME, size_px: [300.0, 240.0], cover: 0.0 };
        let image = image(&view, &heights, Colormap::Viridis, 2.0);
        assert_eq!([image.width, image.height], [600, 480]);
        let pixel = |[x, y]: [f32; 2]| {
            let index = 4 * ((2.0 * y) as usize * image.width + (2.0 * x) as usize);
            [0, 1, 2].map(|channel| image.rgba[index + channel])
        };
        assert_eq!(image.rgba[3], 0, "beside the surface");
        let mut compared = 0;
        for (x, y) in (-8..=8).flat_map(|x| (-8..=8).map(move |y| (f64::from(x) / 10.0, f64::from(y) / 10.0))) {
            let point = heights.point([x, y]).expect("finite");
            if heights.hides(&view, point) {
                continue;
            }
            let brightness = view.brightness(heights.normal([x, y]).expect("finite"));
            let expected = Colormap::Viridis.rgb(point[2] + 0.5).map(|channel| f64::from(channel) * brightness);
            let found = pixel(view.project(point).px).map(f64::from);
            let differs = (0..3).any(|channel| (found[channel] - expected[channel].min(255.0)).abs() > 12.0);
            assert!(!differs, "{found:?} instead of {expected:?} at {x}, {y}");
            compared += 1;
        }
        assert!(compared > 100, "{compared}");
    }
}
