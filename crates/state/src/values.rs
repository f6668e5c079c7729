//! Numbers, text, tuples, what is there or not.

use std::cmp::Reverse;
use std::ops::Range;
use std::time::Duration;

use crate::{Reader, State, StateError, Writer};

/// Numbers, the lowest byte first.
macro_rules! numbers {
    ($($int:ty),*) => {$(
        impl State for $int {
            #[inline]
            fn write(&self, to: &mut Writer<'_>) {
                to.bytes.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                let bytes = from.take(size_of::<Self>())?;
                Ok(Self::from_le_bytes(bytes.try_into().unwrap_or_default()))
            }
        }
    )*};
}
numbers!(u16, u32, u64, u128, i32, i64, f64);

impl State for u8 {
    #[inline]
    fn write(&self, to: &mut Writer<'_>) {
        to.bytes.push(*self);
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(from.take(1)?.first().copied().unwrap_or_default())
    }

    fn write_all(all: &[Self], to: &mut Writer<'_>) {
        to.bytes.extend_from_slice(all);
    }

    fn read_all(from: &mut Reader<'_>, len: usize) -> Result<Vec<Self>, StateError> {
        from.room_for::<Self>(len)?;
        Ok(from.take(len)?.to_vec())
    }
}

impl State for usize {
    #[inline]
    fn write(&self, to: &mut Writer<'_>) {
        (*self as u64).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let number = u64::read(from)?;
        Self::try_from(number).map_err(|_| from.wrong(format!("number {number}")))
    }
}

impl State for bool {
    #[inline]
    fn write(&self, to: &mut Writer<'_>) {
        u8::from(*self).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(from.unknown(other)),
        }
    }
}

impl State for char {
    fn write(&self, to: &mut Writer<'_>) {
        u32::from(*self).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let number = u32::read(from)?;
        Self::try_from(number).map_err(|_| from.wrong(format!("no character has number {number}")))
    }
}

impl State for String {
    fn write(&self, to: &mut Writer<'_>) {
        self.len().write(to);
        u8::write_all(self.as_bytes(), to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let bytes = Vec::<u8>::read(from)?;
        Self::from_utf8(bytes).map_err(|_| from.wrong("text that is no UTF-8"))
    }
}

impl State for Duration {
    fn write(&self, to: &mut Writer<'_>) {
        (self.as_secs(), self.subsec_nanos()).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (seconds, nanos) = <(u64, u32)>::read(from)?;
        match nanos < 1_000_000_000 {
            true => Ok(Self::new(seconds, nanos)),
            false => Err(from.wrong(format!("{nanos} nanoseconds of a second"))),
        }
    }
}

impl<T: State> State for Option<T> {
    #[inline]
    fn write(&self, to: &mut Writer<'_>) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(match bool::read(from)? {
            true => Some(T::read(from)?),
            false => None,
        })
    }
}

impl<T: State> State for Box<T> {
    fn write(&self, to: &mut Writer<'_>) {
        T::write(self, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        from.charge(size_of::<T>())?;
        Ok(Self::new(T::read(from)?))
    }
}

impl<T: State> State for Reverse<T> {
    fn write(&self, to: &mut Writer<'_>) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self(T::read(from)?))
    }
}

impl<T: State> State for Range<T> {
    fn write(&self, to: &mut Writer<'_>) {
        self.start.write(to);
        self.end.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(T::read(from)?..T::read(from)?)
    }
}

impl<T: State, const N: usize> State for [T; N] {
    fn write(&self, to: &mut Writer<'_>) {
        T::write_all(self, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let all = T::read_all(from, N)?;
        all.try_into()
            .map_err(|_| from.wrong("a list of another length"))
    }
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),*))*) => {$(
        impl<$($name: State),*> State for ($($name,)*) {
            #[inline]
            fn write(&self, to: &mut Writer<'_>) {
                $( self.$place.write(to); )*
            }

            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                Ok(($( $name::read(from)?, )*))
            }
        }
    )*};
}
tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

/// A key that protects a fabric, where there is one.
pub trait Key: State {
    /// Writes it masked.
    fn write_masked(&self, to: &mut Writer<'_>);
}

impl Key for u64 {
    fn write_masked(&self, to: &mut Writer<'_>) {
        to.key(*self);
    }
}

impl Key for Option<u64> {
    fn write_masked(&self, to: &mut Writer<'_>) {
        self.is_some().write(to);
        if let Some(key) = self {
            to.key(*key);
        }
    }
}
