//! What the measurements share.

pub mod fabrics;
pub mod opensm;
pub mod routing;
pub mod table;
