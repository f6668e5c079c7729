//! One declaration of a structure on the wire generates everything derived from it.

use crate::error::DecodeError;

/// A value that lives in a bit range of a register.
pub trait Field: Copy {
    /// From the range's bits, right-aligned.
    fn from_bits(bits: u64) -> Self;
    /// To the range's bits, right-aligned.
    fn to_bits(self) -> u64;
}

/// A value that fills a whole number of bytes.
pub trait Block: Sized {
    /// Bytes on the wire.
    const LEN: usize;
    /// Number of equal elements.
    const COUNT: usize = 1;
    /// The fields of each element, when it is a structure.
    const PARTS: &'static [FieldLayout] = &[];
    /// Reads it from exactly [`Self::LEN`] bytes or more.
    fn load(bytes: &[u8]) -> Self;
    /// Writes it to the first [`Self::LEN`] bytes.
    fn store(&self, bytes: &mut [u8]);
}

/// Position of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldLayout {
    /// Our name.
    pub name: &'static str,
    /// The member's name in the vendor's header.
    pub vendor: &'static str,
    /// Bytes from the start of the structure.
    pub offset: usize,
    /// Bytes of the register or block.
    pub width: usize,
    /// First and last bit in the big-endian register, or none when it fills the register.
    pub bits: Option<(u32, u32)>,
    /// Equal elements, one after the other, that a block consists of; 1 for a register.
    pub count: usize,
    /// The fields of each element, when it is a structure of its own.
    pub parts: &'static [FieldLayout],
}

/// A structure with a fixed layout.
pub trait Layout: Sized {
    /// The structure's name here.
    const NAME: &'static str;
    /// The structure's name in the vendor's headers.
    const VENDOR: &'static str;
    /// Bytes on the wire.
    const LEN: usize;
    /// Its fields in order of offset.
    const FIELDS: &'static [FieldLayout];

    /// Reads the structure from the first [`Self::LEN`] bytes.
    ///
    /// # Errors
    /// [`DecodeError::Short`] when there are fewer.
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>;

    /// Writes the structure over the first [`Self::LEN`] bytes; reserved bits become zero. What
    /// does not fit in `bytes` is left out.
    fn encode(&self, bytes: &mut [u8]);

    /// The structure as bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; Self::LEN];
        self.encode(&mut bytes);
        bytes
    }
}

macro_rules! int_field {
    ($($int:ty),*) => {$(
        impl Field for $int {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self)
            }
        }
    )*};
}
int_field!(u8, u16, u32, u64);

impl Field for bool {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
}

macro_rules! int_block {
    ($($int:ty),*) => {$(
        impl Block for $int {
            const LEN: usize = std::mem::size_of::<$int>();
            #[inline(always)]
            fn load(bytes: &[u8]) -> Self {
                crate::bits::load(bytes, 0, std::mem::size_of::<$int>()) as Self
            }
            #[inline(always)]
            fn store(&self, bytes: &mut [u8]) {
                crate::bits::store(bytes, 0, std::mem::size_of::<$int>(), u64::from(*self));
            }
        }
    )*};
}
int_block!(u8, u16, u32, u64);

impl<T: Block, const N: usize> Block for [T; N] {
    const LEN: usize = N * T::LEN;
    const COUNT: usize = N * T::COUNT;
    const PARTS: &'static [FieldLayout] = T::PARTS;
    #[inline]
    fn load(bytes: &[u8]) -> Self {
        std::array::from_fn(|index| T::load(bytes.get(index * T::LEN..).unwrap_or_default()))
    }
    #[inline]
    fn store(&self, bytes: &mut [u8]) {
        for (item, to) in self.iter().zip(bytes.chunks_mut(T::LEN)) {
            item.store(to);
        }
    }
}

/// Declares a structure on the wire.
///
/// `name: Type = u32 @ 16 [19:16], "vendor.member"` is a [`Field`] in bits 19 to 16 of the
/// big-endian u32 at byte 16; without the brackets it fills the register.
/// `name: Type = block @ 16, "vendor.member"` is a [`Block`] at byte 16.
macro_rules! layout {
    (
        $(#[$meta:meta])*
        pub struct $name:ident : $len:literal, $vendor:literal {
            $( $(#[$fmeta:meta])* $field:ident : $ty:ty = $reg:ident @ $off:literal $([$msb:literal : $lsb:literal])?, $vfield:literal; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            $( $(#[$fmeta])* pub $field: $ty, )*
        }

        impl $crate::Layout for $name {
            const NAME: &'static str = stringify!($name);
            const VENDOR: &'static str = $vendor;
            const LEN: usize = $len;
            const FIELDS: &'static [$crate::FieldLayout] = &[
                $( $crate::FieldLayout {
                    name: stringify!($field),
                    vendor: $vfield,
                    offset: $off,
                    width: $crate::layout::layout!(@width $reg $ty),
                    bits: $crate::layout::layout!(@bits $([$msb : $lsb])?),
                    count: $crate::layout::layout!(@count $reg $ty),
                    parts: $crate::layout::layout!(@parts $reg $ty),
                }, )*
            ];

            #[inline]
            fn decode(bytes: &[u8]) -> Result<Self, $crate::DecodeError> {
                let bytes = $crate::DecodeError::take(stringify!($name), bytes, $len)?;
                Ok(Self {
                    $( $field: $crate::layout::layout!(@load bytes $reg $ty, $off $([$msb : $lsb])?), )*
                })
            }

            #[inline]
            fn encode(&self, bytes: &mut [u8]) {
                if let Some(bytes) = bytes.first_chunk_mut::<$len>() {
                    bytes.fill(0);
                    $( $crate::layout::layout!(@store bytes self.$field, $reg $ty, $off $([$msb : $lsb])?); )*
                } else {
                    let mut whole = [0; $len];
                    self.encode(&mut whole);
                    for (to, from) in bytes.iter_mut().zip(whole) {
                        *to = from;
                    }
                }
            }
        }

        impl $crate::Block for $name {
            const LEN: usize = $len;
            const PARTS: &'static [$crate::FieldLayout] = <Self as $crate::Layout>::FIELDS;
            #[inline]
            fn load(bytes: &[u8]) -> Self {
                Self {
                    $( $field: $crate::layout::layout!(@load bytes $reg $ty, $off $([$msb : $lsb])?), )*
                }
            }
            #[inline]
            fn store(&self, bytes: &mut [u8]) {
                $crate::Layout::encode(self, bytes);
            }
        }

        impl ::weft_state::State for $name {
            fn write(&self, to: &mut ::weft_state::Writer<'_>) {
                $( $crate::layout::layout!(@keep to self.$field, $field); )*
            }

            fn read(from: &mut ::weft_state::Reader<'_>) -> Result<Self, ::weft_state::StateError> {
                Ok(Self {
                    $( $field: <$ty as ::weft_state::State>::read(from)?, )*
                })
            }
        }

        impl Default for $name {
            /// All bits zero.
            fn default() -> Self {
                <Self as $crate::Block>::load(&[0; $len])
            }
        }

        impl std::fmt::Display for $name {
            /// The name, then a field a line.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                writeln!(f, stringify!($name))?;
                $( $crate::print::Print::print(&self.$field, f, 2, stringify!($field))?; )*
                Ok(())
            }
        }

        impl $crate::print::Print for $name {
            /// `name:`, then a field a line, further to the right.
            fn print(&self, f: &mut std::fmt::Formatter<'_>, indent: usize, name: &str) -> std::fmt::Result {
                writeln!(f, "{:indent$}{name}:", "")?;
                $( $crate::print::Print::print(&self.$field, f, indent + 2, stringify!($field))?; )*
                Ok(())
            }
        }
    };
    (@keep $to:ident $value:expr, m_key) => { $to.key($value) };
    (@keep $to:ident $value:expr, sm_key) => { $to.key($value) };
    (@keep $to:ident $value:expr, service_key) => { $to.wide_key($value) };
    (@keep $to:ident $value:expr, $field:ident) => { ::weft_state::State::write(&$value, $to) };
    (@width block $ty:ty) => { <$ty as $crate::Block>::LEN };
    (@width $reg:ident $ty:ty) => { std::mem::size_of::<$reg>() };
    (@count block $ty:ty) => { <$ty as $crate::Block>::COUNT };
    (@count $reg:ident $ty:ty) => { 1 };
    (@parts block $ty:ty) => { <$ty as $crate::Block>::PARTS };
    (@parts $reg:ident $ty:ty) => { &[] };
    (@bits) => { None };
    (@bits [$msb:literal : $lsb:literal]) => { Some(($msb, $lsb)) };
    (@load $bytes:ident block $ty:ty, $off:literal) => {
        <$ty as $crate::Block>::load($bytes.get($off..).unwrap_or_default())
    };
    (@load $bytes:ident $reg:ident $ty:ty, $off:literal) => {
        <$ty as $crate::Field>::from_bits($crate::bits::load($bytes, $off, std::mem::size_of::<$reg>()))
    };
    (@load $bytes:ident $reg:ident $ty:ty, $off:literal [$msb:literal : $lsb:literal]) => {
        <$ty as $crate::Field>::from_bits($crate::bits::load_bits($bytes, $off, std::mem::size_of::<$reg>(), $msb, $lsb))
    };
    (@store $bytes:ident $value:expr, block $ty:ty, $off:literal) => {
        <$ty as $crate::Block>::store(&$value, $bytes.get_mut($off..).unwrap_or_default())
    };
    (@store $bytes:ident $value:expr, $reg:ident $ty:ty, $off:literal) => {
        $crate::bits::store($bytes, $off, std::mem::size_of::<$reg>(), <$ty as $crate::Field>::to_bits($value))
    };
    (@store $bytes:ident $value:expr, $reg:ident $ty:ty, $off:literal [$msb:literal : $lsb:literal]) => {
        $crate::bits::store_bits($bytes, $off, std::mem::size_of::<$reg>(), $msb, $lsb, <$ty as $crate::Field>::to_bits($value))
    };
}
pub(crate) use layout;

/// Gives a structure of one register its value as a number.
macro_rules! register {
    ($name:ident, $int:ty) => {
        impl $name {
            /// From the register's value; bits without a meaning are dropped.
            #[inline]
            pub fn from_bits(bits: $int) -> Self {
                <Self as $crate::Block>::load(&bits.to_be_bytes())
            }

            /// The register's value.
            #[inline]
            pub fn bits(&self) -> $int {
                let mut bytes = [0; std::mem::size_of::<$int>()];
                $crate::Block::store(self, &mut bytes);
                <$int>::from_be_bytes(bytes)
            }
        }
    };
}
pub(crate) use register;
