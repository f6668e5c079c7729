//! Instances: the layers of a file, from `Common` to one `Fm`, put on top of each other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::context::Cx;
use crate::fe::Fe;
use crate::finding::Rule;
use crate::objects::{Applications, DeviceGroups, PmPortGroups, QosGroups, VirtualFabrics};
use crate::pm::Pm;
use crate::section::{Section, apply, refuse_text};
use crate::shared::Shared;
use crate::sm::Sm;
use crate::xml::Id;

/// One manager for one subnet: an `Fm` with everything that it takes from `Common`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// Identity and logging of the instance.
    pub shared: Shared,
    /// The subnet manager and subnet administration.
    pub sm: Sm,
    /// The fabric executive.
    pub fe: Fe,
    /// The performance manager.
    pub pm: Pm,
    /// Applications.
    pub applications: Applications,
    /// Device groups.
    pub device_groups: DeviceGroups,
    /// QOS groups.
    pub qos_groups: QosGroups,
    /// Virtual fabrics.
    pub virtual_fabrics: VirtualFabrics,
    /// PM port groups.
    pub pm_port_groups: PmPortGroups,
}

/// The sections of `Common` and `Fm`.
pub(crate) const SECTIONS: &[&str] = &[
    "Applications",
    "DeviceGroups",
    "QOSGroups",
    "VirtualFabrics",
    "PmPortGroups",
    "Shared",
    "Sm",
    "Fe",
    "Pm",
];

/// Elements allowed only in an `Fm`.
pub(crate) const OWN: &[&str] = &["Start", "Name", "Hfi", "Port", "PortGUID", "SubnetPrefix"];

/// Sections of `Sm` that replace those of `Common` as a whole.
pub(crate) const REPLACING: &[&str] = &["MeshTorusTopology", "DGShortestPathTopology"];

impl Instance {
    /// Whether the subnet manager of this instance runs.
    pub fn starts_sm(&self) -> bool {
        self.shared.start && self.sm.start
    }

    /// Whether the performance manager of this instance runs.
    pub fn starts_pm(&self) -> bool {
        self.shared.start && self.pm.start
    }

    /// Whether the fabric executive of this instance runs.
    pub fn starts_fe(&self) -> bool {
        self.shared.start && self.fe.start
    }

    /// Reads all `Common` of a file.
    pub(crate) fn layers(&mut self, commons: &[Id], cx: &mut Cx<'_>) {
        for &common in commons {
            self.layer(common, cx);
        }
    }

    /// Names an unnamed instance after its place in the file.
    pub(crate) fn name_unnamed(&mut self, at: usize) {
        if self.shared.name.is_empty() {
            self.shared.name = format!("fm{at}");
        }
    }

    /// Reads `Common` or an `Fm` and overrides earlier values.
    pub(crate) fn layer(&mut self, id: Id, cx: &mut Cx<'_>) {
        let document = cx.document;
        cx.layers.push(id);
        refuse_text(id, cx);
        cx.refuse_attributes(id);
        cx.require(id, &["Shared", "Sm", "Fe", "Pm"]);
        let mut sections: Vec<Id> = Vec::new();
        let mut seen = BTreeSet::new();
        for child in document.children(id) {
            let twin = !seen.insert(document.name(child));
            if !(twin && cx.is_second_section(child)) {
                sections.push(child);
            }
        }
        // Values of a component win over those of `Shared`, wherever that stands.
        for &shared in sections
            .iter()
            .filter(|&&section| document.name(section) == "Shared")
        {
            self.shared_layer(shared, cx);
        }
        for section in sections {
            self.section(section, cx);
        }
    }

    fn section(&mut self, id: Id, cx: &mut Cx<'_>) {
        match cx.document.name(id) {
            "Applications" => apply(&mut self.applications, id, cx),
            "DeviceGroups" => apply(&mut self.device_groups, id, cx),
            "QOSGroups" => apply(&mut self.qos_groups, id, cx),
            "VirtualFabrics" => apply(&mut self.virtual_fabrics, id, cx),
            "PmPortGroups" => apply(&mut self.pm_port_groups, id, cx),
            "Shared" => {}
            "Sm" => apply(&mut self.sm, id, cx),
            "Fe" => apply(&mut self.fe, id, cx),
            "Pm" => apply(&mut self.pm, id, cx),
            _ => cx.unknown(id, || SECTIONS.to_vec()),
        }
    }

    fn shared_layer(&mut self, id: Id, cx: &mut Cx<'_>) {
        if cx.in_common {
            let mut outer = SharedOfCommon(std::mem::take(&mut self.shared));
            apply(&mut outer, id, cx);
            self.shared = outer.0;
        } else {
            apply(&mut self.shared, id, cx);
        }
        let document = cx.document;
        for child in document.children(id) {
            let tag = document.name(child);
            self.sm.inherit(tag, child, cx);
            self.fe.inherit(tag, child, cx);
            self.pm.inherit(tag, child, cx);
        }
    }
}

/// `Shared` of `Common`: without elements that only an `Fm` can have.
#[derive(Default)]
struct SharedOfCommon(Shared);

impl Section for SharedOfCommon {
    fn set(&mut self, tag: &str, id: Id, cx: &mut Cx<'_>) -> Option<bool> {
        if tag == "Start" {
            cx.warn(id, Rule::NoEffect, "Start counts in an Fm only");
            return Some(false);
        }
        if OWN.contains(&tag) {
            None
        } else {
            self.0.set(tag, id, cx)
        }
    }

    fn inherit(&mut self, _: &str, _: Id, _: &mut Cx<'_>) {}

    fn write(&self, out: &mut crate::writer::XmlWriter) {
        self.0.write(out);
    }

    fn tags() -> Vec<&'static str> {
        Shared::tags()
            .into_iter()
            .filter(|tag| !OWN.contains(tag))
            .collect()
    }

    fn rows(path: &str, rows: &mut Vec<crate::section::Row>) {
        Shared::rows(path, rows);
    }
}
