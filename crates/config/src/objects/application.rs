//! Applications: service identifiers and multicast groups under a name.

use serde::{Deserialize, Serialize};

use super::define;
use crate::section::{Many, One, Subs, section};
use crate::syntax::{
    IntervalOf, Kind, MaskedOf, MgidText, ServiceIdText, Text, keyword, keywords, reference,
};
use crate::value::{Interval, Masked, Mgid, ServiceId};

section! {
    /// `Applications`: those of `Fm` add to those of `Common`.
    pub struct Applications {
        /// The applications, in the order of the file.
        list: Vec<Application> = Vec::new(), "Application" => Subs(64);
    }
}

/// Applications by keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ApplicationSelect {
    /// Subnet administration.
    Sa,
    /// Every service identifier that no other virtual fabric of the port has.
    UnmatchedServiceId,
    /// Every multicast group that no other virtual fabric has.
    UnmatchedMgid,
    /// The performance manager and its agents.
    Pm,
}

keywords! { ApplicationSelect {
    "SA" => Sa, "UnmatchedServiceID" => UnmatchedServiceId, "UnmatchedMGID" => UnmatchedMgid, "PM" => Pm,
} }

section! {
    /// `Application`: selects traffic of a virtual fabric.
    pub struct Application {
        /// Its name, unique among applications.
        name: String = String::new(), "Name" => One(Text::of(63));
        /// Service identifiers.
        service_ids: Vec<ServiceId> = Vec::new(), "ServiceID" => Many(ServiceIdText, 64);
        /// Ranges of service identifiers.
        service_id_ranges: Vec<Interval<ServiceId>> = Vec::new(), "ServiceIDRange" => Many(IntervalOf::new(), 64);
        /// Service identifiers by some of their bits.
        service_id_masks: Vec<Masked<ServiceId>> = Vec::new(), "ServiceIDMasked" => Many(MaskedOf::new(), 64);
        /// Multicast groups.
        mgids: Vec<Mgid> = Vec::new(), "MGID" => Many(MgidText, 64);
        /// Ranges of multicast groups.
        mgid_ranges: Vec<Interval<Mgid>> = Vec::new(), "MGIDRange" => Many(IntervalOf::new(), 64);
        /// Multicast groups by some of their bits.
        mgid_masks: Vec<Masked<Mgid>> = Vec::new(), "MGIDMasked" => Many(MaskedOf::new(), 64);
        /// Applications by keyword.
        select: Vec<ApplicationSelect> = Vec::new(), "Select" => Many(keyword(), 64);
        /// Applications to include.
        include: Vec<String> = Vec::new(), "IncludeApplication" => Many(reference(Kind::Application), 32);
    }
    finish |application, id, cx| define(Kind::Application, &application.name, true, id, cx);
}

impl Applications {
    /// The application of a name.
    pub fn get(&self, name: &str) -> Option<&Application> {
        self.list
            .iter()
            .find(|application| application.name == name)
    }
}
