//! Values that several places share: written at the first of them, and named by their number at the others.

use std::any::TypeId;
use std::sync::Arc;

use crate::{Reader, State, StateError, Writer};

/// In place of a number: the value follows, and gets the next one.
const NEW: u32 = u32::MAX;

/// Writes a shared value, or where it is.
fn write<T: ?Sized + 'static>(
    value: &Arc<T>,
    to: &mut Writer<'_>,
    whole: impl FnOnce(&mut Writer<'_>),
) {
    // Values in one another have one address, so that their types belong to it.
    let key = (Arc::as_ptr(value).cast::<()>().addr(), TypeId::of::<T>());
    if let Some(number) = to.shared.get(&key).copied() {
        return number.write(to);
    }
    NEW.write(to);
    whole(to);
    let number = to.shared.len() as u32;
    to.shared.insert(key, number);
    to.pass_on();
}

/// Reads a shared value; `whole` reads one that is there for the first time.
fn read<T: ?Sized + 'static>(
    from: &mut Reader<'_>,
    whole: impl FnOnce(&mut Reader<'_>) -> Result<Arc<T>, StateError>,
) -> Result<Arc<T>, StateError> {
    let number = u32::read(from)?;
    if number == NEW {
        // Its counts, and its place among the others.
        from.charge(size_of::<[usize; 8]>())?;
        let value = whole(from)?;
        from.shared.push(Box::new(Arc::clone(&value)));
        return Ok(value);
    }
    let known = from.shared.get(number as usize);
    let known = known.and_then(|known| known.downcast_ref::<Arc<T>>());
    known
        .cloned()
        .ok_or_else(|| from.wrong(format!("no shared value of its type has number {number}")))
}

impl<T: State + 'static> State for Arc<T> {
    fn write(&self, to: &mut Writer<'_>) {
        write(self, to, |to| T::write(self, to));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read(from, |from| {
            from.charge(size_of::<T>())?;
            Ok(Self::new(T::read(from)?))
        })
    }
}

impl<T: State + 'static> State for Arc<[T]> {
    fn write(&self, to: &mut Writer<'_>) {
        write(self, to, |to| {
            self.len().write(to);
            T::write_all(self, to);
        });
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read(from, |from| Ok(Vec::read(from)?.into()))
    }
}
