//! Lists, maps, sets: their number, then one after the other.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use crate::{Reader, State, StateError, Writer};

/// Writes the number of values, then each by `write`.
fn write_each<V>(
    values: impl ExactSizeIterator<Item = V>,
    to: &mut Writer<'_>,
    write: impl Fn(V, &mut Writer<'_>),
) {
    values.len().write(to);
    for value in values {
        write(value, to);
        to.pass_on();
    }
}

impl<T: State> State for Vec<T> {
    fn write(&self, to: &mut Writer<'_>) {
        self.len().write(to);
        T::write_all(self, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let len = from.len()?;
        T::read_all(from, len)
    }
}

impl<T: State> State for Box<[T]> {
    fn write(&self, to: &mut Writer<'_>) {
        self.len().write(to);
        T::write_all(self, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Vec::read(from)?.into())
    }
}

impl<T: State> State for VecDeque<T> {
    fn write(&self, to: &mut Writer<'_>) {
        write_each(self.iter(), to, T::write);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Vec::read(from)?.into())
    }
}

/// Its order within does not show: equal values are the same in all that the state has.
impl<T: State + Ord> State for BinaryHeap<T> {
    fn write(&self, to: &mut Writer<'_>) {
        write_each(self.iter(), to, T::write);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Vec::read(from)?.into())
    }
}

impl<T: State + Ord> State for BTreeSet<T> {
    fn write(&self, to: &mut Writer<'_>) {
        write_each(self.iter(), to, T::write);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Vec::read(from)?.into_iter().collect())
    }
}

impl<K: State + Ord, V: State> State for BTreeMap<K, V> {
    fn write(&self, to: &mut Writer<'_>) {
        write_each(self.iter(), to, |(key, value), to| {
            key.write(to);
            value.write(to);
        });
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Vec::<(K, V)>::read(from)?.into_iter().collect())
    }
}
