//! The record by which clients find performance administration at subnet administration.

use weft_fabric::PKey;
use weft_wire::id::Gid;
use weft_wire::sa::ServiceRecord;
use weft_wire::text::Text;

use crate::pm::Pm;

/// The service under which clients look for performance administration (`STL_PM_SERVICE_ID`).
pub const SERVICE_ID: u64 = 0x1100_d03c_3484_5555;
/// `STL_PM_SERVICE_NAME`.
const SERVICE_NAME: &str = "Primary Intel OmniPath Performance Manager";
/// `STL_PM_VERSION`.
const VERSION: u8 = 1;
/// `STL_PM_MASTER`.
const MASTER: u8 = 1;

impl Pm {
    /// Record for subnet administration while this manager is the master, otherwise
    /// `None`: clients query all service records, take the one of [`SERVICE_ID`] whose first two
    /// bytes of data are version and state, and query a path to its GID.
    pub fn service_record(&self) -> Option<ServiceRecord> {
        self.snapshot.as_ref()?;
        let own = self.roster.own_port()?;
        let node = self.roster.snapshot.topology.node(own.node)?;
        let lease = 2 * self.settings.service_lease.as_secs();
        let mut record = ServiceRecord {
            service_id: SERVICE_ID,
            service_lid: self.own_lid()?,
            service_p_key: PKey::MGMT_FULL,
            service_gid: Gid {
                prefix: self.settings.subnet_prefix,
                interface: node.port_guid(own.port)?,
            },
            service_lease: u32::try_from(lease).unwrap_or(u32::MAX),
            service_name: Text::new(SERVICE_NAME),
            ..ServiceRecord::default()
        };
        record.service_data8[..2].copy_from_slice(&[VERSION, MASTER]);
        record.service_data16[0] = u16::from(self.settings.priority);
        Some(record)
    }
}
