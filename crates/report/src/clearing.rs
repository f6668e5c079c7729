//! What opareport prints after the reports where counters are set to zero (`-C`, `-a`).

use std::fmt;

use serde::Serialize;
use weft_wire::pm::Counter;

use crate::errors::counter_names;
use crate::focus::{Head, Options};
use crate::xml::{Xml, XmlWriter};

/// Counters that were set to zero.
#[derive(Debug, Clone, Serialize)]
pub struct ClearingReport {
    #[serde(flatten)]
    head: Head,
    /// Whether the other ends of links were left out.
    limited: bool,
    /// The counters, as opamon.conf names them.
    counters: Vec<&'static str>,
    /// None where there was nothing to do.
    #[serde(flatten)]
    cleared: Option<Cleared>,
}

/// At which ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cleared {
    /// Ports whose counters are zero now.
    pub cleared_ports: u32,
    /// Nodes with such ports.
    pub cleared_nodes: u32,
    /// Ports whose device did not do it.
    pub failed_ports: u32,
    /// Nodes with such ports.
    pub failed_nodes: u32,
}

/// Makes the report of what was done.
pub fn clearing(
    options: &Options,
    counters: &[Counter],
    limited: bool,
    cleared: Option<Cleared>,
) -> ClearingReport {
    ClearingReport {
        head: Head::new("Clearing Port Counters", options),
        limited,
        counters: counter_names(counters),
        cleared,
    }
}

const LIMITED: &str = "Clear limited, will not clear neighbor ports";
const SKIPPED: &str = "Clear skipped: no thresholds configured";

impl fmt::Display for ClearingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        if self.limited {
            writeln!(f, "{LIMITED}")?;
        }
        writeln!(f, "Configured Counters to Clear:")?;
        for name in &self.counters {
            writeln!(f, "    {name:<30}")?;
        }
        if self.counters.is_empty() {
            writeln!(f, "    None")?;
        }
        let Some(cleared) = &self.cleared else {
            return writeln!(f, "{SKIPPED}");
        };
        let Cleared {
            cleared_ports,
            cleared_nodes,
            failed_ports,
            failed_nodes,
        } = cleared;
        writeln!(f, "Cleared {cleared_ports} Ports on {cleared_nodes} Nodes")?;
        if *failed_ports > 0 {
            writeln!(
                f,
                "Unable to clear {failed_ports} Ports on {failed_nodes} Nodes"
            )?;
        }
        Ok(())
    }
}

impl Xml for ClearingReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("ClearCounters", |to| {
            self.head.write_xml(to);
            if self.limited {
                to.remark_at_margin(LIMITED);
            }
            to.within("ClearedCounters", |to| {
                self.counters.iter().for_each(|name| to.value(name, ""));
            });
            let Some(cleared) = &self.cleared else {
                to.line(format_args!("<!-- {SKIPPED} -->"));
                return;
            };
            to.value("ClearedPorts", cleared.cleared_ports);
            to.value("ClearedNodes", cleared.cleared_nodes);
            if cleared.failed_ports > 0 {
                to.value("NoRespPorts", cleared.failed_ports);
                to.value("NoRespNodes", cleared.failed_nodes);
            }
        });
    }
}
