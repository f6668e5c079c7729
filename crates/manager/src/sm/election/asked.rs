//! What other managers ask or tell this one: Get and Set of SMInfo.

use weft_fabric::{PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::SmState;
use weft_wire::header::{method, status};
use weft_wire::packet::Packet;
use weft_wire::sm::{SmInfo, SmInfoControl};
use weft_wire::smp::{SmpView, respond};

use super::super::{Manager, Tag};
use super::{PEERS_MAX, QUICK, Rank};
use crate::io::SweepReason;

impl Manager {
    /// Answers a question about the manager itself, or does what another manager says.
    pub(in super::super) fn sm_info_asked(
        &mut self,
        now: Tick,
        packet: &Packet,
        view: &SmpView<'_>,
    ) {
        let said = SmInfo::decode(view.payload).ok();
        match (view.header.method, said) {
            (method::GET, said) => {
                self.answer_sm_info(packet, view, status::OK, said.as_ref());
                said.into_iter().for_each(|said| self.heard_of(now, &said));
            }
            (_, Some(said)) => self.told(now, packet, view, &said),
            (_, None) => self.answer_sm_info(packet, view, status::INVALID_ATTRIB, None),
        }
    }

    /// Who knows the key of this manager, or the one that protects ports, is told its key.
    fn answer_sm_info(
        &mut self,
        packet: &Packet,
        view: &SmpView<'_>,
        code: u16,
        said: Option<&SmInfo>,
    ) {
        let (sm_key, m_key) = (self.settings.election.sm_key, self.settings.m_key);
        let knows_sm_key = said.is_some_and(|said| said.sm_key == sm_key);
        let knows = knows_sm_key || (m_key != 0 && view.m_key == m_key);
        let mut mad = Vec::new();
        respond(view, code, &self.own_sm_info(knows).to_bytes(), &mut mad);
        self.reply_to(packet, mad);
    }

    /// Another manager asks and says who it is: a master looks into what is new of it, and hands over
    /// to one that is better.
    fn heard_of(&mut self, now: Tick, said: &SmInfo) {
        let guid = said.port_guid;
        let counts = self.standing.is_master()
            && guid.0 != 0
            && guid != self.devices.own_port_guid()
            && said.sm_key == self.settings.election.sm_key
            && matches!(said.sm_state_current, SmState::MASTER | SmState::STANDBY);
        let standing = &mut self.standing;
        if !counts || (standing.heard.len() >= PEERS_MAX && !standing.heard.contains_key(&guid)) {
            return;
        }
        let news = (said.sm_state_current, said.priority);
        let known = standing.heard.insert(guid, news);
        let better = Rank::of(said.priority, guid) > self.rank();
        let hand_over = better && self.may_hand_over(now) && self.standing.handover.is_none();
        if known != Some(news) || hand_over {
            self.request_sweep(now, SweepReason::Election);
        }
    }

    /// Another manager tells this one what to become.
    fn told(&mut self, now: Tick, packet: &Packet, view: &SmpView<'_>, said: &SmInfo) {
        let control = SmInfoControl::from_modifier(view.header.attribute_modifier)
            .filter(|_| view.header.method == method::SET && self.may_tell(view, said));
        let allowed = control.filter(|control| self.may_become(*control, said));
        let code = match allowed {
            Some(_) => status::OK,
            None => status::INVALID_ATTRIB,
        };
        self.answer_sm_info(packet, view, code, Some(said));
        match allowed {
            Some(SmInfoControl::Handover) => self.take_over(now, view, said),
            Some(SmInfoControl::Acknowledge) => self.acknowledged(now, said),
            Some(SmInfoControl::Disable) => {
                let why = format!("the manager on port {} said so", said.port_guid);
                self.take_role(SmState::NOT_ACTIVE, Some(said.port_guid), why);
                self.publish();
            }
            Some(SmInfoControl::Standby) => {
                let why = format!("the manager on port {} said so", said.port_guid);
                self.take_role(SmState::STANDBY, Some(said.port_guid), why);
                self.standing.poll_at = Some(now + QUICK);
                self.publish();
            }
            Some(SmInfoControl::Discover) => {
                let why = format!("the manager on port {} said so", said.port_guid);
                self.discover_again(now, why);
            }
            None => {}
        }
    }

    /// Whether the sender may tell managers what to become: it knows the key, and is master unless it
    /// acknowledges.
    fn may_tell(&self, view: &SmpView<'_>, said: &SmInfo) -> bool {
        let acknowledges = view.header.attribute_modifier == SmInfoControl::Acknowledge as u32;
        said.sm_key == self.settings.election.sm_key
            && said.port_guid != self.devices.own_port_guid()
            && (acknowledges || said.sm_state_current == SmState::MASTER)
    }

    fn may_become(&self, control: SmInfoControl, said: &SmInfo) -> bool {
        let standby = SmState::STANDBY;
        match self.standing.role() {
            SmState::STANDBY => control != SmInfoControl::Standby,
            SmState::NOT_ACTIVE => {
                matches!(control, SmInfoControl::Standby | SmInfoControl::Disable)
            }
            SmState::MASTER => match control {
                SmInfoControl::Handover => true,
                SmInfoControl::Acknowledge => {
                    said.sm_state_current >= standby && self.is_handing_over_to(said.port_guid)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// The master hands over: this manager is master from now on, and says so.
    fn take_over(&mut self, now: Tick, view: &SmpView<'_>, said: &SmInfo) {
        self.standing.saw_another = true;
        if let Some(path) = self.way_to(view, said) {
            self.send_sm_info(now, &path, Some(SmInfoControl::Acknowledge), Tag::Notice);
        }
        self.devices.doubt_all();
        let why = format!("the manager on port {} hands over", said.port_guid);
        self.take_role(SmState::MASTER, None, why);
        self.request_sweep(now, SweepReason::Election);
    }

    /// The directed route to a manager: the one that discovery found, else the way that its request
    /// came, back.
    fn way_to(&self, view: &SmpView<'_>, said: &SmInfo) -> Option<Box<[PortNum]>> {
        if let Some(peer) = self.standing.peers.get(&said.port_guid) {
            return Some(peer.path.clone());
        }
        let hops = usize::from(view.header.hop_count);
        let came = view.directed?.return_path;
        let back = came.get(1..=hops)?.iter().rev().copied().map(PortNum);
        Some(back.collect())
    }

    /// The manager that was asked to take over has done so.
    fn acknowledged(&mut self, now: Tick, said: &SmInfo) {
        if !self.standing.is_master() {
            return;
        }
        let why = "it has handed over".to_owned();
        self.take_role(SmState::STANDBY, Some(said.port_guid), why);
        self.standing.poll_at = Some(now + QUICK);
        self.publish();
    }
}
