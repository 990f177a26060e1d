//! The bundled font and the fonts of the system, for texts on the screen and in files.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use egui::{Context, FallbackRequest, FontData, FontDefinitions, FontFamily, FontInsert, FontProvider};
use resvg::usvg::fontdb::{Database, FaceInfo, ID, Source, Stretch, Style, Weight};
use resvg::usvg::{self, FontResolver, Options};
use rustybuzz::ttf_parser::Face;
use unicode_segmentation::UnicodeSegmentation;

pub(super) const FONT: &[u8] = include_bytes!("../../assets/fonts/ValleyscopeSans.otf");
pub(super) const FAMILY: &str = "Valleyscope Sans";

static FONT_DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    Arc::new(fonts)
});

static FACE: LazyLock<Face<'static>> = LazyLock::new(|| Face::parse(FONT, 0).expect("the bundled font is a font"));

/// Installs the bundled font in a context.
pub(crate) fn install_font(ctx: &Context) {
    let mut fonts = FontDefinitions::empty();
    fonts.font_data.insert(FAMILY.to_owned(), Arc::new(FontData::from_static(FONT)));
    for family in [FontFamily::Proportional, FontFamily::Monospace] {
        fonts.families.insert(family, vec![FAMILY.to_owned()]);
    }
    ctx.set_fonts(fonts);
}

/// Finds fonts for the texts of a context.
pub(crate) struct FallbackFonts {
    /// Whether the system's fonts are read on another thread; until then, texts go without them.
    in_background: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether a text needs fonts that have not been read.
    is_wanted: bool,
    is_reading: bool,
    /// Characters that no font has.
    blank: BTreeSet<char>,
    /// The characters that a warning has named already.
    named: BTreeSet<char>,
}

impl FallbackFonts {
    pub(crate) fn install(ctx: &Context, in_background: bool) -> Arc<FallbackFonts> {
        let fonts = Arc::new(FallbackFonts { in_background, state: Mutex::default() });
        ctx.set_font_providers(vec![Arc::clone(&fonts) as Arc<dyn FontProvider>]);
        fonts
    }

    /// Reads the system's fonts in the background once a text needs them, and lays texts out anew with them.
    pub(crate) fn update(self: &Arc<Self>, ctx: &Context) {
        let mut state = self.state();
        if state.is_wanted && !state.is_reading {
            state.is_reading = true;
            let ctx = ctx.clone();
            std::thread::spawn(move || {
                SystemFonts::get();
                ctx.request_repaint();
            });
        }
        if state.is_reading && FONTS.get().is_some() {
            (state.is_wanted, state.is_reading) = (false, false);
            drop(state);
            ctx.set_font_providers(vec![Arc::clone(self) as Arc<dyn FontProvider>]);
        }
    }

    /// A warning about characters that no font has and that no warning has named yet.
    pub(crate) fn take_warning(&self) -> Option<String> {
        let State { blank, named, .. } = &mut *self.state();
        let new: BTreeSet<char> = blank.difference(named).copied().collect();
        named.append(blank);
        blank_warning(&new)
    }

    /// The characters that no font on this machine has, which are left blank.
    pub(super) fn take_blank(&self) -> BTreeSet<char> {
        std::mem::take(&mut self.state().blank)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FontProvider for FallbackFonts {
    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        if request.cluster.chars().all(is_ignorable) {
            return None;
        }
        if self.in_background && FONTS.get().is_none() {
            self.state().is_wanted = true;
            return None;
        }
        let fonts = SystemFonts::get();
        let found = fonts.with(request.cluster).and_then(|font| Some((font, fonts.file(font)?)));
        let Some((font, (bytes, index))) = found else {
            self.state().blank.extend(request.cluster.chars().next());
            return None;
        };
        let data = FontData { index, ..FontData::from_owned(bytes) };
        Some(FontInsert { name: format!("{} {}", font.family, font.id), data, families: Vec::new() })
    }
}

pub(crate) fn blank_warning(blank: &BTreeSet<char>) -> Option<String> {
    const MOST: usize = 8;
    let named = |character: &char| format!("{character} (U+{:04X})", u32::from(*character));
    let mut named: Vec<String> = blank.iter().take(MOST).map(named).collect();
    named.extend((blank.len() > MOST).then(|| format!("{} more", blank.len() - MOST)));
    let (what, pronoun) = if blank.len() == 1 { ("character is", "it") } else { ("characters are", "them") };
    (!named.is_empty()).then(|| {
        let named = named.join(", ");
        format!(
            "no font on this machine has {named}: the {what} not shown. Install a font with {pronoun}, or use others"
        )
    })
}

/// The options for reading SVG: the bundled font, and the system's only for a text that is set in them.
pub(super) fn svg_options(uses_system: bool) -> Options<'static> {
    let options = Options { font_family: FAMILY.to_owned(), ..Options::default() };
    if !uses_system {
        return Options { fontdb: Arc::clone(&FONT_DATABASE), ..options };
    }
    let fonts = SystemFonts::get();
    let select_font = move |font: &usvg::Font, _: &mut Arc<Database>| match font.families().first() {
        Some(usvg::FontFamily::Named(name)) if name != FAMILY => fonts.of_family(name),
        _ => Some(fonts.bundled),
    };
    let select_fallback = move |character: char, used: &[ID], _: &mut Arc<Database>| {
        let found = fonts.with(character.encode_utf8(&mut [0; 4])).map(|font| font.id);
        found.filter(|id| !used.contains(id))
    };
    let font_resolver = FontResolver { select_font: Box::new(select_font), select_fallback: Box::new(select_fallback) };
    Options { fontdb: Arc::clone(&fonts.database), font_resolver, ..options }
}

/// Divides a text into parts, each with the family of the system in which it is set, as the bundled font lacks
/// characters.
pub(super) fn font_parts(text: &str) -> Vec<(Range<usize>, Option<&'static str>)> {
    let is_bundled = |cluster: &str| cluster.chars().all(|it| is_ignorable(it) || FACE.glyph_index(it).is_some());
    let mut parts: Vec<(Range<usize>, Option<&str>)> = Vec::new();
    for (start, cluster) in text.grapheme_indices(true) {
        let family = if is_bundled(cluster) { None } else { SystemFonts::get().with(cluster) };
        let family = family.map(|font| font.family.as_str());
        match parts.last_mut() {
            Some((range, of)) if *of == family => range.end = start + cluster.len(),
            _ => parts.push((start..start + cluster.len(), family)),
        }
    }
    parts
}

/// The bundled font and the system's.
struct SystemFonts {
    database: Arc<Database>,
    bundled: ID,
    /// The system's fonts, in the order in which they are tried.
    fonts: Vec<SystemFont>,
    /// The index of the font for a cluster of characters; `None` where no font has it.
    found: Mutex<HashMap<String, Option<usize>>>,
}

/// A font of the system.
struct SystemFont {
    id: ID,
    family: String,
}

static FONTS: OnceLock<SystemFonts> = OnceLock::new();

impl SystemFonts {
    /// The fonts, which are read by the first call.
    fn get() -> &'static SystemFonts {
        FONTS.get_or_init(SystemFonts::read)
    }

    fn read() -> SystemFonts {
        let mut database = Database::new();
        database.load_font_data(FONT.to_vec());
        let bundled = database.faces().next().expect("the bundled font is a font").id;
        database.load_system_fonts();
        let mut faces: Vec<&FaceInfo> = database.faces().filter(|face| face.id != bundled).collect();
        faces.sort_by_cached_key(|face| rank(face));
        let fonts = faces.into_iter().map(|face| SystemFont { id: face.id, family: family(face) });
        let fonts = fonts.filter(|font| !font.family.contains("LastResort")).collect();
        SystemFonts { bundled, fonts, database: Arc::new(database), found: Mutex::default() }
    }

    fn of_family(&self, name: &str) -> Option<ID> {
        self.fonts.iter().find(|font| font.family == name).map(|font| font.id)
    }

    /// The first font that has all characters of a cluster, or else its first character.
    fn with(&self, cluster: &str) -> Option<&SystemFont> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *found.entry(cluster.to_owned()).or_insert_with(|| {
            let first = cluster.chars().next()?;
            let with = |wanted: &dyn Fn(&Face<'_>) -> bool| {
                let has = |font: &SystemFont| {
                    let face = |data: &[u8], index: u32| Face::parse(data, index).is_ok_and(|face| wanted(&face));
                    self.database.with_face_data(font.id, face).unwrap_or(false)
                };
                self.fonts.iter().position(has)
            };
            let all = with(&|face| cluster.chars().all(|it| is_ignorable(it) || face.glyph_index(it).is_some()));
            all.or_else(|| with(&|face| face.glyph_index(first).is_some()))
        });
        index.map(|index| &self.fonts[index])
    }

    /// The bytes of a font's file, and the index of the font in it.
    fn file(&self, font: &SystemFont) -> Option<(Vec<u8>, u32)> {
        self.database.with_face_data(font.id, |data, index| (data.to_vec(), index))
    }
}

/// The key by which fonts are ordered: upright regular ones before others, then by the name. The order of files in a
/// folder does not matter.
fn rank(face: &FaceInfo) -> impl Ord + use<> {
    let family = family(face);
    let path = match &face.source {
        Source::File(path) | Source::SharedFile(path, _) => path.clone(),
        Source::Binary(_) => Default::default(),
    };
    let is_special = ["Emoji", "Symbol", "Mono", "Serif"].iter().any(|word| family.contains(word)) || face.monospaced;
    (
        (face.style != Style::Normal, face.weight.0.abs_diff(Weight::NORMAL.0), face.stretch != Stretch::Normal),
        (is_special, !family.contains("Sans")),
        (family, path, face.index),
    )
}

/// The name of a font's family, without quotes, which delimit it in an SVG.
fn family(face: &FaceInfo) -> String {
    face.families.first().map(|(name, _)| name.replace('\'', "")).unwrap_or_default()
}

/// Whether a character only directs the layout, so that nothing is drawn for it.
fn is_ignorable(character: char) -> bool {
    matches!(
        u32::from(character),
        0xad | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2069 | 0xfe00..=0xfe0f | 0xfeff | 0xe0100..=0xe01ef
    )
}
