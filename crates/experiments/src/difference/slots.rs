//! The assignment of optimizers and runs of several presets to each other.

use super::listed::SettingOwner;

/// An optimizer or a run that is compared, with its owner in each column that has it.
pub(super) struct Slot {
    list: &'static str,
    owners: Vec<Option<SettingOwner>>,
}

/// The optimizers and runs of all columns.
pub(super) struct Slots(Vec<Slot>);

impl Slots {
    /// Assigns the owners of each column: those of equal names to each other, then those of other names that stand at
    /// the same place, such as a rule that replaces another.
    pub(super) fn of(columns: &[Vec<&SettingOwner>]) -> Slots {
        let mut slots: Vec<Slot> = Vec::new();
        for (column, owners) in columns.iter().enumerate() {
            let mut left = Vec::new();
            for owner in owners {
                let is_same = |other: &SettingOwner| other.name == owner.name;
                if !assign(&mut slots, column, owner, is_same) {
                    left.push(*owner);
                }
            }
            for owner in left {
                let is_at_place = |other: &SettingOwner| other.index == owner.index;
                if !assign(&mut slots, column, owner, is_at_place) {
                    let mut owners = vec![None; columns.len()];
                    owners[column] = Some(owner.clone());
                    slots.push(Slot { list: owner.list, owners });
                }
            }
        }
        Slots(slots)
    }

    /// Returns the index of an owner's slot.
    pub(super) fn index(&self, column: usize, owner: &SettingOwner) -> Option<usize> {
        self.0.iter().position(|slot| slot.owners[column].as_ref() == Some(owner))
    }

    /// Returns the names of a slot's owners; none for the only run of all columns.
    pub(super) fn name(&self, index: usize) -> Option<String> {
        let Slot { list, owners } = &self.0[index];
        if *list == "runs" && self.0.iter().filter(|slot| slot.list == *list).count() == 1 {
            return None;
        }
        let mut names: Vec<&str> = Vec::new();
        for owner in owners.iter().flatten().filter(|owner| !owner.name.is_empty()) {
            if !names.contains(&owner.name.as_str()) {
                names.push(&owner.name);
            }
        }
        Some(names.join(" / "))
    }
}

/// Assigns an owner to the first slot without one of its column that has a matching one in another column. Returns
/// whether there is such a slot.
fn assign(slots: &mut [Slot], column: usize, owner: &SettingOwner, matches: impl Fn(&SettingOwner) -> bool) -> bool {
    let is_free = |slot: &&mut Slot| {
        slot.list == owner.list && slot.owners[column].is_none() && slot.owners.iter().flatten().any(&matches)
    };
    match slots.iter_mut().find(is_free) {
        Some(slot) => {
            slot.owners[column] = Some(owner.clone());
            true
        }
        None => false,
    }
}
