//! PM port groups: ports whose counters are added up.

use super::{define, require_name};
use crate::context::Cx;
use crate::finding::Rule;
use crate::section::{Also, Many, One, Subs, section};
use crate::syntax::{Kind, Text, flag, reference};
use crate::xml::Id;

/// The most enabled groups.
pub(super) const MAX_GROUPS: usize = 8;

section! {
    /// `PmPortGroups`: those of `Fm` add to those of `Common`.
    pub struct PmPortGroups {
        /// The groups, in the order of the file; `All`, `HFIs` and `SWs` exist besides.
        list: Vec<PmPortGroup> = Vec::new(), "PmPortGroup" => Subs(1024);
    }
    finish check_count;
}

section! {
    /// `PmPortGroup`: ports whose counters are added up.
    pub struct PmPortGroup {
        /// Its name, unique among enabled groups.
        name: String = String::new(), "Name" => One(Text::of(64));
        /// Whether it is used.
        enable: bool = false, "Enable" => One(flag()), "Enabled" => Also(flag());
        /// The device groups whose ports it contains; each must be defined in `Common`.
        monitors: Vec<String> = Vec::new(), "Monitor" => Many(reference(Kind::DeviceGroup), 5);
    }
    finish check;
}

fn check(group: &mut PmPortGroup, id: Id, cx: &mut Cx<'_>) {
    require_name(Kind::PmPortGroup, id, cx);
    define(Kind::PmPortGroup, &group.name, group.enable, id, cx);
    if group.enable && ["All", "HFIs", "SWs"].contains(&group.name.as_str()) {
        cx.error(
            id,
            Rule::Name,
            format!("`{}` is the name of a group that always exists", group.name),
        );
    }
    for name in &group.monitors {
        if cx.is_in_fm(Kind::DeviceGroup, name) {
            cx.error(
                id,
                Rule::Undefined,
                format!("Monitor `{name}` is defined in this Fm; it must be defined in Common"),
            );
        }
    }
}

fn check_count(groups: &mut PmPortGroups, id: Id, cx: &mut Cx<'_>) {
    if groups.list.iter().filter(|group| group.enable).count() > MAX_GROUPS {
        cx.error(
            id,
            Rule::Count,
            format!("more than {MAX_GROUPS} enabled PmPortGroup"),
        );
    }
}
