//! opafm.xml read, checked and written.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

mod documentation;
mod explain;
mod fabrics;
mod hostile;
mod link_rules;
mod reading;
mod releases;
mod vendor_config_check;
