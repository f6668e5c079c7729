//! A structure of C with the places of its fields.

/// A structure as it is declared here.
#[derive(Debug)]
pub struct Structure {
    /// Its type in the header.
    pub c_type: &'static str,
    /// Bytes, trailing padding included.
    pub size: usize,
    /// Its fields, in order.
    pub fields: &'static [Field],
}

/// A field of a structure.
#[derive(Debug)]
pub struct Field {
    /// Its name, here and in the header.
    pub name: &'static str,
    /// Bytes from the start of the structure.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
}

/// A number with its name in the header.
#[derive(Debug)]
pub struct Constant {
    /// Its name in the header.
    pub name: &'static str,
    /// Its value.
    pub value: i64,
}

/// Declares a structure of C and the table of its fields.
macro_rules! c_struct {
    (
        $(#[$meta:meta])*
        $name:ident is $c_type:literal {
            $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $name {
            /// Positions of its fields.
            pub const LAYOUT: $crate::Structure = $crate::Structure {
                c_type: $c_type,
                size: size_of::<Self>(),
                fields: &[$($crate::Field {
                    name: stringify!($field),
                    offset: ::std::mem::offset_of!($name, $field),
                    size: size_of::<$type>(),
                },)*],
            };
        }
    };
}

/// Declares numbers of a header and the table of their names.
macro_rules! c_constants {
    ($($(#[$meta:meta])* $name:ident: $type:ty = $value:expr, $c_name:literal;)*) => {
        $($(#[$meta])* pub const $name: $type = $value;)*

        /// The numbers with their names in the header.
        pub const CONSTANTS: &[$crate::Constant] = &[$($crate::Constant {
            name: $c_name,
            value: $name as i64,
        },)*];
    };
}

pub(crate) use {c_constants, c_struct};
