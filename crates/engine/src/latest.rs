//! Lists of typed rules and typed landscapes, in which the last of each name is the one in use.

/// Returns the last of each name, in the order of the names' first.
pub(crate) fn latest<T>(known: &[&'static T], name: fn(&T) -> &'static str) -> Vec<&'static T> {
    let mut latest: Vec<&'static T> = Vec::new();
    for &item in known {
        match latest.iter_mut().find(|other| name(other) == name(item)) {
            Some(other) => *other = item,
            None => latest.push(item),
        }
    }
    latest
}

/// Moves an item of the list behind all others of its name.
pub(crate) fn make_latest<T>(known: &mut [&'static T], item: &'static T, name: fn(&T) -> &'static str) {
    let own = known.iter().position(|other| std::ptr::eq(*other, item));
    let last = known.iter().rposition(|other| name(other) == name(item));
    if let (Some(own), Some(last)) = (own, last) {
        known[own..=last].rotate_left(1);
    }
}
