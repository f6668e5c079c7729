//! Exchange with other managers: inputs, view and actions of [`Election`].
//!
//! [`Election`]: super::election::Election

use weft_fabric::{Guid, PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::SmState;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, SmInfo, SmInfoControl};
use weft_wire::smp::{DirectedRoute, Smp, SmpView, respond};

use super::devices::Stage;
use super::devices::is_up;
use super::election::{Act, Input, Peer, Question, Verdict, View};
use super::lids::LidMap;
use super::{Manager, Tag};
use crate::ask::batch::{Reply, Verdict as Answer};
use crate::ask::{NO_NODE, Target};
use crate::io::{Event, SweepReason};

impl Manager {
    /// The election's view.
    pub(super) fn election_view(&self) -> View {
        let own = self.devices.own_port();
        View {
            settings: self.settings.election,
            asker_has_m_key: false,
            own_port: self.devices.own_port_guid(),
            own_link: own.is_some_and(is_up),
            own_master_lid: self.devices.own_master_lid(),
            own_lid: self.planning.plan.sm_lid(),
            sweep: self.sweep.number,
            sweeping: self.sweep.phase().is_some(),
            whole: self.sweep.near.is_none(),
            has_room: self.requests.transactions.has_room(),
        }
    }

    /// Passes an input to the election and executes its actions.
    pub(super) fn tell_election(&mut self, now: Tick, input: Input<'_>) {
        let view = self.election_view();
        let acts = self.election.handle(now, &view, input);
        self.carry_out(now, acts);
    }

    fn carry_out(&mut self, now: Tick, acts: Vec<Act>) {
        acts.into_iter()
            .for_each(|act| self.carry_out_one(now, act));
    }

    fn carry_out_one(&mut self, now: Tick, act: Act) {
        match act {
            Act::Send {
                path,
                control,
                info,
                question,
            } => self.send_sm_info(now, &path, control, info, question),
            Act::Role {
                role,
                master,
                mut news,
                takes_over,
            } => {
                if takes_over {
                    self.inherit();
                    let term = self.begin_term();
                    news = news.map(|why| why + &term.unwrap_or_default());
                }
                if role == SmState::STANDBY {
                    self.registrations.stand_by_for(master);
                }
                if let Some(why) = news {
                    self.out.event(Event::Role { role, master, why });
                }
                self.enter_role(role);
            }
            Act::Doubt => self.devices.doubt_all(),
            Act::Sweep => self
                .sweep
                .request(now, SweepReason::Election, &self.settings.sweeps),
            Act::DropWork => self.requests.schedule.clear(&mut self.devices),
            Act::Publish => self.publish(),
            Act::DoubtRegistrations => self.inheritance.doubt_registrations(),
            Act::Unfinished(what) => self.sweep.unfinished(what),
            Act::Fault { node, what } => self.out.fault(Some(node), what),
            Act::Answer { .. } => {} // see `sm_info_asked`
        }
    }

    fn enter_role(&mut self, role: SmState) {
        // What devices hold is read again before anything is written: others may have changed it.
        if role != SmState::MASTER {
            self.end_pause("this manager is not master any more");
            self.stop_update();
            self.refuse_port_changes();
            self.devices.doubt_all();
        }
        // A master that discovers anew, after a stall or before its own link is up, keeps what it knows of links.
        if [SmState::STANDBY, SmState::NOT_ACTIVE].contains(&role) {
            self.forget_loop_order();
            self.devices.flapping.clear();
            self.devices.isolation.clear();
        }
        // The LIDs that another master has given count.
        if role == SmState::STANDBY {
            self.planning.lids = LidMap::default();
            // What the master has promised is told anew.
            self.inheritance.doubt_registrations();
        }
    }

    /// Another manager sends Get or Set of SMInfo.
    pub(super) fn sm_info_asked(&mut self, now: Tick, packet: &Packet, asked: &SmpView<'_>) {
        let view = View {
            asker_has_m_key: self.is_own_m_key(asked.m_key),
            ..self.election_view()
        };
        for act in self.election.handle(now, &view, Input::Asked(asked)) {
            let Act::Answer { status, info } = act else {
                self.carry_out_one(now, act);
                continue;
            };
            let mut mad = Vec::new();
            let info = self.with_act_count(info);
            respond(asked, status, &info.to_bytes(), &mut mad);
            self.reply_to(packet, mad);
        }
    }

    fn with_act_count(&self, info: SmInfo) -> SmInfo {
        SmInfo {
            act_count: self.out.totals.act_count(),
            ..info
        }
    }

    /// Sends Get(SMInfo), or a Set with its action, along a directed route.
    pub(super) fn send_sm_info(
        &mut self,
        now: Tick,
        path: &[PortNum],
        control: Option<SmInfoControl>,
        info: SmInfo,
        question: Question,
    ) {
        let Ok(route) = DirectedRoute::new(path) else {
            return; // paths are bounded when they are made
        };
        if !self.requests.transactions.has_room() {
            return; // as if it were lost: who asks asks again
        }
        let to = self.devices.behind(path).unwrap_or(NO_NODE);
        let smp = Smp {
            method: control.map_or(method::GET, |_| method::SET),
            attribute: AttributeId::SM_INFO,
            modifier: control.map_or(0, |control| control as u32),
            transaction_id: 0,
            m_key: self.m_key_of(to),
        };
        let mut mad = Vec::new();
        smp.write_directed(&route, &self.with_act_count(info).to_bytes(), &mut mad);
        let round_trip = self.requests.transactions.overall();
        let target = Target {
            node: to,
            round_trip,
            silent: false,
        };
        let tag = Tag::Sm(question);
        self.requests.transactions.begin(now, target, tag, &mut mad);
        self.out
            .totals
            .count(AttributeId::SM_INFO, control.is_some());
        self.send_directed(mad);
    }

    /// A manager, or the agent of its port, has answered.
    pub(super) fn sm_answered(&mut self, now: Tick, question: Question, view: &SmpView<'_>) {
        let done = view.status() == 0;
        let info = SmInfo::decode(view.payload).ok().filter(|_| done);
        self.tell_election(now, Input::Answered(question, info));
    }

    /// Whether a manager on a node may be told the SM_Key: it has said it itself, or there is no M_Key by which it would
    /// know this manager. The vendor's manager leaves it out of all its Gets (`SM_Get_SMInfo`).
    fn tells_sm_key_to(&self, node: u32) -> bool {
        let has_m_key = self.settings.m_key != 0 || self.settings.fencing.is_some();
        let guid = self.devices[node].identity.guid;
        !has_m_key || self.election.shares_key_with(&self.settings.election, guid)
    }

    /// Reads SMInfo of the manager on a node, and identifies this manager.
    pub(super) fn ask_sm(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        if self.devices[node].work.cursor > 0 {
            return false;
        }
        self.devices[node].work.cursor = 1;
        let with_key = self.tells_sm_key_to(node);
        let own = self.election.own_sm_info(&self.election_view(), with_key);
        let own = self.with_act_count(own);
        self.requests
            .batch
            .push(AttributeId::SM_INFO, 0, SmInfo::LEN, |to| own.encode(to))
    }

    /// The manager on a node has reported its SMInfo, or its agent that none runs there.
    pub(super) fn sm_found(&mut self, now: Tick, node: u32, reply: &Reply<'_>) {
        let device = &self.devices[node];
        let info = match (reply.verdict, SmInfo::decode(reply.data)) {
            (Answer::Done, Ok(info)) => info,
            _ => return,
        };
        let guid = device.identity.guid;
        let known = device.observed.node.as_ref();
        let port = known.map_or(Guid(0), |node| node.info.port_guid);
        if info.port_guid != port {
            let said = info.port_guid;
            self.out.fault(
                Some(guid),
                format!("the subnet manager on port {port} says that it is on port {said}"),
            );
            return;
        }
        let peer = Peer {
            node: guid,
            path: device.identity.path.clone(),
            info,
            sweep: self.sweep.number,
        };
        self.tell_election(now, Input::Found(peer));
    }

    /// The manager on a node did not answer.
    pub(super) fn sm_not_found(&mut self, now: Tick, node: u32) {
        let device = &self.devices[node];
        let known = device.observed.node.as_ref();
        let port = known.map_or(Guid(0), |node| node.info.port_guid);
        self.tell_election(now, Input::NotFound(port));
        self.devices[node].work.enter(Stage::Idle);
    }

    /// Decides from the discovered managers which one runs the fabric.
    pub(super) fn elect(&mut self, now: Tick) -> Verdict {
        let view = self.election_view();
        let (verdict, acts) = self.election.elect(now, &view);
        self.carry_out(now, acts);
        verdict
    }

    /// Makes switches that have recorded a change of state report changes to this manager from now
    /// on; returns whether there are any. They record one change at a time and report it to their master:
    /// these records are cleared, and later changes are read, before anything is planned.
    pub(super) fn rearm_switches(&mut self) -> bool {
        let number = self.sweep.number;
        let mut any = false;
        for node in self.devices.numbers() {
            let device = &mut self.devices[node];
            let switch = device.observed.switch();
            let noted = switch.is_some_and(|switch| switch.port_state_change);
            if noted && device.health.works_in(number) {
                self.requests
                    .schedule
                    .begin(node, &mut device.work, Stage::Rearm);
                any = true;
            }
        }
        any
    }

    /// Takes the fabric as it is: readers see it, and nothing is to be written. Nodes are numbered anew
    /// in each sweep, so that what was planned for the old numbers must not be taken for theirs.
    pub(super) fn plan_nothing(&mut self) {
        self.settle_links();
        self.devices.refusals.forget();
        self.planning.hold_what_is(&self.devices);
    }
}
