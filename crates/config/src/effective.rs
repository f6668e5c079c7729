//! The effective configuration as a file again.

use crate::Config;
use crate::instance::Instance;
use crate::objects::DeviceGroups;
use crate::section::{Slot, Sub};
use crate::writer::XmlWriter;

impl Config {
    /// The configuration as opafm.xml: every value of every instance, defaults included.
    ///
    /// Reading it gives the same configuration again, and the vendor's `config_check` accepts it.
    /// Device groups that all instances have in common stand in `Common`, because the vendor
    /// demands it of groups that PM port groups name; everything else stands in each `Fm`.
    pub fn effective_xml(&self) -> String {
        self.write(XmlWriter::document())
    }

    /// [`Self::effective_xml`] with a comment in place of each key (`SmKey`, `MKey`), set or not: for
    /// readers without access to keys. A file with this text has no keys.
    pub fn effective_xml_without_keys(&self) -> String {
        self.write(XmlWriter::document_without_keys())
    }

    fn write(&self, mut out: XmlWriter) -> String {
        let common = self.common_groups();
        out.open("Config");
        out.open("Common");
        let groups = self
            .instances
            .first()
            .map_or(&[][..], |first| &first.device_groups.list[..common]);
        Sub.write(
            "DeviceGroups",
            &DeviceGroups {
                list: groups.to_vec(),
            },
            &mut out,
        );
        for section in ["Shared", "Sm", "Fe", "Pm"] {
            out.leaf(section, "");
        }
        out.close("Common");
        for instance in &self.instances {
            out.open("Fm");
            instance.write(common, &mut out);
            out.close("Fm");
        }
        out.close("Config");
        out.into_text()
    }

    /// Number of leading device groups that are equal in all instances.
    fn common_groups(&self) -> usize {
        let Some((first, others)) = self.instances.split_first() else {
            return 0;
        };
        let same = |other: &Instance| {
            let pairs = first
                .device_groups
                .list
                .iter()
                .zip(&other.device_groups.list);
            pairs.take_while(|(a, b)| a == b).count()
        };
        others
            .iter()
            .map(same)
            .min()
            .unwrap_or(first.device_groups.list.len())
    }
}

impl Instance {
    fn write(&self, common_groups: usize, out: &mut XmlWriter) {
        let groups = DeviceGroups {
            list: self.device_groups.list[common_groups..].to_vec(),
        };
        Sub.write("Applications", &self.applications, out);
        Sub.write("DeviceGroups", &groups, out);
        Sub.write("QOSGroups", &self.qos_groups, out);
        Sub.write("VirtualFabrics", &self.virtual_fabrics, out);
        Sub.write("PmPortGroups", &self.pm_port_groups, out);
        Sub.write("Shared", &self.shared, out);
        Sub.write("Sm", &self.sm, out);
        Sub.write("Fe", &self.fe, out);
        Sub.write("Pm", &self.pm, out);
    }
}
