//! State as bytes, and back.
#![allow(clippy::unwrap_used)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use weft_state::{Masks, PIECE, Reader, State, StateError, Unmasked, Writer, read};

#[derive(Debug, Clone, PartialEq, State)]
enum Kind {
    Nothing,
    Pair(u8, Option<String>),
    Named {
        list: Vec<u16>,
        heap: BTreeSet<(u32, bool)>,
    },
}

#[derive(Debug, Clone, Default, PartialEq, State)]
struct All<T> {
    kinds: Vec<Kind>,
    rows: Vec<Arc<[u8]>>,
    map: BTreeMap<u64, Arc<T>>,
    queue: VecDeque<i32>,
    time: Duration,
    text: Box<str_of::Text>,
    #[state(key)]
    key: u64,
    #[state(key)]
    other: Option<u64>,
    #[state(datagram)]
    mad: Vec<u8>,
    #[state(skip)]
    scratch: Vec<u8>,
}

mod str_of {
    #[derive(Debug, Clone, Default, PartialEq, super::State)]
    pub(super) struct Text(pub(super) String, pub(super) char, pub(super) [f64; 2]);
}

fn written<T: State>(value: &T) -> Vec<u8> {
    let mut masks = Unmasked;
    let mut to = Writer::new(&mut masks);
    value.write(&mut to);
    to.into_bytes()
}

fn example() -> All<Kind> {
    let row: Arc<[u8]> = Arc::from([1, 2, 3]);
    let shared = Arc::new(Kind::Pair(7, Some("seven".to_owned())));
    All {
        kinds: vec![
            Kind::Nothing,
            Kind::Named {
                list: vec![1, 500],
                heap: BTreeSet::from([(1, true), (0, false)]),
            },
        ],
        rows: vec![Arc::clone(&row), Arc::from([1, 2, 3]), row],
        map: BTreeMap::from([(1, Arc::clone(&shared)), (u64::MAX, shared)]),
        queue: VecDeque::from([-1, 1]),
        time: Duration::new(3, 4),
        text: Box::new(str_of::Text("x".to_owned(), 'ö', [0.5, f64::MAX])),
        key: 5,
        other: Some(6),
        mad: vec![9, 9],
        scratch: Vec::new(),
    }
}

#[test]
fn what_is_read_is_what_was_written_and_shared_alike() {
    let all = example();
    let again: All<Kind> = read(&written(&all)).unwrap();
    assert_eq!(again, all);
    let is_shared = |a: usize, b: usize| Arc::ptr_eq(&again.rows[a], &again.rows[b]);
    assert!(is_shared(0, 2) && !is_shared(0, 1));
    assert!(Arc::ptr_eq(&again.map[&1], &again.map[&u64::MAX]));
    assert_eq!(written(&again), written(&all));
}

#[test]
fn pieces_are_the_whole() {
    let long: Vec<Vec<u8>> = (0..200_u8).map(|byte| vec![byte; 100_000]).collect();
    in_pieces(&BTreeSet::from_iter(long.clone()));
    in_pieces(&BTreeMap::from_iter(long.iter().cloned().zip(0_u8..)));
    in_pieces(&BinaryHeap::from(long.clone()));
    in_pieces(&VecDeque::from(long.clone()));
    in_pieces(&long);
}

fn in_pieces(long: &impl State) {
    let (mut masks, mut pieces) = (Unmasked, Vec::new());
    let mut take = |piece: Vec<u8>| pieces.push(piece);
    let mut to = Writer::in_pieces(&mut masks, &mut take);
    long.write(&mut to);
    let last = to.into_bytes();
    pieces.push(last);
    assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.len() < PIECE + (1 << 20)));
    assert!(pieces.concat() == written(long));
}

#[test]
fn what_is_skipped_is_not_there_again() {
    let scratched = All {
        scratch: vec![1],
        ..example()
    };
    assert_eq!(read::<All<Kind>>(&written(&scratched)).unwrap(), example());
}

#[test]
fn a_heap_gives_the_same_order() {
    let mut heap: BinaryHeap<_> = [5_u32, 1, 4, 1].map(Reverse).into();
    let mut again: BinaryHeap<Reverse<u32>> = read(&written(&heap)).unwrap();
    while let Some(least) = heap.pop() {
        assert_eq!(again.pop(), Some(least));
    }
    assert!(again.is_empty());
}

/// Adds one to each key, and has the first byte of a datagram zero.
#[derive(Debug)]
struct One;

impl Masks for One {
    fn key(&mut self, key: u64) -> u64 {
        key + 1
    }

    fn datagram(&mut self, mad: &mut [u8]) {
        mad[0] = 0;
    }
}

#[test]
fn keys_are_masked() {
    let mut masks = One;
    let mut to = Writer::new(&mut masks);
    example().write(&mut to);
    let again: All<Kind> = read(&to.into_bytes()).unwrap();
    assert_eq!(
        (again.key, again.other, again.mad),
        (6, Some(7), vec![0, 9])
    );
}

#[test]
fn cut_and_changed_bytes_are_refused_or_read_within_bounds() {
    let bytes = written(&example());
    for len in 0..bytes.len() {
        let cut = read::<All<Kind>>(&bytes[..len]).unwrap_err();
        assert!(!matches!(cut, StateError::Rest(_)), "{len}: {cut}");
    }
    for place in 0..bytes.len() {
        for value in [0, 1, 2, 0x7F, 0xFF] {
            let mut changed = bytes.clone();
            changed[place] = value;
            // Which of them are values again does not matter, that none panics does.
            let _ = read::<All<Kind>>(&changed);
        }
    }
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(read::<All<Kind>>(&longer), Err(StateError::Rest(1)));
}

/// A value of one byte, for which memory of 64 KiB is taken.
#[derive(Debug)]
struct Wide([u64; 8192]);

impl State for Wide {
    fn write(&self, to: &mut Writer<'_>) {
        (self.0[0] as u8).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self([u8::read(from)?.into(); 8192]))
    }
}

#[test]
fn a_list_takes_no_more_memory_than_it_may() {
    let list = written(&vec![0_u8; 10_000]);
    let refused = read::<Vec<Wide>>(&list).unwrap_err();
    assert!(matches!(refused, StateError::Memory { .. }), "{refused}");
    // However long it is.
    let most = weft_state::memory_max(1 << 30);
    assert_eq!(weft_state::memory_max(usize::MAX), most);
    assert!(weft_state::memory_max(1 << 20) < most);
    let few = written(&vec![1_u8; 100]);
    let refused = weft_state::read_within::<Vec<Wide>>(&few, 99 << 16).unwrap_err();
    assert!(matches!(refused, StateError::Memory { .. }), "{refused}");
    assert_eq!(read::<Vec<Wide>>(&few).unwrap()[99].0[8191], 1);
    let endless = written(&u64::MAX);
    let refused = read::<Vec<u8>>(&endless).unwrap_err();
    assert!(matches!(refused, StateError::Cut(_)), "{refused}");
}
