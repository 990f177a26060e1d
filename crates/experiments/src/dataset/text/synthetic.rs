//! Synthetic text, for use where there is none. It is not a real corpus.

use valleyscope_engine::random::{Key, Stream};

const SEED: u64 = 0x7465_7874;
const SCENES: usize = 1600;
/// Things that a scene is about.
const THINGS: usize = 4;

const NAMES: [&str; 12] =
    ["Anna", "Bruno", "Clara", "David", "Edith", "Felix", "Greta", "Henry", "Irene", "Jacob", "Klara", "Louis"];
const NOUNS: [&str; 24] = [
    "lantern", "letter", "apple", "mirror", "hammer", "basket", "violin", "button", "candle", "ladder", "kettle",
    "ribbon", "saddle", "barrel", "feather", "carpet", "needle", "bottle", "whistle", "blanket", "compass", "pencil",
    "trumpet", "wagon",
];
const ADJECTIVES: [&str; 16] = [
    "old", "small", "red", "heavy", "bright", "broken", "quiet", "green", "wooden", "round", "narrow", "golden",
    "dusty", "warm", "pale", "crooked",
];
const PLACES: [&str; 12] = [
    "in the cellar",
    "on the table",
    "under the bridge",
    "behind the mill",
    "near the river",
    "in the garden",
    "at the gate",
    "on the roof",
    "by the well",
    "in the forest",
    "beside the road",
    "under the stairs",
];
/// Verbs with their forms for one, for several, and for the past.
const VERBS: [[&str; 3]; 14] = [
    ["carries", "carry", "carried"],
    ["finds", "find", "found"],
    ["hides", "hide", "hid"],
    ["sees", "see", "saw"],
    ["takes", "take", "took"],
    ["brings", "bring", "brought"],
    ["loses", "lose", "lost"],
    ["paints", "paint", "painted"],
    ["sells", "sell", "sold"],
    ["wants", "want", "wanted"],
    ["mends", "mend", "mended"],
    ["breaks", "break", "broke"],
    ["keeps", "keep", "kept"],
    ["forgets", "forget", "forgot"],
];
const NUMBERS: [&str; 8] = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

/// Generates a text of some million characters, always the same: scenes in which people talk about things.
///
/// Some of its regularities are easy to learn (letters, words, the order of words), others harder: number agrees with
/// the form of the verb, the person who is asked answers, and things stay where they are for the whole scene.
pub fn synthetic_text() -> String {
    (0..SCENES).map(|scene| Writer(Stream::new(Key::new(SEED).at(scene as u64))).scene(scene + 1)).collect()
}

struct Writer(Stream);

impl Writer {
    fn below(&mut self, count: usize) -> usize {
        self.0.below(count as u64) as usize
    }

    /// Picks one of the words, the first ones more often than the last.
    fn pick<T: Copy>(&mut self, words: &[T]) -> T {
        let most = self.below(words.len()) + 1;
        words[self.below(most)]
    }

    /// Picks some of the words, each once.
    fn some<const N: usize>(&mut self, words: &[&'static str]) -> [&'static str; N] {
        let mut left = words.to_vec();
        std::array::from_fn(|_| left.swap_remove(self.below(left.len())))
    }

    fn scene(&mut self, number: usize) -> String {
        let people = self.some::<3>(&NAMES);
        let things = self.some::<THINGS>(&NOUNS);
        let places = self.some::<THINGS>(&PLACES);
        let mut text = format!("SCENE {number}. {}, {} and {}.\n\n", people[0], people[1], people[2]);
        let mut speaker = self.below(3);
        for _ in 0..4 + self.below(6) {
            let other = (speaker + 1 + self.below(2)) % 3;
            let [asks, answers] = [people[speaker], people[other]];
            let thing = self.below(THINGS);
            let lines = match self.below(4) {
                0 => {
                    let told = self.sentences(&people, &things);
                    format!(
                        "Where is the {}, {answers}?\n\n{answers}:\nThe {} is {}, {asks}. {told}",
                        things[thing], things[thing], places[thing]
                    )
                }
                1 => {
                    let count = 2 + self.below(NUMBERS.len() - 2);
                    let counted = NUMBERS[..count].join(", ");
                    format!(
                        "How many {}s are there?\n\n{answers}:\n{} {}s: {counted}.",
                        things[thing],
                        capital(NUMBERS[count - 1]),
                        things[thing]
                    )
                }
                _ => self.sentences(&people, &things),
            };
            text += &format!("{asks}:\n{lines}\n\n");
            speaker = other;
        }
        text
    }

    fn sentences(&mut self, people: &[&str; 3], things: &[&str; THINGS]) -> String {
        (0..1 + self.below(3)).map(|_| self.sentence(people, things)).collect::<Vec<_>>().join(" ")
    }

    fn sentence(&mut self, people: &[&str; 3], things: &[&str; THINGS]) -> String {
        let [one, several, past] = self.pick(&VERBS);
        let object = format!("the {} {}", self.pick(&ADJECTIVES), things[self.below(THINGS)]);
        let person = people[self.below(3)];
        match self.below(5) {
            0 => format!("{person} {one} {object}."),
            1 => format!("You and I {several} {object} {}.", self.pick(&PLACES)),
            2 => format!("Yesterday {person} {past} {object}, and nobody {} it.", self.pick(&VERBS)[2]),
            3 => format!("If {person} {one} {object}, we {several} it too."),
            _ => {
                let number = 1 + self.below(NUMBERS.len() - 1);
                format!("{} {}s are better than {object}.", capital(NUMBERS[number]), things[self.below(THINGS)])
            }
        }
    }
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
