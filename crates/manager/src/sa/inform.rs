//! Subscriptions to notices, and the reports that go to subscribers until they answer.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::{Guid, Lid, Tick};
use weft_state::State;
use weft_wire::Layout;
use weft_wire::class_port_info::InformInfo;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::id::Gid;
use weft_wire::rmpp::{CLASS_LEN, Envelope, RmppHeader};
use weft_wire::sa::{IbInformInfo, IbInformInfoRecord, IbNotice, InformInfoRecord, attribute};
use weft_wire::sm::Notice;

use super::Sa;
use super::io::SaOutput;
use super::query::{Found, Query, Records, Refusal};
use super::view::EndPort;
use crate::gsi::{Form, Request, Requester};

/// Any type, any trap.
const ANY: u16 = 0xFFFF;
/// Any producer.
const ANY_PRODUCER: u32 = 0x00FF_FFFF;
/// Any LID, in either form.
const ANY_LID: Lid = Lid::PERMISSIVE;
/// The traps of ports and groups that come and go: those that InfiniBand's form has.
const IN_BOTH_FORMS: std::ops::RangeInclusive<u16> = 64..=67;
/// Reports that may wait for their answers; one more is dropped.
const REPORTS_MAX: usize = 65_536;
/// Number of times that a report is sent without an answer.
const ATTEMPTS: u32 = 3;
/// Timeout of the answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A client's subscription to notices.
#[derive(Debug, Clone, PartialEq, State)]
pub(crate) struct Subscription {
    /// GUID of the subscriber's port.
    pub(crate) port: Guid,
    pub(crate) to: Requester,
    pub(crate) form: Form,
    pub(crate) info: InformInfo,
}

#[derive(Debug, Clone, State)]
struct Report {
    to: Requester,
    #[state(datagram)]
    mad: Vec<u8>,
    left: u32,
    due: Tick,
}

/// Subscriptions in the order of their requests, and the reports in flight.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Subscriptions {
    pub(crate) all: Vec<Subscription>,
    /// Counts changes.
    pub(crate) changes: u64,
    reports: BTreeMap<u64, Report>,
    /// No report is due before; cached, because every datagram checks it.
    due: Option<Tick>,
    transaction: u64,
}

impl Subscriptions {
    /// When a report is to be sent again, or earlier: it may have been answered since.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.due
    }

    /// Number of subscriptions.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// A subscriber has its report.
    pub(crate) fn answered(&mut self, response: &Request) {
        if response.mad.method == method::REPORT_RESP {
            self.reports.remove(&response.mad.transaction_id);
        }
    }

    /// Sends again what was not answered, and gives up what was sent often enough.
    pub(crate) fn expire(&mut self, now: Tick, outputs: &mut impl Extend<SaOutput>) {
        if self.deadline().is_none_or(|due| due > now) {
            return;
        }
        self.reports
            .retain(|_, report| report.due > now || report.left > 0);
        for report in self.reports.values_mut().filter(|report| report.due <= now) {
            report.left -= 1;
            report.due = now + TIMEOUT;
            outputs.extend([SaOutput::Send(report.to.packet(report.mad.clone()))]);
        }
        self.due = self.reports.values().map(|report| report.due).min();
    }

    /// Reports a notice to all its subscribers.
    pub(crate) fn report(
        &mut self,
        now: Tick,
        notice: &Notice,
        outputs: &mut impl Extend<SaOutput>,
    ) {
        let wanting = self.all.iter().filter(|one| wants(one, notice));
        let wanting: Vec<(Requester, Form)> = wanting.map(|one| (one.to, one.form)).collect();
        for (to, form) in wanting {
            if self.reports.len() >= REPORTS_MAX {
                return;
            }
            self.transaction += 1;
            let Some(mad) = datagram(self.transaction, form, notice) else {
                continue;
            };
            outputs.extend([SaOutput::Send(to.packet(mad.clone()))]);
            let report = Report {
                to,
                mad,
                left: ATTEMPTS - 1,
                due: now + TIMEOUT,
            };
            self.due = self.due.into_iter().chain([report.due]).min();
            self.reports.insert(self.transaction, report);
        }
    }

    /// Subscribers whose ports are gone are forgotten, with what was to be reported to them.
    pub(crate) fn forget_lost(&mut self, port_of: impl Fn(Lid) -> Option<Guid>) {
        let before = self.all.len();
        self.all.retain(|one| port_of(one.to.lid) == Some(one.port));
        self.changes += u64::from(self.all.len() != before);
        self.reports
            .retain(|_, report| port_of(report.to.lid).is_some());
    }

    /// Takes what an earlier administration held.
    pub(crate) fn restore(&mut self, subscriptions: Vec<Subscription>) {
        self.all = subscriptions;
    }

    /// Takes others in place of those that are held.
    pub(crate) fn replace(&mut self, subscriptions: Vec<Subscription>) {
        self.changes += u64::from(self.all != subscriptions);
        self.restore(subscriptions);
    }

    /// Removes all subscriptions.
    pub(crate) fn clear(&mut self) {
        self.forget_lost(|_| None);
    }
}

fn wants(one: &Subscription, notice: &Notice) -> bool {
    let info = &one.info;
    let lid = notice.issuer_lid;
    let range = info.lid_range_begin..=info.lid_range_end.max(info.lid_range_begin);
    let about = match info.gid == Gid::default() {
        true => info.lid_range_begin == ANY_LID || range.contains(&lid),
        false => info.gid == notice.issuer_gid,
    };
    let is = |asked: u16, value: u16| asked == ANY || asked == value;
    let producer = info.producer_type == ANY_PRODUCER || info.producer_type == notice.producer_type;
    about
        && producer
        && (info.is_generic != 0) == notice.is_generic
        && is(info.inform_type, notice.notice_type.into())
        && is(info.trap_number, notice.trap_number)
}

/// A Report, none when the form cannot tell of that notice.
fn datagram(transaction_id: u64, form: Form, notice: &Notice) -> Option<Vec<u8>> {
    let (base_version, class_version, data) = match form {
        Form::Opa => (version::OPA, version::OPA, notice.to_bytes()),
        Form::Ib => (version::IB, version::IB_SA, narrowed(notice)?.to_bytes()),
    };
    let envelope = Envelope {
        mad: MadHeader {
            base_version,
            class_version,
            mgmt_class: class::SUBN_ADM,
            method: method::REPORT,
            transaction_id,
            attribute_id: attribute::NOTICE,
            ..MadHeader::default()
        },
        class: [0; CLASS_LEN],
    };
    let mut mad = Vec::new();
    envelope.write(&RmppHeader::default(), &data, &mut mad);
    form.pad(&mut mad);
    Some(mad)
}

/// A notice of a port or a group in InfiniBand's form: the GID that it is about lies further on.
fn narrowed(notice: &Notice) -> Option<IbNotice> {
    /// Offset of the GID in the data.
    const GID_AT: usize = 6;
    if !IN_BOTH_FORMS.contains(&notice.trap_number) {
        return None;
    }
    let mut data = [0; 54];
    let gid = data.iter_mut().skip(GID_AT).take(16);
    gid.zip(notice.data).for_each(|(to, from)| *to = from);
    Some(IbNotice {
        is_generic: notice.is_generic,
        notice_type: notice.notice_type,
        producer_type: notice.producer_type,
        trap_number: notice.trap_number,
        issuer_lid: u16::try_from(notice.issuer_lid.0).unwrap_or(0),
        data,
        issuer_gid: notice.issuer_gid,
    })
}

/// The subscription of a request in either form.
fn asked(query: &Query<'_>) -> Result<InformInfo, Refusal> {
    match query.form() {
        Form::Opa => query.record(),
        Form::Ib => query.record().map(|info: IbInformInfo| widened(&info)),
    }
}

fn widened(info: &IbInformInfo) -> InformInfo {
    let lid = |lid: u16| match lid {
        ANY => ANY_LID,
        lid => Lid(lid.into()),
    };
    InformInfo {
        gid: info.gid,
        lid_range_begin: lid(info.lid_range_begin),
        lid_range_end: lid(info.lid_range_end),
        is_generic: info.is_generic,
        subscribe: info.subscribe,
        inform_type: info.inform_type,
        trap_number: info.trap_number,
        qp_number: info.qp_number,
        resp_time_value: info.resp_time_value,
        producer_type: info.producer_type,
    }
}

/// Answers Set of InformInfo: begins a subscription, or ends it.
pub(crate) fn inform_info(sa: &mut Sa, _: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
    let asked = asked(query)?;
    let port = sa.port_of(query).ok_or(Refusal::INVALID)?;
    let one = Subscription {
        port,
        to: query.request.from,
        form: query.form(),
        info: InformInfo {
            subscribe: 1,
            qp_number: query.request.from.qp,
            ..asked
        },
    };
    let same = |held: &Subscription| {
        let port = (held.to.lid, held.to.qp, held.form) == (one.to.lid, one.to.qp, one.form);
        let info = InformInfo {
            resp_time_value: one.info.resp_time_value,
            ..held.info
        };
        port && info == one.info
    };
    let held = sa.subscriptions.all.iter().position(same);
    let own = |held: &&Subscription| held.port == port;
    let is_full = sa.subscriptions.len() >= sa.settings.subscriptions_max
        || sa.subscriptions.all.iter().filter(own).count() >= sa.settings.quotas.subscriptions;
    match (asked.subscribe, held) {
        (0, None) => return Err(Refusal::INVALID),
        (0, Some(at)) => drop(sa.subscriptions.all.remove(at)),
        (_, Some(at)) => sa.subscriptions.all[at] = one,
        (_, None) if is_full => return Err(Refusal::NO_RESOURCES),
        (_, None) => sa.subscriptions.all.push(one),
    }
    sa.subscriptions.changes += 1;
    echo(query, asked)
}

/// The request, with the queue pair that reports go to.
fn echo(query: &Query<'_>, asked: InformInfo) -> Result<Found, Refusal> {
    let qp_number = query.request.from.qp;
    match query.form() {
        Form::Opa => Ok(Found::one(&InformInfo { qp_number, ..asked })),
        Form::Ib => query
            .record()
            .map(|info: IbInformInfo| Found::one(&IbInformInfo { qp_number, ..info })),
    }
}

/// The subscriptions that are held, numbered by subscriber, in the form of the query.
pub(crate) fn inform_info_records(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let mut numbers: BTreeMap<Lid, u16> = BTreeMap::new();
    let held = sa.subscriptions.all.iter().map(|one| {
        let next = numbers.entry(one.to.lid).or_default();
        let number = *next;
        *next = number.saturating_add(1);
        InformInfoRecord {
            subscriber_lid: one.to.lid,
            enumeration: number,
            inform_info_data: one.info,
        }
    });
    match query.form() {
        Form::Opa => {
            let mut records = Records::new::<InformInfoRecord>(query);
            held.for_each(|record| records.push(&record));
            records.finish()
        }
        Form::Ib => {
            let mut records = Records::new::<IbInformInfoRecord>(query);
            held.for_each(|record| records.push(&ib_record(sa, &record)));
            records.finish()
        }
    }
}

/// A held subscription in InfiniBand's form, which names the subscriber by its GID; zero when its
/// port has gone.
fn ib_record(sa: &Sa, record: &InformInfoRecord) -> IbInformInfoRecord {
    let end = sa.view.by_lid(record.subscriber_lid);
    let port = end.and_then(|end| sa.view.end(end));
    let gid = |port: &EndPort| Gid {
        prefix: sa.settings.subnet_prefix,
        interface: port.guid,
    };
    let info = &record.inform_info_data;
    let lid = |lid: Lid| u16::try_from(lid.0).unwrap_or(ANY);
    IbInformInfoRecord {
        subscriber_gid: port.map_or_else(Gid::default, gid),
        enumeration: record.enumeration,
        inform_info_data: IbInformInfo {
            gid: info.gid,
            lid_range_begin: lid(info.lid_range_begin),
            lid_range_end: lid(info.lid_range_end),
            is_generic: info.is_generic,
            subscribe: info.subscribe,
            inform_type: info.inform_type,
            trap_number: info.trap_number,
            qp_number: info.qp_number,
            resp_time_value: info.resp_time_value,
            producer_type: info.producer_type,
        },
    }
}

/// A notice of a group that came or went (traps 66 and 67), made by the administration itself.
pub(crate) fn group_notice(created: bool, mgid: Gid, issuer_lid: Lid, issuer: Gid) -> Notice {
    let mut data = [0; 64];
    data[..8].copy_from_slice(&mgid.prefix.to_be_bytes());
    let Guid(interface) = mgid.interface;
    data[8..16].copy_from_slice(&interface.to_be_bytes());
    Notice {
        is_generic: true,
        notice_type: Notice::TYPE_SUBNET_MANAGEMENT,
        producer_type: Notice::PRODUCER_SM,
        trap_number: if created { 66 } else { 67 },
        issuer_lid,
        issuer_gid: issuer,
        data,
        ..Notice::default()
    }
}
