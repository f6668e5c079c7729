//! Rules that concern several values of an instance, or several instances.

use crate::Config;
use crate::context::{Cx, Findings};
use crate::instance::Instance;
use crate::xml::{Document, Id};

pub(crate) fn check_common(_common: &Instance, _cx: &mut Cx<'_>) {}
pub(crate) fn check_instance(_instance: &Instance, _fm: Id, _cx: &mut Cx<'_>) {}
pub(crate) fn check_config(_config: &Config, _document: &Document<'_>, _findings: &mut Findings) {}
