//! Virtual fabrics that come, go, or change their settings.

use super::FabricPlan;
use crate::rates;
use crate::sa::SaSettings;
use crate::settings::VirtualFabric;

/// A virtual fabric with other settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFabric {
    /// Its name.
    pub name: String,
    /// What changes.
    pub settings: Vec<ChangedSetting>,
}

/// A setting of a virtual fabric that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSetting {
    /// The element of opafm.xml that says so most directly.
    pub element: &'static str,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
}

impl FabricPlan {
    pub(super) fn compare_fabrics(&mut self, before: &SaSettings, after: &SaSettings) {
        let (old, new) = (&before.fabrics, &after.fabrics);
        let lacks = |all: &[VirtualFabric], one: &VirtualFabric| {
            all.iter().all(|other| other.name != one.name)
        };
        let names = |all: &[VirtualFabric], others: &[VirtualFabric]| {
            let only = all.iter().filter(|one| lacks(others, one));
            only.map(|one| one.name.clone()).collect()
        };
        self.removed = names(old, new);
        self.added = names(new, old);
        for (at, fabric) in new.iter().enumerate() {
            let was_at = old.iter().position(|other| other.name == fabric.name);
            let changed = was_at.and_then(|was_at| changed((was_at, &old[was_at]), (at, fabric)));
            self.changed.extend(changed);
        }
    }
}

/// A virtual fabric before and after, each with its place in the list; none where nothing differs.
fn changed(
    (was_at, before): (usize, &VirtualFabric),
    (at, after): (usize, &VirtualFabric),
) -> Option<ChangedFabric> {
    let mut settings = differing(values(was_at, before), values(at, after));
    if before.applications != after.applications {
        settings.push(ChangedSetting {
            element: "Application",
            before: "some".to_owned(),
            after: "others".to_owned(),
        });
    }
    (!settings.is_empty()).then(|| ChangedFabric {
        name: after.name.clone(),
        settings,
    })
}

type Value = (&'static str, String);

/// The settings of a virtual fabric that is at a place of the list.
fn values(at: usize, fabric: &VirtualFabric) -> Vec<Value> {
    let flag = |is_set: bool| u8::from(is_set).to_string();
    let mtu = fabric.max_mtu.map(|mtu| mtu.bytes().to_string());
    let rate = fabric
        .max_rate
        .map(|rate| format!("{} Mb/s", rates::mbps(rate)));
    let or_none = |limit: Option<String>| limit.unwrap_or_else(|| "unlimited".to_owned());
    vec![
        ("place in the file", at.to_string()),
        ("PKey", format!("{:#06x}", fabric.pkey.0 & 0x7FFF)),
        ("Security", flag(fabric.security)),
        ("Standby", flag(fabric.standby)),
        ("MaxMTU", or_none(mtu)),
        ("MaxRate", or_none(rate)),
        ("QOS", flag(fabric.qos)),
        ("BaseSL", fabric.sl.0.to_string()),
        ("MulticastSL", fabric.multicast_sl.0.to_string()),
        ("Bandwidth", format!("{}%", fabric.bandwidth)),
        ("HighPriority", flag(fabric.high_priority)),
        ("FlowControlDisable", flag(fabric.flow_control_disable)),
        ("PreemptRank", fabric.preemption_rank.to_string()),
        (
            "PktLifeTimeMult",
            (1_u64 << fabric.lifetime_increment.min(63)).to_string(),
        ),
        ("HoqLife", format!("4.096 us * 2^{}", fabric.hoq_life)),
    ]
}

fn differing(before: Vec<Value>, after: Vec<Value>) -> Vec<ChangedSetting> {
    let pairs = before.into_iter().zip(after);
    pairs
        .filter(|(before, after)| before != after)
        .map(|((element, before), (_, after))| ChangedSetting {
            element,
            before,
            after,
        })
        .collect()
}
