//! Dispersion as XML; the vendor's tools have no such report.

use weft_fabric::Lid;

use super::fabric::{DispersionReport, DispersionRow};
use super::measure::Spread;
use super::pair::{PairDispersion, PairDispersionReport};
use crate::xml::{Xml, XmlWriter};

fn write_rows(to: &mut XmlWriter, tag: &str, rows: &[DispersionRow]) {
    for row in rows {
        to.within(tag, |to| {
            to.value("LIDs", row.lids);
            to.value("Possible", row.possible);
            to.value("Reached", row.reached);
            to.value("Pairs", row.pairs);
        });
    }
}

fn write_spread(to: &mut XmlWriter, spread: &Spread) {
    let (reached, possible) = (&spread.reached, &spread.possible);
    to.value("LinksReached", reached.links);
    to.value("LinksPossible", possible.links);
    to.value("SwitchesReached", reached.switches);
    to.value("SwitchesPossible", possible.switches);
}

impl Xml for DispersionReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("DispersionSummary", |to| {
            to.value("Hosts", self.hosts);
            to.value("Switches", self.switches);
            to.value("Pairs", self.pairs);
            to.value("ComparedPairs", self.compared);
            to.value("IncompletePairs", self.incomplete);
            write_rows(to, "LinksDisjoint", &self.links_disjoint);
            write_rows(to, "SwitchesDisjoint", &self.switches_disjoint);
            for pair in &self.uneven {
                to.within("Uneven", |to| {
                    to.text("From", &pair.from);
                    pair.to.xml(to);
                    write_spread(to, &pair.spread);
                });
            }
        });
    }
}

impl Xml for PairDispersion {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("PortDispersion", |to| {
            self.from.xml(to);
            self.to.xml(to);
            write_spread(to, &self.spread);
            for path in &self.paths {
                to.within_as("Route", format_args!("LID=\"{}\"", Lid(path.lid)), |to| {
                    to.value("Complete", u8::from(path.complete));
                    path.hops.iter().for_each(|hop| hop.xml(to));
                });
            }
        });
    }
}

impl Xml for PairDispersionReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("DispersionSummary", |to| {
            self.pairs.iter().for_each(|pair| pair.xml(to));
        });
    }
}
