//! Traps of devices.

use weft_fabric::Tick;
use weft_wire::Layout;
use weft_wire::header::{class, method, status};
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, Notice, Trap};
use weft_wire::smp::{Smp, SmpView, respond};

use super::Manager;
use crate::io::{Event, ReportedChange, SweepReason};

impl Manager {
    /// Processes a trap: it is answered and reported, and if it indicates a change of the fabric, a sweep
    /// follows.
    pub(super) fn trap(&mut self, now: Tick, packet: &Packet, view: &SmpView<'_>) {
        let notice = match Notice::decode(view.payload) {
            Ok(notice) if view.attribute() == AttributeId::NOTICE => notice,
            _ => {
                self.out.totals.unreadable += 1;
                return;
            }
        };
        self.out.totals.traps += 1;
        if !self.election.may_sweep() {
            return; // it is for the master
        }
        self.repress(packet, view);
        let trap = notice.trap();
        if self.leave_forged(packet, view, (&notice, trap.as_ref())) {
            return;
        }
        let id = view.header.transaction_id;
        let repeated = self.out.lately.has_come(now, &notice, id);
        self.out.pass_on(now, view.payload, repeated);
        let what = self.trap_in_words(trap.as_ref());
        let lid = notice.issuer_lid;
        let number = self.out.totals.traps;
        self.out.event(Event::Trap {
            number,
            lid,
            what: what.clone(),
        });
        let changed = matches!(
            trap,
            Some(
                Trap::PortChangeState(_)
                    | Trap::ChangeCapability(_)
                    | Trap::ChangeSysGuid(_)
                    | Trap::LinkWidth(_)
            )
        );
        // Of a directed route nothing says where it began: such a trap starts a sweep at most, which reads what is true.
        if !repeated
            && view.header.mgmt_class == class::SM_LID_ROUTED
            && !self.settings.sweeps.ignore_traps
            && let Some(trap) = &trap
        {
            self.link_errors_reported(now, trap);
        }
        // When it came first it was answered by a sweep of everything.
        if changed && !repeated && !self.settings.sweeps.ignore_traps {
            let reported = ReportedChange { number, lid, what };
            self.sweep.next.reported.add(reported);
            match trap {
                Some(Trap::PortChangeState(_)) if self.look_at_ports(now, lid) => return,
                Some(Trap::PortChangeState(_)) => self.links_reported(lid),
                _ => self.sweep.next.reports.ask_for_all(),
            }
            self.sweep
                .request(now, SweepReason::Trap, &self.settings.sweeps);
        }
    }

    /// Tells an agent that its trap has arrived.
    fn repress(&mut self, packet: &Packet, view: &SmpView<'_>) {
        let mut mad = Vec::new();
        let from = self.node_with(packet.slid);
        let smp = Smp {
            method: method::TRAP_REPRESS,
            attribute: AttributeId::NOTICE,
            modifier: view.header.attribute_modifier,
            transaction_id: view.header.transaction_id,
            m_key: from.map_or(self.settings.m_key, |node| self.m_key_of(node)),
        };
        match view.header.mgmt_class {
            class::SM_LID_ROUTED => smp.write_lid_routed(view.payload, &mut mad),
            _ => respond(view, status::OK, view.payload, &mut mad),
        }
        self.reply_to(packet, mad);
    }
}
