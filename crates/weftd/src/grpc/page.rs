//! Pages of lists: a token is the key of the last item, so that a page continues after it
//! even if the fabric has changed since.

use tonic::Status;
use weft_api::{FieldMask, ReadMask, WrongMask};

use super::Key;
use super::facts::Facts;
use super::refusal::wrong_field_with;

/// The fields of the items of a list that a request names in `read_mask`.
pub(super) fn read_mask(message: &str, mask: Option<&FieldMask>) -> Result<ReadMask, Status> {
    ReadMask::new(message, mask).map_err(|wrong| {
        let facts = match &wrong {
            WrongMask::Unknown { path, allowed } => {
                Facts::none().with("path", path).with("allowed", allowed)
            }
            WrongMask::Many { .. } => Facts::none(),
        };
        wrong_field_with("read_mask", &wrong.to_string(), facts)
    })
}

/// A page of a list in order of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    after: Option<Key>,
    size: usize,
}

impl Page {
    /// From the fields of a request; `usual` items if it is 0, never more than `most`.
    pub(super) fn new(
        size: u32,
        token: &str,
        (usual, most): (usize, usize),
    ) -> Result<Self, Status> {
        let size = match size as usize {
            0 => usual,
            size => size.min(most),
        };
        let after = match token {
            "" => None,
            token => Some(parse(token).ok_or_else(|| {
                Status::invalid_argument("page_token: expected next_page_token of an answer")
            })?),
        };
        Ok(Self { after, size })
    }

    /// The items of this page, from those that are in order of key, and the token of the next page. Items with one key
    /// stay together, also where that is more than the page should have.
    pub(super) fn cut<T>(self, items: impl IntoIterator<Item = (Key, T)>) -> (Vec<T>, String) {
        let mut rest = items
            .into_iter()
            .filter(|(key, _)| self.after.is_none_or(|after| *key > after))
            .peekable();
        let mut page = Vec::new();
        let mut last = None;
        while let Some((key, item)) =
            rest.next_if(|(key, _)| page.len() < self.size || last == Some(*key))
        {
            last = Some(key);
            page.push(item);
        }
        let token = last.filter(|_| rest.peek().is_some());
        (page, token.map_or_else(String::new, token_of))
    }

    /// As [`Self::cut`], from items in any order, of which only those of this page are sorted: a list of a hundred
    /// thousand ports has hundreds of pages.
    pub(super) fn pick<T>(self, items: impl IntoIterator<Item = (Key, T)>) -> (Vec<T>, String) {
        let rest = items.into_iter();
        let rest = rest.filter(|(key, _)| self.after.is_none_or(|after| *key > after));
        let mut rest: Vec<(Key, T)> = rest.collect();
        if rest.len() <= self.size {
            rest.sort_by_key(|(key, _)| *key);
            return self.cut(rest);
        }
        let at = self.size.saturating_sub(1);
        let (_, (last, _), _) = rest.select_nth_unstable_by_key(at, |(key, _)| *key);
        let (last, all) = (*last, rest.len());
        rest.retain(|(key, _)| *key <= last);
        rest.sort_by_key(|(key, _)| *key);
        let has_more = rest.len() < all;
        let page = rest.into_iter().map(|(_, item)| item).collect();
        let token = if has_more {
            token_of(last)
        } else {
            String::new()
        };
        (page, token)
    }
}

fn token_of((guid, port): Key) -> String {
    format!("{guid:016x}.{port:02x}")
}

fn parse(token: &str) -> Option<Key> {
    let (guid, port) = token.split_once('.')?;
    Some((
        u64::from_str_radix(guid, 16).ok()?,
        u8::from_str_radix(port, 16).ok()?,
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_over_changes() {
        let all: Vec<(Key, u64)> = (0..10).map(|n| ((n, 0), n)).collect();
        let first = Page::new(4, "", (100, 100)).unwrap();
        let (items, token) = first.cut(all.clone());
        assert_eq!(items, [0, 1, 2, 3]);
        let without_3: Vec<_> = all.iter().filter(|(_, n)| *n != 3).copied().collect();
        let second = Page::new(100, &token, (100, 100)).unwrap();
        assert_eq!(
            second.cut(without_3),
            (vec![4, 5, 6, 7, 8, 9], String::new())
        );
        let twins: Vec<_> = all.iter().flat_map(|one| [*one, *one]).collect();
        let (items, token) = Page::new(3, "", (100, 100)).unwrap().cut(twins.clone());
        assert_eq!(items, [0, 0, 1, 1]);
        let second = Page::new(1, &token, (100, 100)).unwrap();
        assert_eq!(second.cut(twins).0, [2, 2]);
        let exact = Page::new(10, "", (100, 100)).unwrap();
        assert_eq!(exact.cut(all).1, "");
        assert!(Page::new(1, "nonsense", (1, 1)).is_err());
        assert_eq!(Page::new(0, "", (7, 9)).unwrap().size, 7);
        assert_eq!(Page::new(50, "", (7, 9)).unwrap().size, 9);
    }

    #[test]
    fn pages_of_a_list_in_any_order_are_those_of_the_sorted_one() {
        // Keys in disorder, some of them twice.
        let all: Vec<(Key, u64)> = (0..50).map(|n| ((n * 37 % 41, 0), n * 37 % 41)).collect();
        let mut sorted = all.clone();
        sorted.sort();
        for size in [1, 3, 7, 49, 50, 51] {
            let mut token = String::new();
            loop {
                let page = Page::new(size, &token, (100, 100)).unwrap();
                let picked = page.pick(all.clone());
                assert_eq!(picked, page.cut(sorted.clone()), "{size} after {token:?}");
                token = picked.1;
                if token.is_empty() {
                    break;
                }
            }
        }
    }
}
