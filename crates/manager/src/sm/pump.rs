//! The next node to send, and handling of answers and timeouts.
//!
//! Each node has its own pipeline: a [`Stage`] and a position in it. A node sends as much as its
//! window allows, and continues as its answers arrive, independently of the others.

use weft_fabric::Tick;
use weft_wire::header::{class, method, status};
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::SmpView;

use super::devices::Stage;
use super::election::Input;
use super::{Manager, Tag};
use crate::ask::batch::{Reply, Verdict, replies};
use crate::ask::{Answered, Expired};
use crate::io::Event;

/// Steps of nodes in one call; before the next ones other inputs are taken.
const STEPS_MAX: usize = 2_048;

impl Manager {
    /// Takes a datagram.
    pub(super) fn received(&mut self, now: Tick, packet: &Packet) {
        self.out.totals.received += 1;
        let view = match SmpView::parse(&packet.mad) {
            Ok(view) if packet.dest_qp == 0 => view,
            _ => {
                self.out.totals.unreadable += 1;
                return;
            }
        };
        match view.header.method {
            method::TRAP => self.trap(now, packet, &view),
            method::GET | method::SET if view.attribute() == AttributeId::SM_INFO => {
                self.sm_info_asked(now, packet, &view);
            }
            _ => self.answered(now, packet, &view),
        }
    }

    fn answered(&mut self, now: Tick, packet: &Packet, view: &SmpView<'_>) {
        let on_the_way_back = view.header.mgmt_class == class::SM_LID_ROUTED
            || view.header.status & status::DIRECTION != 0;
        let found = match on_the_way_back {
            true => self.requests.transactions.answer(now, view, &packet.mad),
            false => None,
        };
        let Some(found) = found else {
            self.out.totals.stray += 1;
            self.stray(now, view);
            return;
        };
        match found.tag {
            Tag::Stage { cursor } => self.stage_answered(now, &found, cursor, view),
            Tag::Port => self.port_answered(now, view),
            Tag::OwnPort => self.own_port_answered(now, view),
            Tag::Look => self.look_answered(now, found.node, view),
            Tag::Promise { sweep } => {
                let about = (&found.request[..], view);
                self.promise_answered(now, (found.node, sweep), about);
            }
            Tag::Sm(question) => self.sm_answered(now, question, view),
        }
    }

    fn stage_answered(
        &mut self,
        now: Tick,
        found: &Answered<Tag>,
        cursor: u32,
        view: &SmpView<'_>,
    ) {
        let node = found.node;
        self.requests.schedule.ended(&mut self.devices[node].work);
        if self.devices.answered(node, now, found.round_trip_ns) {
            let node = self.devices[node].identity.guid;
            self.out.event(Event::NodeAnswers { node });
        }
        let Ok(asked) = SmpView::parse(&found.request) else {
            return;
        };
        let mut parts = Vec::with_capacity(8);
        if let Err(what) = replies(&asked, view, &mut parts) {
            let guid = self.devices[node].identity.guid;
            self.out.fault(
                Some(guid),
                format!("answered {} with {what}", asked.attribute()),
            );
            match self.devices[node].work.stage {
                Stage::AskSm => self.sm_not_found(now, node),
                _ => self.give_up(now, node),
            }
            return;
        }
        let set = asked.header.method == method::SET;
        self.take_replies(now, node, cursor, set, &parts);
        self.requests
            .schedule
            .make_ready(node, &mut self.devices[node].work);
    }

    /// Processes the attributes of one answer.
    fn take_replies(&mut self, now: Tick, node: u32, cursor: u32, set: bool, parts: &[Reply<'_>]) {
        for part in parts {
            match part.verdict {
                _ if part.attribute == AttributeId::SM_INFO => self.sm_found(now, node, part),
                Verdict::Refused(_) if part.attribute == AttributeId::AGGREGATE => {
                    let device = &mut self.devices[node];
                    device.health.single = true;
                    device.work.cursor = device.work.cursor.min(cursor);
                }
                Verdict::Refused(code) => self.refused(now, node, cursor, set, part, code),
                Verdict::Done if set => self.confirm(node, part),
                Verdict::Done => self.learn(now, node, part),
            }
        }
    }

    /// Lets every node that may send something send it, then continues the sweep if all have
    /// nothing more to do. In a large fabric that takes several calls, see [`STEPS_MAX`].
    pub(super) fn pump(&mut self, now: Tick) {
        self.requests.schedule.wake(now, &mut self.devices);
        self.requests.more_at = None;
        let mut steps = 0;
        while steps < STEPS_MAX {
            if !self.requests.transactions.has_room() {
                return;
            }
            if let Some(node) = self.requests.schedule.next(&mut self.devices) {
                self.step(now, node);
                steps += 1;
                continue;
            }
            if !self.requests.schedule.is_idle() || !self.advance(now) {
                return;
            }
            // It has gone through all nodes.
            steps += self.devices.len();
        }
        self.requests.more_at = Some(now);
    }

    /// Sends the requests of a node, as far as its window and the common one allow.
    fn step(&mut self, now: Tick, node: u32) {
        loop {
            let device = &self.devices[node];
            let window = match self.changes_key(node) {
                true => 1,
                false => self.requests.transactions.budget().per_target,
            };
            if device.work.outstanding >= window
                || device.work.wake_at.is_some()
                || device.work.stage == Stage::Idle
            {
                return;
            }
            if !self.requests.transactions.has_room() {
                self.requests
                    .schedule
                    .make_ready(node, &mut self.devices[node].work);
                return;
            }
            let cursor = self.devices[node].work.cursor;
            if self.next_request(node) {
                self.send_batch(now, node, Tag::Stage { cursor });
            } else if self.devices[node].work.outstanding == 0 {
                if !self.finish_stage(now, node) {
                    return;
                }
            } else {
                return;
            }
        }
    }

    /// Puts the next request of a node into the batch; returns whether there is one.
    fn next_request(&mut self, node: u32) -> bool {
        match self.devices[node].work.stage {
            Stage::Idle | Stage::Ready => false,
            Stage::Identify
            | Stage::Rearm
            | Stage::States
            | Stage::Ports
            | Stage::ReadTable
            | Stage::ReadChannels
            | Stage::ReadAllChannels
            | Stage::ReadMulticast => self.next_discovery(node),
            Stage::AskSm => self.ask_sm(node),
            _ => self.next_write(node),
        }
    }

    /// Sends again, or gives up, what was not answered in time.
    pub(super) fn expire(&mut self, now: Tick) {
        let is_overlong = self.sweep.is_overlong(now, &self.settings.sweeps);
        self.requests.transactions.send_again(!is_overlong);
        while let Some(expired) = self.requests.transactions.expire(now) {
            match expired {
                // A manager that is no longer master does not retry its requests as master.
                Expired::Again { mad, .. } if !self.may_send_again(&mad) => {}
                Expired::Again {
                    node,
                    mut mad,
                    sent,
                    ..
                } => {
                    self.is_overdue(node);
                    self.doubt_after_write(node, &mad);
                    self.out.totals.retries += 1;
                    self.sweep.report.retries += 1;
                    self.change_key(node, &mut mad, sent);
                    self.send_directed(mad);
                }
                Expired::GivenUp {
                    node,
                    tag,
                    request,
                    attempts,
                } => {
                    self.is_overdue(node);
                    self.out.totals.timeouts += 1;
                    self.sweep.report.timeouts += 1;
                    match tag {
                        Tag::Stage { .. } => self.not_answered(now, node, &request),
                        Tag::Port => self.port_not_answered(now, attempts),
                        Tag::OwnPort => self.own_port_not_answered(),
                        Tag::Look => self.look_not_answered(now, node),
                        // The next sweep finds out more.
                        Tag::Promise { .. } => {}
                        Tag::Sm(question) => {
                            self.tell_election(now, Input::NotAnswered(question));
                        }
                    }
                }
            }
        }
    }

    /// A write that is sent again may arrive twice, the second time after a later one.
    fn doubt_after_write(&mut self, node: u32, mad: &[u8]) {
        let writes = SmpView::parse(mad).is_ok_and(|asked| {
            asked.header.method == method::SET && asked.attribute() != AttributeId::SM_INFO
        });
        if let Some(device) = self.devices.get_mut(node).filter(|_| writes) {
            device.health.doubtful = true;
        }
    }

    /// Records that an answer is late: it may still arrive as a stray.
    fn is_overdue(&mut self, node: u32) {
        if let Some(device) = self.devices.get_mut(node) {
            device.health.overdue = Some(self.sweep.number);
        }
    }

    fn may_send_again(&self, mad: &[u8]) -> bool {
        let asked = SmpView::parse(mad).ok();
        self.election.is_master()
            || asked.is_none_or(|asked| {
                asked.header.method != method::SET || asked.attribute() == AttributeId::SM_INFO
            })
    }

    fn not_answered(&mut self, now: Tick, node: u32, request: &[u8]) {
        let device = &mut self.devices[node];
        self.requests.schedule.ended(&mut device.work);
        if device.work.stage == Stage::AskSm {
            self.sm_not_found(now, node);
            return;
        }
        let guid = device.identity.guid;
        if self.devices.note_silent(node) {
            self.sweep.abandoned.fell_silent(guid);
            let attribute = SmpView::parse(request).map(|asked| asked.attribute().to_string());
            self.out.event(Event::NodeSilent {
                node: guid,
                attribute: attribute.unwrap_or_default(),
            });
        }
        self.give_up(now, node);
    }
}
