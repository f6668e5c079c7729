//! Multicast: how groups share MLIDs, and the groups that the SM creates itself.

use serde::{Deserialize, Serialize};
use weft_state::State;
use weft_wire::id::{PKey, Sl};

use crate::context::Cx;
use crate::finding::Rule;
use crate::section::{Also, Many, One, Opt, Subs, section};
use crate::syntax::{
    MgidText, PKeyText, Text, flag, keyword, keywords, mtu_code, named, rate_code, u8s, u32s,
    unchecked_percent,
};
use crate::value::{Masked, Mgid, Mtu, Percent, Rate};
use crate::xml::Id;

/// The most enabled `MLIDShare` sections.
pub(super) const MAX_MLID_SHARES: usize = 32;
/// The most `MulticastGroup` sections with `Create`.
pub(super) const MAX_GROUPS: usize = 64;

/// Choice of the root of the multicast tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RootSelection {
    /// The switch with the least sum of costs to all others.
    #[default]
    LeastTotalCost,
    /// The switch whose costliest other switch is the least far.
    LeastWorstCaseCost,
    /// The switch next to the SM.
    SmNeighbor,
}

keywords! { RootSelection {
    "LeastTotalCost" => LeastTotalCost, "LeastWorstCaseCost" => LeastWorstCaseCost, "SMNeighbor" => SmNeighbor,
} }

section! {
    /// `Multicast`.
    pub struct Multicast {
        /// Whether groups may be created with an MTU or rate that some ports do not support.
        disable_strict_check: bool = false, "DisableStrictCheck" => One(flag());
        /// Whether the tree of a group is cut to the switches that need it.
        enable_pruning: bool = false, "EnablePruning" => One(flag());
        /// Maximum number of MLIDs that the SM uses.
        mlid_table_cap: u32 = 1024, "MLIDTableCap" => One(u32s().strictly(1, 16383));
        /// Choice of the root of the tree.
        root_selection_algorithm: RootSelection = RootSelection::default(),
            "RootSelectionAlgorithm" => One(keyword().unchecked_by_vendor(Rule::StrictRange));
        /// Cost improvement that moves the tree to another root.
        min_cost_improvement: Percent = Percent(50), "MinCostImprovement" => One(unchecked_percent());
        /// Groups that share MLIDs; those of `Fm` add to those of `Common`.
        mlid_shares: Vec<MlidShare> = Vec::new(), "MLIDShare" => Subs(1024);
        /// Groups that the SM creates; those of `Fm` add to those of `Common`.
        multicast_groups: Vec<MulticastGroup> = Vec::new(), "MulticastGroup" => Subs(1024);
    }
}

section! {
    /// `MLIDShare`: multicast groups that share a few MLIDs.
    #[derive(State)]
    pub struct MlidShare {
        /// Whether it is used.
        enable: bool = false, "Enable" => One(flag());
        /// The bits of the MGID that count.
        mgid_mask: Option<Mgid> = None, "MGIDMask" => Opt(MgidText);
        /// Value of those bits.
        mgid_value: Option<Mgid> = None, "MGIDValue" => Opt(MgidText);
        /// Maximum number of MLIDs for these groups together.
        max_mlids: Option<u32> = None, "MaxMLIDs" => Opt(u32s().within(1, u32::MAX as u64 - 1));
        /// Maximum number of them for the groups of one partition; 0 leaves it to `MaxMLIDs`.
        max_mlids_per_pkey: u32 = 0, "MaxMLIDsPerPKey" => One(u32s());
    }
    finish check_share;
}

impl MlidShare {
    /// Whether a group shares these MLIDs.
    pub fn matches(&self, mgid: Mgid) -> bool {
        let (value, mask) = (
            self.mgid_value.unwrap_or_default(),
            self.mgid_mask.unwrap_or_default(),
        );
        self.enable && Masked { value, mask }.matches(mgid)
    }

    /// Whether some group would fall to both. A mask of zeros is the share of all other groups.
    fn overlaps(&self, other: &Self) -> bool {
        let catches_rest = |share: &Self| share.mgid_mask == Some(Mgid(0));
        if self.mgid_value == other.mgid_value && self.mgid_value.is_some() {
            return true;
        }
        if catches_rest(self) || catches_rest(other) {
            return false;
        }
        let (Some(mask), Some(other_mask)) = (self.mgid_mask, other.mgid_mask) else {
            return false;
        };
        let (Some(value), Some(other_value)) = (self.mgid_value, other.mgid_value) else {
            return false;
        };
        let both = mask.0 & other_mask.0;
        value.0 & both == other_value.0 & both
    }
}

fn check_share(share: &mut MlidShare, id: Id, cx: &mut Cx<'_>) {
    let missing = [
        (share.mgid_mask.is_none(), "MGIDMask"),
        (share.mgid_value.is_none(), "MGIDValue"),
        (share.max_mlids.is_none(), "MaxMLIDs"),
    ];
    for (_, tag) in missing
        .iter()
        .filter(|(missing, tag)| *missing && !cx.document.has_child(id, tag))
    {
        cx.error(id, Rule::Count, format!("an MLIDShare needs a {tag}"));
    }
    if share.enable
        && share
            .max_mlids
            .is_some_and(|most| share.max_mlids_per_pkey > most)
    {
        cx.error(id, Rule::Conflict, "MaxMLIDsPerPKey is more than MaxMLIDs");
    }
}

impl Multicast {
    /// Checks all shares and groups of an instance together.
    pub(crate) fn check_limits(&self, id: Id, cx: &mut Cx<'_>) {
        let shares: Vec<_> = self
            .mlid_shares
            .iter()
            .filter(|share| share.enable)
            .collect();
        if shares.len() > MAX_MLID_SHARES {
            cx.error(
                id,
                Rule::Count,
                format!("more than {MAX_MLID_SHARES} enabled MLIDShare"),
            );
        }
        for (at, share) in shares.iter().enumerate() {
            if let Some(earlier) = shares[..at]
                .iter()
                .position(|earlier| earlier.overlaps(share))
            {
                let message =
                    format!("the enabled MLIDShare {earlier} and {at} both match some groups");
                cx.error(id, Rule::Conflict, message);
            }
        }
        if self
            .multicast_groups
            .iter()
            .filter(|group| group.create)
            .count()
            > MAX_GROUPS
        {
            cx.error(
                id,
                Rule::Count,
                format!("more than {MAX_GROUPS} MulticastGroup with Create"),
            );
        }
    }
}

section! {
    /// `MulticastGroup`: groups that the SM creates and keeps.
    pub struct MulticastGroup {
        /// Whether it is used.
        create: bool = true, "Create" => One(flag());
        /// The virtual fabric of the groups; without it and `PKey`, all that match.
        virtual_fabric: Option<String> = None, "VirtualFabric" => Opt(Text::of(63));
        /// The partition of the groups.
        pkey: Option<PKey> = None, "PKey" => Opt(PKeyText::PARTITION);
        /// The MTU of the groups.
        mtu: Mtu = Mtu::B2048, "MTU" => One(keyword()), "MTU_Int" => Also(mtu_code());
        /// The rate of the groups.
        rate: Rate = Rate::G25, "Rate" => One(keyword()), "Rate_Int" => Also(rate_code());
        /// The service level of the groups; the virtual fabric's otherwise.
        sl: Option<Sl> = None, "SL" => Opt(named(u8s().within(0, 15), Sl, |sl: &Sl| sl.0));
        /// The Q_Key of the groups.
        qkey: u32 = 0, "QKey" => One(u32s().hex());
        /// The flow label of the groups.
        flow_label: u32 = 0, "FlowLabel" => One(u32s().hex().strictly(0, 0xf_ffff));
        /// The traffic class of the groups.
        tclass: u32 = 0, "TClass" => One(u32s().hex().strictly(0, 0xff));
        /// The groups; without any, those that IPv4 and IPv6 need.
        mgids: Vec<Mgid> = Vec::new(), "MGID" => Many(MgidText, 32);
    }
    finish check_group;
}

fn check_group(group: &mut MulticastGroup, _: Id, _: &mut Cx<'_>) {
    // The vendor's parser takes `Unlimited` as "not given" here.
    if group.mtu == Mtu::Unlimited {
        group.mtu = Mtu::B2048;
    }
    if group.rate == Rate::Unlimited {
        group.rate = Rate::G25;
    }
}
