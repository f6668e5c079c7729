//! Services: their providers and leases.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::{Guid, Tick};
use weft_state::State;
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{IbServiceRecord, ServiceRecord};
use weft_wire::text::Text;

use super::Sa;
use super::dispatch::is_full;
use super::query::{Found, Query, Records, Refusal};
use crate::gsi::Form;

/// A lease that does not end.
pub(crate) const FOR_EVER: u32 = 0xFFFF_FFFF;
/// Components of a Set that must be meant: the service and its port.
const NEEDED: [[u32; 2]; 2] = [[0, 0], [4, 1]];

/// Identity of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, State)]
pub(crate) struct Key {
    id: u64,
    gid: Gid,
    pkey: PKey,
}

/// A service that is registered.
#[derive(Debug, Clone, PartialEq, State)]
pub(crate) struct Service {
    /// GUID of the port that registered it; 0 for the manager itself.
    pub(crate) registrant: Guid,
    pub(crate) record: ServiceRecord,
    /// None for ever.
    pub(crate) until: Option<Tick>,
}

/// The services that are registered, in order of service and port.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Services {
    pub(crate) all: BTreeMap<Key, Service>,
    /// No lease expires before; cached, because every datagram checks it.
    due: Option<Tick>,
    /// Counts changes.
    pub(crate) changes: u64,
}

/// A service of the manager itself, at its own port for as long as it is master.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct OwnService {
    /// Identifier of the service.
    pub id: u64,
    /// Its name, at most 63 bytes.
    pub name: String,
    /// The first bytes of its data: its version, and 1 where it is the master.
    pub data: [u8; 2],
    /// The lease that is told, seconds; it is renewed all the time.
    pub lease: u32,
    /// Priority of the manager.
    pub priority: u8,
}

impl OwnService {
    /// Performance administration (`STL_PM_SERVICE_ID`): tools look it up to find its port. Its record is
    /// told with twice `lease` (`<ServiceLease>`), as by the vendor's manager.
    pub fn performance(lease: Duration, priority: u8) -> Self {
        let seconds = lease.as_secs().saturating_mul(2);
        Self {
            id: weft_config::PA_SERVICE_ID.0,
            name: "Primary Intel OmniPath Performance Manager".to_owned(),
            data: [1, 1],
            lease: u32::try_from(seconds).unwrap_or(FOR_EVER),
            priority,
        }
    }
}

impl Services {
    /// Forgets what has run out.
    pub(crate) fn expire(&mut self, now: Tick) {
        if self.due.is_some_and(|first| first <= now) {
            self.retain(|service| service.until.is_none_or(|until| until > now));
            self.due = self.all.values().filter_map(|service| service.until).min();
        }
    }

    /// When the next one runs out, or earlier: one that was taken back may have been the next.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.due
    }

    /// Number of services.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    fn hold(&mut self, key: Key, service: Service) {
        if self.all.get(&key) != Some(&service) {
            self.changes += 1;
            self.due = self.due.into_iter().chain(service.until).min();
            self.all.insert(key, service);
        }
    }

    fn retain(&mut self, stays: impl Fn(&Service) -> bool) {
        let before = self.all.len();
        self.all.retain(|_, service| stays(service));
        self.changes += u64::from(self.all.len() != before);
    }

    /// Services at ports that are gone go with them.
    pub(crate) fn forget_lost(&mut self, is_there: impl Fn(Guid) -> bool) {
        self.retain(|service| is_there(service.record.service_gid.interface));
    }

    /// Takes what an earlier administration held.
    pub(crate) fn restore(&mut self, services: Vec<Service>) {
        for service in services {
            self.hold(key_of(&service.record), service);
        }
    }

    /// Nothing is registered.
    pub(crate) fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Number of services registered by a port.
    fn of(&self, registrant: Guid) -> usize {
        let of = self.all.values();
        of.filter(|service| service.registrant == registrant)
            .count()
    }
}

impl Service {
    /// The record with the rest of its lease; others do not see its key.
    pub(crate) fn told(&self, now: Tick, trusted: bool) -> ServiceRecord {
        let left = self.until.map(|until| until.since(now).as_secs());
        let lease = left.map(|left| left.min(u64::from(FOR_EVER) - 1) as u32);
        ServiceRecord {
            service_lease: lease.unwrap_or(self.record.service_lease),
            service_key: match trusted {
                true => self.record.service_key,
                false => [0; 16],
            },
            ..self.record
        }
    }
}

impl Sa {
    /// Offers the manager's own services at the port where it runs, and no longer those that it had before
    /// or that another manager had.
    pub(crate) fn offer_own_services(&mut self) {
        let Some(master) = self.view.snapshot.sms.first() else {
            return;
        };
        let prefix = self.settings.subnet_prefix;
        let own = self.settings.own_services.iter();
        let own: Vec<ServiceRecord> = own.map(|own| own_record(own, master, prefix)).collect();
        let is_offered = |held: &Service| {
            let mut own = own.iter();
            own.any(|own| key_of(own) == key_of(&held.record))
        };
        let is_managers = |held: &Service| {
            let mut own = own.iter();
            let is_of_kind = own.any(|own| own.service_id == held.record.service_id);
            held.registrant == Guid(0) || is_of_kind && held.until.is_none()
        };
        self.services
            .retain(|held| is_offered(held) || !is_managers(held));
        for record in own {
            let held = Service {
                registrant: Guid(0),
                record,
                until: None,
            };
            self.services.hold(key_of(&record), held);
        }
    }
}

fn own_record(service: &OwnService, master: &weft_fabric::SmRecord, prefix: u64) -> ServiceRecord {
    let mut data = [0; 16];
    data[..2].copy_from_slice(&service.data);
    let mut priority = [0; 8];
    priority[0] = u16::from(service.priority);
    ServiceRecord {
        service_id: service.id,
        service_lid: master.lid,
        service_p_key: PKey::MGMT_FULL,
        service_gid: Gid {
            prefix,
            interface: master.port_guid,
        },
        service_lease: service.lease,
        service_name: Text::new(&service.name),
        service_data8: data,
        service_data16: priority,
        ..ServiceRecord::default()
    }
}

fn key_of(record: &ServiceRecord) -> Key {
    Key {
        id: record.service_id,
        gid: record.service_gid,
        pkey: record.service_p_key,
    }
}

/// The record of a request in either form.
fn asked(query: &Query<'_>) -> Result<ServiceRecord, Refusal> {
    match query.form() {
        Form::Opa => query.record(),
        Form::Ib => query
            .record()
            .map(|record: IbServiceRecord| widened(&record)),
    }
}

fn widened(record: &IbServiceRecord) -> ServiceRecord {
    ServiceRecord {
        service_id: record.service_id,
        service_p_key: record.service_p_key,
        service_gid: record.service_gid,
        service_lease: record.service_lease,
        service_key: record.service_key,
        service_name: record.service_name,
        service_data8: record.service_data8,
        service_data16: record.service_data16,
        service_data32: record.service_data32,
        service_data64: record.service_data64,
        ..ServiceRecord::default()
    }
}

fn narrowed(record: &ServiceRecord) -> IbServiceRecord {
    IbServiceRecord {
        service_id: record.service_id,
        service_gid: record.service_gid,
        service_p_key: record.service_p_key,
        service_lease: record.service_lease,
        service_key: record.service_key,
        service_name: record.service_name,
        service_data8: record.service_data8,
        service_data16: record.service_data16,
        service_data32: record.service_data32,
        service_data64: record.service_data64,
    }
}

fn tell(query: &Query<'_>, record: &ServiceRecord) -> Found {
    match query.form() {
        Form::Opa => Found::one(record),
        Form::Ib => Found::one(&narrowed(record)),
    }
}

/// Answers Get, GetTable, Set and Delete of service records.
pub(crate) fn service_records(sa: &mut Sa, now: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
    use weft_wire::header::method;
    match query.method() {
        method::SET => register(sa, now, query),
        method::DELETE => delete(sa, now, query),
        _ => find(sa, now, query),
    }
}

fn find(sa: &Sa, now: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
    let trusted = is_full(query.request.from.pkey);
    let requester = sa.view.by_lid(query.request.from.lid);
    let reads = |key: &Key| {
        let shared = requester.and_then(|end| sa.view.key_of(end, key.pkey));
        trusted || key.pkey == PKey(0) || shared.is_some()
    };
    let services = sa.services.all.iter().filter(|(key, _)| reads(key));
    let told = services.map(|(_, service)| service.told(now, trusted));
    match query.form() {
        Form::Opa => {
            let mut records = Records::new::<ServiceRecord>(query);
            told.for_each(|record| records.push(&record));
            records.finish()
        }
        Form::Ib => {
            let mut records = Records::new::<IbServiceRecord>(query);
            told.for_each(|record| records.push(&narrowed(&record)));
            records.finish()
        }
    }
}

/// Takes a service, or renews it. It must be in the fabric, and a key that protects it must be given
/// to change it.
fn register(sa: &mut Sa, now: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
    let column = usize::from(query.form() == Form::Ib);
    if !NEEDED.iter().all(|bits| query.has(bits[column])) {
        return Err(Refusal::TOO_LITTLE);
    }
    let mut record = asked(query)?;
    let end = sa.view.by_guid(record.service_gid.interface);
    let end = end
        .and_then(|end| sa.view.end(end))
        .ok_or(Refusal::INVALID_GID)?;
    if record.service_gid.prefix != sa.settings.subnet_prefix {
        return Err(Refusal::INVALID_GID);
    }
    record.service_lid = end.lid;
    let key = key_of(&record);
    let registrant = sa.port_of(query).ok_or(Refusal::INVALID)?;
    let room = sa.services.len() < sa.settings.services_max
        && sa.services.of(registrant) < sa.settings.quotas.services;
    match sa.services.all.get(&key) {
        Some(held) if held.record.service_key != record.service_key => {
            return Err(Refusal::INVALID);
        }
        None if !room => return Err(Refusal::NO_RESOURCES),
        _ => {}
    }
    let until = match record.service_lease {
        FOR_EVER => None,
        0 => return Err(Refusal::INVALID),
        seconds => Some(now + Duration::from_secs(seconds.into())),
    };
    let service = Service {
        registrant,
        record,
        until,
    };
    sa.services.hold(key, service);
    Ok(tell(query, &record))
}

/// Takes a service back; one of the manager's own stays.
fn delete(sa: &mut Sa, now: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
    let record = asked(query)?;
    let key = key_of(&record);
    let own = sa.settings.own_services.iter().any(|own| own.id == key.id);
    let held = sa.services.all.get(&key).ok_or(Refusal::NO_RECORDS)?;
    let foreign = held.record.service_key != record.service_key
        || held.record.service_name != record.service_name;
    if foreign || own && held.until.is_none() {
        return Err(Refusal::NO_RECORDS);
    }
    let told = held.told(now, true);
    sa.services.all.remove(&key);
    sa.services.changes += 1;
    Ok(tell(query, &told))
}
