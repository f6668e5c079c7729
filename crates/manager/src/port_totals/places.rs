//! Where the ports of an image were in the one before.

use std::collections::BTreeMap;

use super::{Key, key};
use crate::pm::{Image, Raw};

/// The image before, and the place of each port in it.
#[derive(Debug)]
pub(super) struct Places<'a> {
    earlier: Option<&'a Image>,
    /// None where every port was where it is now.
    from: Option<Vec<Option<u32>>>,
    /// Places in the image before of ports that are no longer known.
    left: Vec<u32>,
}

impl<'a> Places<'a> {
    pub(super) fn new(image: &Image, earlier: Option<&'a Image>) -> Self {
        let Some(earlier) = earlier else {
            let (from, left) = (None, Vec::new());
            return Self {
                earlier: None,
                from,
                left,
            };
        };
        let from = moved(image, earlier);
        let mut found = vec![false; earlier.roster.ports.len()];
        for place in 0..image.roster.ports.len() {
            let origin = match &from {
                None => Some(place),
                Some(from) => from[place].map(|from| from as usize),
            };
            if let (Some(origin), Some(_)) = (origin, image.raw(place)) {
                found[origin] = true;
            }
        }
        let left = found.iter().enumerate().filter(|(_, found)| !**found);
        let left = left.map(|(place, _)| place as u32).collect();
        Self {
            earlier: Some(earlier),
            from,
            left,
        }
    }

    /// A port's place in the image before, and its reading there; none where there was none.
    pub(super) fn before(&self, place: usize) -> Option<(usize, Raw<'a>)> {
        let from = match &self.from {
            None => place,
            Some(from) => (*from.get(place)?)? as usize,
        };
        Some((from, self.earlier?.raw(from)?))
    }

    /// Ports that had been read and are no longer known: port, place in the image before, and reading.
    pub(super) fn left(&self) -> Vec<(Key, usize, Raw<'a>)> {
        let left = self.left.iter().filter_map(|place| {
            let (place, earlier) = (*place as usize, self.earlier?);
            Some((key(&earlier.roster, place)?, place, earlier.raw(place)?))
        });
        left.collect()
    }
}

/// Place of each port in the image before, none where all are equal.
fn moved(image: &Image, earlier: &Image) -> Option<Vec<Option<u32>>> {
    let (now, then) = (&image.roster, &earlier.roster);
    let count = now.ports.len();
    let same = count == then.ports.len()
        && (std::ptr::eq(&**now, &**then)
            || (0..count).all(|place| key(now, place) == key(then, place)));
    if same {
        return None;
    }
    let known = (0..then.ports.len()).filter_map(|place| Some((key(then, place)?, place as u32)));
    let known: BTreeMap<Key, u32> = known.collect();
    let places = (0..count).map(|place| known.get(&key(now, place)?).copied());
    Some(places.collect())
}
