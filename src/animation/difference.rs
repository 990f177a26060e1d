//! The difference of a frame to the frame before it.

use image::RgbImage;

/// The part of a frame that differs from the frame before.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// The left and the upper edge of the smallest rectangle that holds all changed pixels, in pixels.
    pub corner: [u32; 2],
    pub size: [u32; 2],
    /// The pixels of the rectangle, row by row; `None` where a pixel did not change.
    pub pixels: Vec<Option<[u8; 3]>>,
}

impl Difference {
    /// Returns the difference of a frame to the one before. The first frame changes everything; a frame that equals the
    /// one before changes a rectangle of one pixel to what it was.
    pub(super) fn new(before: Option<&RgbImage>, frame: &RgbImage) -> Difference {
        let (width, height) = frame.dimensions();
        let Some(before) = before.filter(|before| before.dimensions() == (width, height)) else {
            let pixels = frame.pixels().map(|pixel| Some(pixel.0)).collect();
            return Difference { corner: [0; 2], size: [width, height], pixels };
        };
        let ([mut left, mut top], [mut right, mut bottom]) = ([width, height], [0, 0]);
        for (x, y, pixel) in frame.enumerate_pixels() {
            if before.get_pixel(x, y) != pixel {
                (left, right) = (left.min(x), right.max(x + 1));
                (top, bottom) = (top.min(y), bottom.max(y + 1));
            }
        }
        if left >= right {
            return Difference { corner: [0; 2], size: [1; 2], pixels: vec![None] };
        }
        let changed = |x, y| {
            let pixel = frame.get_pixel(x, y);
            (before.get_pixel(x, y) != pixel).then_some(pixel.0)
        };
        let pixels = (top..bottom).flat_map(|y| (left..right).map(move |x| changed(x, y))).collect();
        Difference { corner: [left, top], size: [right - left, bottom - top], pixels }
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::Difference;

    #[test]
    fn only_the_changed_rectangle_is_kept_and_equal_pixels_in_it_are_left_out() {
        let before = RgbImage::from_pixel(9, 7, Rgb([10, 20, 30]));
        let mut frame = before.clone();
        frame.put_pixel(3, 2, Rgb([1, 2, 3]));
        frame.put_pixel(4, 4, Rgb([4, 5, 6]));
        let first = Difference::new(None, &before);
        assert_eq!((first.corner, first.size), ([0, 0], [9, 7]));
        assert!(first.pixels.iter().all(|pixel| *pixel == Some([10, 20, 30])));
        let next = Difference::new(Some(&before), &frame);
        assert_eq!((next.corner, next.size), ([3, 2], [2, 3]));
        assert_eq!(next.pixels, [Some([1, 2, 3]), None, None, None, None, Some([4, 5, 6])]);
        let same = Difference::new(Some(&frame), &frame);
        assert_eq!((same.size, same.pixels), ([1, 1], vec![None]));
    }
}
