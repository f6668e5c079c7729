//! `validatepgs` as text and XML.

use std::fmt;

use weft_fabric::enums::NodeType;

use super::{Line, PgFinding, PgHop, PgReport, PgSwitch};
use crate::focus::Detail;
use crate::tables::NO_ROUTES;
use crate::xml::{Xml, XmlWriter};

impl PgSwitch {
    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        writeln!(f, "{} SW {}", self.guid, self.name)?;
        if let Some(why) = self.without {
            return writeln!(f, "    {why}");
        }
        for mask in &self.duplicates {
            writeln!(f, "Duplicate port groups with value {mask:#018x}.")?;
        }
        if !self.duplicates.is_empty() {
            writeln!(f, "Port Groups:")?;
            for (number, mask) in self.groups.iter().enumerate() {
                writeln!(f, "    PG {number:>3} : {mask:#018x}")?;
            }
        }
        let full = detail > Detail::USUAL;
        if full {
            writeln!(
                f,
                "Route List:\n    Guid               - Lid        - Hops - Alts"
            )?;
        }
        for line in &self.lines {
            match line {
                Line::Finding(number) => {
                    let Some(finding) = self.findings.get(*number) else {
                        continue;
                    };
                    writeln!(f, "{}", finding.what)?;
                    for PgHop { hop, guid, lid } in &finding.hops {
                        writeln!(f, "    Hop {hop}: {guid}, (LID {lid:#x})")?;
                    }
                }
                Line::Route {
                    guid,
                    dlid,
                    hops,
                    alternatives,
                } if full => {
                    writeln!(
                        f,
                        "    {guid} - {dlid:#010x} -  {hops:>2}  -  {alternatives:>2}"
                    )?;
                }
                Line::Route { .. } => {}
            }
        }
        Ok(())
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        to.node((self.guid, NodeType::SWITCH, &self.name), |to| {
            for mask in &self.duplicates {
                to.value("DuplicatePortGroup", format_args!("{mask:#018x}"));
            }
            let full = detail > Detail::USUAL && self.without.is_none();
            if full {
                to.line(format_args!("<AdaptiveRoutes>"));
            }
            for line in &self.lines {
                match line {
                    Line::Finding(number) => {
                        if let Some(finding) = self.findings.get(*number) {
                            finding.xml(to);
                        }
                    }
                    Line::Route {
                        guid,
                        dlid,
                        hops,
                        alternatives,
                    } if full => {
                        to.within("Route", |to| {
                            to.value("DLID", format_args!("{dlid:#x}"));
                            to.value("PortGUID", guid);
                            to.value("HopCount", format_args!("{:#x}", hops + 1));
                            to.value("Alternates", alternatives);
                        });
                    }
                    Line::Route { .. } => {}
                }
            }
            if full {
                to.line(format_args!("</AdaptiveRoutes>"));
            }
        });
    }
}

impl Xml for PgFinding {
    fn xml(&self, to: &mut XmlWriter) {
        to.within_as("ARError", format_args!("Value=\"{}\"", self.kind), |to| {
            to.value("DLID", self.dlid);
            to.text("Description", &self.what);
            for PgHop { hop, guid, .. } in &self.hops {
                to.within_as("Hop", format_args!("Value=\"{hop}\""), |to| {
                    to.value("NodeGUID", guid);
                });
            }
        });
    }
}

impl Xml for PgReport {
    fn xml(&self, to: &mut XmlWriter) {
        if !self.with_routes {
            return to.line(format_args!("<!-- {NO_ROUTES} -->"));
        }
        to.within("ValidatePortGroups", |to| {
            to.value("FabricLIDCount", self.lids);
            to.value("ConnectedHFICount", self.hfis);
            to.value("ConnectedSwitchCount", self.switches.len());
            self.switches
                .iter()
                .for_each(|switch| switch.write_xml(to, self.detail));
            to.value("RoutesTested", self.tested);
        });
    }

    fn is_good(&self) -> bool {
        let good = |switch: &PgSwitch| switch.findings.is_empty() && switch.duplicates.is_empty();
        self.switches.iter().all(good)
    }
}

impl fmt::Display for PgReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.with_routes {
            return writeln!(f, "{NO_ROUTES}");
        }
        let colon = if self.detail.lists() { ":" } else { "" };
        writeln!(
            f,
            "Validate Port Groups\n{} LID(s) in Fabric{colon}",
            self.lids
        )?;
        writeln!(f, "{} Connected HFIs in Fabric{colon}", self.hfis)?;
        writeln!(
            f,
            "{} Connected Switch(es) in Fabric{colon}",
            self.switches.len()
        )?;
        if !self.switches.is_empty() {
            writeln!(f, "NodeGUID         Type Name")?;
        }
        self.switches
            .iter()
            .try_for_each(|switch| switch.write(f, self.detail))?;
        writeln!(f, "Alternate Routes Tested: {}", self.tested)
    }
}
