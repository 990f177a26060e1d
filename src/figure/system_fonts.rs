//! The system's fonts, for characters that the bundled font lacks.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use resvg::usvg::fontdb::{Database, FaceInfo, ID, Source, Stretch, Style, Weight};
use rustybuzz::ttf_parser;

use super::font::FONT;

/// The bundled font and the system's.
pub(crate) struct SystemFonts {
    database: Arc<Database>,
    bundled: ID,
    /// The system's fonts, in the order in which they are tried.
    fonts: Vec<SystemFont>,
    /// The index of the font for a cluster of characters; `None` where no font has it.
    found: Mutex<HashMap<String, Option<usize>>>,
}

/// A font of the system.
pub(crate) struct SystemFont {
    pub id: ID,
    pub family: String,
}

static FONTS: OnceLock<SystemFonts> = OnceLock::new();

impl SystemFonts {
    /// Returns the fonts, which are read by the first call.
    pub(crate) fn get() -> &'static SystemFonts {
        FONTS.get_or_init(SystemFonts::read)
    }

    /// Returns whether the fonts have been read.
    #[cfg(feature = "app")]
    pub(crate) fn are_read() -> bool {
        FONTS.get().is_some()
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

    pub(super) fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }

    pub(super) fn bundled(&self) -> ID {
        self.bundled
    }

    /// Returns the first font of a family.
    pub(super) fn of_family(&self, name: &str) -> Option<ID> {
        self.fonts.iter().find(|font| font.family == name).map(|font| font.id)
    }

    /// Returns the first font that has all characters of a cluster, or else its first character.
    pub(crate) fn with(&self, cluster: &str) -> Option<&SystemFont> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *found.entry(cluster.to_owned()).or_insert_with(|| {
            let first = cluster.chars().next()?;
            let with = |wanted: &dyn Fn(&ttf_parser::Face<'_>) -> bool| {
                let has = |font: &SystemFont| {
                    let face =
                        |data: &[u8], index: u32| ttf_parser::Face::parse(data, index).is_ok_and(|face| wanted(&face));
                    self.database.with_face_data(font.id, face).unwrap_or(false)
                };
                self.fonts.iter().position(has)
            };
            let all = with(&|face| cluster.chars().all(|it| is_ignorable(it) || face.glyph_index(it).is_some()));
            all.or_else(|| with(&|face| face.glyph_index(first).is_some()))
        });
        index.map(|index| &self.fonts[index])
    }

    /// Returns the bytes of a font's file, and the index of the font in it.
    #[cfg(feature = "app")]
    pub(crate) fn file(&self, font: &SystemFont) -> Option<(Vec<u8>, u32)> {
        self.database.with_face_data(font.id, |data, index| (data.to_vec(), index))
    }
}

/// Returns the key by which fonts are ordered: upright regular ones before others, then by the name. The order of files
/// in a folder does not matter.
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

/// Returns the name of a font's family, without quotes, which delimit it in an SVG.
fn family(face: &FaceInfo) -> String {
    face.families.first().map(|(name, _)| name.replace('\'', "")).unwrap_or_default()
}

/// Returns whether a character only directs the layout, so that nothing is drawn for it.
pub(crate) fn is_ignorable(character: char) -> bool {
    matches!(
        u32::from(character),
        0xad | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2069 | 0xfe00..=0xfe0f | 0xfeff | 0xe0100..=0xe01ef
    )
}

/// Returns a warning about characters that no font has; `None` without one.
pub fn blank_warning(blank: &BTreeSet<char>) -> Option<String> {
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
