//! `<PortStatus>`, what a port has counted, and `<CableInfo>`, the memory of its cable.

use std::io::{self, Write};

use weft_wire::id::{Guid, PortNum};
use weft_wire::pm::Counter;

use super::Writer;
use crate::counts::element_name;
use crate::topology::PortRef;

impl<W: Write> Writer<'_, W> {
    /// Nothing for a port whose counters are not known.
    pub(super) fn port_status(&mut self, at: PortRef) -> io::Result<()> {
        let counts = self.snapshot.counts.as_ref();
        let Some(counts) = counts.and_then(|counts| counts.get(&at)) else {
            return Ok(());
        };
        writeln!(self.out, "<PortStatus>")?;
        for (counter, value) in Counter::ALL.into_iter().zip(counts.counters) {
            self.field(element_name(counter), value)?;
        }
        if let Some(quality) = counts.quality {
            self.field("LinkQualityIndicator", quality)?;
        }
        writeln!(self.out, "</PortStatus>")
    }

    /// Nothing for a port whose cable has not been read.
    pub(super) fn cable_info(&mut self, node: Guid, port: PortNum) -> io::Result<()> {
        let Some(memory) = self.snapshot.cables.get(node, port) else {
            return Ok(());
        };
        writeln!(self.out, "<CableInfo>")?;
        for (segment, bytes) in memory.chunks_exact(8).enumerate() {
            write!(self.out, "<Value Seg=\"{segment:#x}\">0x")?;
            for byte in bytes {
                write!(self.out, "{byte:02x}")?;
            }
            writeln!(self.out, "</Value>")?;
        }
        writeln!(self.out, "</CableInfo>")
    }
}
