//! Requests of other managers: Get and Set of SMInfo.

use weft_fabric::{PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::SmState;
use weft_wire::header::{method, status};
use weft_wire::sm::{SmInfo, SmInfoControl};
use weft_wire::smp::SmpView;

use super::others::Rank;
use super::{Act, Election, Question, View};

impl Election {
    /// Answers a request about the manager itself, or executes another manager's Set.
    pub(super) fn asked(&mut self, now: Tick, view: &View, asked: &SmpView<'_>) {
        let said = SmInfo::decode(asked.payload).ok();
        match (asked.header.method, said) {
            (method::GET, said) => {
                self.answer(view, status::OK, said.as_ref());
                said.into_iter()
                    .for_each(|said| self.heard_of(now, view, &said));
            }
            (_, Some(said)) => self.told(now, view, asked, &said),
            (_, None) => self.answer(view, status::INVALID_ATTRIB, None),
        }
    }

    /// Reveals SM_Key only to requesters that present it, or the M_Key.
    fn answer(&mut self, view: &View, status: u16, said: Option<&SmInfo>) {
        let knows_sm_key = said.is_some_and(|said| said.sm_key == view.settings.sm_key);
        let info = self.own_sm_info(view, knows_sm_key || view.asker_has_m_key);
        self.acts.push(Act::Answer { status, info });
    }

    /// Another manager sends a request with its SMInfo: a master examines news, and hands over
    /// to a better one.
    fn heard_of(&mut self, now: Tick, view: &View, said: &SmInfo) {
        let guid = said.port_guid;
        let counts = self.is_master()
            && guid.0 != 0
            && guid != view.own_port
            && (said.sm_key == view.settings.sm_key || view.asker_has_m_key)
            && matches!(said.sm_state_current, SmState::MASTER | SmState::STANDBY);
        if counts && said.sm_state_current == SmState::STANDBY {
            self.standby_asked(now, view, guid);
        }
        let is_news = counts.then(|| self.others.hear(said)).flatten();
        let Some(is_news) = is_news else {
            return;
        };
        if is_news && said.sm_state_current == SmState::MASTER {
            self.acts.push(Act::Doubt);
        }
        let better = Rank::of(said.priority, guid) > self.rank(view);
        let hand_over = better && self.may_hand_over(now) && self.handovers.under_way.is_none();
        let hand_over = hand_over && self.handovers.wait.is_none();
        if is_news || hand_over {
            self.sweep();
        }
    }

    /// Another manager tells this one what to become.
    fn told(&mut self, now: Tick, view: &View, asked: &SmpView<'_>, said: &SmInfo) {
        let control = SmInfoControl::from_modifier(asked.header.attribute_modifier);
        let control =
            control.filter(|_| asked.header.method == method::SET && may_tell(view, asked, said));
        let allowed = control.filter(|control| self.may_become(*control, said));
        let code = match allowed {
            Some(_) => status::OK,
            None => status::INVALID_ATTRIB,
        };
        self.answer(view, code, Some(said));
        let why = || format!("the manager on port {} said so", said.port_guid);
        match allowed {
            Some(SmInfoControl::Handover) => self.take_over(view, asked, said),
            Some(SmInfoControl::Acknowledge) => self.acknowledged(now, said),
            Some(SmInfoControl::Disable) => {
                self.take_role(SmState::NOT_ACTIVE, Some(said.port_guid), why());
                self.acts.push(Act::Publish);
            }
            Some(SmInfoControl::Standby) => {
                self.stand_by_for(now, said.port_guid, why());
                self.acts.push(Act::Publish);
            }
            Some(SmInfoControl::Discover) => self.discover_again(why()),
            None => {}
        }
    }

    fn may_become(&self, control: SmInfoControl, said: &SmInfo) -> bool {
        let standby = SmState::STANDBY;
        match self.role {
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
    fn take_over(&mut self, view: &View, asked: &SmpView<'_>, said: &SmInfo) {
        self.others.any_seen = true;
        if let Some(path) = self.way_to(asked, said) {
            let control = Some(SmInfoControl::Acknowledge);
            self.send(view, path, control, Question::Notice);
        }
        self.acts.push(Act::Doubt);
        let why = format!("the manager on port {} hands over", said.port_guid);
        self.take_role(SmState::MASTER, None, why);
        self.sweep();
    }

    /// The directed route to a manager: the discovered one, else the return path of its
    /// request.
    fn way_to(&self, asked: &SmpView<'_>, said: &SmInfo) -> Option<Box<[PortNum]>> {
        if let Some(peer) = self.others.peers.get(&said.port_guid) {
            return Some(peer.path.clone());
        }
        let hops = usize::from(asked.header.hop_count);
        let came = asked.directed?.return_path;
        let back = came.get(1..=hops)?.iter().rev().copied().map(PortNum);
        Some(back.collect())
    }

    /// The other manager has acknowledged the handover.
    fn acknowledged(&mut self, now: Tick, said: &SmInfo) {
        if self.is_master() {
            self.stand_by_for(now, said.port_guid, "it has handed over".to_owned());
            self.acts.push(Act::Publish);
        }
    }
}

/// Whether the sender may tell managers what to become: it knows the key, and is master unless it
/// acknowledges.
fn may_tell(view: &View, asked: &SmpView<'_>, said: &SmInfo) -> bool {
    let acknowledges = asked.header.attribute_modifier == SmInfoControl::Acknowledge as u32;
    said.sm_key == view.settings.sm_key
        && said.port_guid != view.own_port
        && (acknowledges || said.sm_state_current == SmState::MASTER)
}
