//! The picture of a map, made on a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use egui::{ColorImage, Context, TextureHandle, TextureOptions};
use valleyscope_engine::sweep::{Diagram, Metric, SweepSpec};

use crate::app::theme;
use crate::figure::{Letters, Map, MapColors, MapImage, Regions, Scale, Swatch, shared_optimizers};

/// The displayed map of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapLook {
    pub map: Map,
    pub metric: Metric,
    /// Whether winners have letters, and their regions borders.
    pub letters: bool,
}

/// The explanation of the colours.
pub(super) struct ColorKey {
    pub scale: Option<Scale>,
    pub legend: Vec<Swatch>,
    /// The label of the scale.
    pub label: String,
    /// The optimizers that the map shows.
    pub subject: Option<String>,
    pub regions: Option<LetteredRegions>,
}

/// The borders of regions, and the letters in them.
pub(super) struct LetteredRegions {
    pub regions: Regions,
    /// The letter of each optimizer.
    pub letters: Vec<String>,
    /// The colour behind each of the regions' letters.
    pub behind: Vec<[u8; 3]>,
}

/// A diagram of several that are shown together, and its version.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub number: u64,
    pub version: u64,
    pub diagram: &'a Diagram,
}

/// The diagrams that are shown together, and the place of the present one, whose look the others take over.
pub(super) struct Together<'a> {
    pub shown: Vec<Shown<'a>>,
    pub present: usize,
}

/// The state that a texture shows: the look, the numbers and versions of all diagrams, and the colour of unknown cells.
#[derive(PartialEq)]
struct Wanted {
    look: MapLook,
    together: Vec<[u64; 2]>,
    present: usize,
    unknown: [u8; 3],
}

/// A finished picture, and what it shows.
struct Painted {
    image: MapImage,
    color_key: ColorKey,
    spec: Arc<SweepSpec>,
    blocks: Option<usize>,
}

/// The texture of a map, renewed when the diagram or the look has changed.
#[derive(Default)]
pub(super) struct MapPicture {
    texture: Option<TextureHandle>,
    /// The sweep that the texture shows.
    spec: Option<Arc<SweepSpec>>,
    /// The side of the smallest blocks that the texture shows completely.
    blocks: Option<usize>,
    pub color_key: Option<ColorKey>,
    /// The state that the newest texture shows, which may still be in progress.
    wanted: Option<Wanted>,
    coming: Option<Receiver<Painted>>,
    asked: Option<Instant>,
}

/// The smallest time between pictures of a diagram that fills in.
const LEAST_INTERVAL: Duration = Duration::from_millis(60);
/// The additional time between pictures for each cell, which is copied for the drawing thread.
const PER_CELL: Duration = Duration::from_nanos(1000);

impl MapPicture {
    pub(super) fn texture(&self) -> Option<&TextureHandle> {
        self.texture.as_ref()
    }

    /// Returns the sweep of the visible picture.
    pub(super) fn spec(&self) -> Option<&Arc<SweepSpec>> {
        self.spec.as_ref()
    }

    /// Returns the sweep of the visible picture, or without a picture that of the diagram which it will show. Axes are those
    /// of the picture, as the diagram may be replaced before its own picture is drawn.
    pub(super) fn spec_or<'a>(&'a self, diagram: &'a Diagram) -> &'a SweepSpec {
        self.spec.as_ref().unwrap_or(diagram.spec())
    }

    /// Returns the side of the smallest blocks that the visible picture shows completely, in pixels of the diagram.
    pub(super) fn blocks(&self) -> Option<usize> {
        self.blocks
    }

    /// Takes a finished picture of one of the diagrams that are shown together, and requests another where it is outdated.
    pub(super) fn update(&mut self, ctx: &Context, together: &Together<'_>, index: usize, look: MapLook) {
        if let Some(coming) = &self.coming {
            match coming.try_recv() {
                Ok(Painted { image, color_key, spec, blocks }) => {
                    self.show(ctx, &image);
                    (self.color_key, self.spec, self.blocks) = (Some(color_key), Some(spec), blocks);
                    self.coming = None;
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.coming = None,
            }
        }
        let &Together { ref shown, present } = together;
        let versions = shown.iter().map(|shown| [shown.number, shown.version]).collect();
        let wanted = Wanted { look, together: versions, present, unknown: theme::not_computed(ctx.theme()) };
        if self.wanted.as_ref() == Some(&wanted) {
            return;
        }
        let same_look = self.wanted.as_ref().is_some_and(|before| {
            (before.look, before.unknown, before.together.len()) == (look, wanted.unknown, shown.len())
        });
        let cells: usize = shown.iter().map(|shown| shown.diagram.cell_count()).sum();
        let between = LEAST_INTERVAL + PER_CELL * u32::try_from(cells).unwrap_or(u32::MAX);
        if let Some(asked) = self.asked.filter(|_| same_look)
            && let Some(wait) = between.checked_sub(asked.elapsed())
        {
            ctx.request_repaint_after(wait);
            return;
        }
        let unknown = wanted.unknown;
        self.wanted = Some(wanted);
        self.asked = Some(Instant::now());
        let (sender, receiver) = channel();
        let (diagrams, ctx): (Vec<Diagram>, _) =
            (shown.iter().map(|shown| shown.diagram.clone()).collect(), ctx.clone());
        std::thread::spawn(move || {
            let (image, color_key) = draw(&diagrams, [index, present], look, unknown);
            let (spec, blocks) = (Arc::clone(diagrams[index].spec()), diagrams[index].finest_blocks());
            // The panel may be gone.
            let _ = sender.send(Painted { image, color_key, spec, blocks });
            ctx.request_repaint();
        });
        self.coming = Some(receiver);
    }

    fn show(&mut self, ctx: &Context, image: &MapImage) {
        let MapImage { width, height, rgba } = image.thinned(ctx.input(|input| input.max_texture_side));
        let image = ColorImage::from_rgba_unmultiplied([width, height], &rgba);
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::NEAREST),
            None => self.texture = Some(ctx.load_texture("phase diagram", image, TextureOptions::NEAREST)),
        }
    }
}

/// Draws the map of one of several diagrams, in the colours and with the letters that they share. The look is that of the
/// diagram at the index `of`.
fn draw(diagrams: &[Diagram], [index, of]: [usize; 2], look: MapLook, unknown: [u8; 3]) -> (MapImage, ColorKey) {
    let filled: Vec<Diagram> = diagrams.iter().map(Diagram::filled).collect();
    let specs: Vec<&SweepSpec> = diagrams.iter().map(|diagram| &**diagram.spec()).collect();
    let (diagram, metric) = (&filled[index], look.metric);
    let map = look.map.carried_over(specs[of], diagram);
    let scale = map.shared_scale(&filled.iter().collect::<Vec<_>>(), metric);
    let mut optimizers = shared_optimizers(&specs);
    let letters = Letters::of(optimizers.iter().flatten());
    let colors = MapColors { winners: optimizers.swap_remove(index), scale, unknown };
    let image = map.image_with(diagram, metric, &colors);
    let mut legend = map.legend_with(diagram, metric, &colors);
    let regions = (look.letters && matches!(map, Map::Winner { .. })).then(|| {
        letters.explain(&mut legend);
        let regions = Regions::of(&map.winners(diagram, metric), image.width);
        if regions.has_specks {
            legend.push(Letters::note_of_specks());
        }
        let behind = regions.letters.iter().map(|letter| image.cell(letter.at[1] as usize, letter.at[0] as usize));
        let behind = behind.collect();
        LetteredRegions { behind, letters: letters.of_optimizers(&colors.winners), regions }
    });
    let label = map.quantity(&diagram.spec().landscape, metric);
    (image, ColorKey { scale: colors.scale, legend, label, subject: map.subject(diagram), regions })
}
