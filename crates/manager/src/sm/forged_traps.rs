//! Traps in the name of others.
//!
//! A trap says which node it comes from and, if it is about a link, whose; root on any host can send one. The LID that it
//! came from is that of the real sender, as switches check it (`<SmaSpoofingCheck>`). What a node says of another one is
//! answered, so that it is not repeated, and then left: it starts no sweep, disables no port, and no subscriber gets it.
//! The vendor's manager believes the LID inside the trap (`sa_Trap.c`, `IssuerLID`).

use weft_fabric::Lid;
use weft_wire::header::class;
use weft_wire::packet::Packet;
use weft_wire::sm::{Notice, Trap};
use weft_wire::smp::SmpView;

use super::Manager;
use super::trap_storms::link_of;

impl Manager {
    /// Counts and reports a trap that its sender may not send, and says whether it is one.
    pub(super) fn leave_forged(
        &mut self,
        packet: &Packet,
        view: &SmpView<'_>,
        (notice, trap): (&Notice, Option<&Trap>),
    ) -> bool {
        let of_link = trap.and_then(link_of).map(|of| of.lid);
        let named = [Some(notice.issuer_lid), of_link];
        let forged = view.header.mgmt_class == class::SM_LID_ROUTED
            && named
                .into_iter()
                .flatten()
                .any(|lid| !self.speaks_for(packet.slid, lid));
        if forged {
            self.out.totals.traps_left += 1;
            self.tell_forger(packet.slid);
        }
        forged
    }

    /// Whether the sender at one LID and the node with another are the same.
    fn speaks_for(&self, sender: Lid, lid: Lid) -> bool {
        let same = |node| self.node_with(lid) == Some(node);
        sender == lid || self.node_with(sender).is_some_and(same)
    }

    /// Reports who sends such traps and where, once in a sweep.
    fn tell_forger(&mut self, sender: Lid) {
        let Some(node) = self.node_with(sender) else {
            let what = "traps in the name of other nodes came from a LID that no node has: ignored";
            self.out.fault_of_nobody(what);
            return;
        };
        let place = self.port_before(node).map_or(String::new(), |at| {
            let end = self.devices.link_end(at);
            format!(" (behind port {} of {})", end.port, end.name)
        });
        let what = format!("sends traps in the name of other nodes{place}: they are ignored");
        self.out.fault_once(&mut self.devices[node], &what);
    }
}
