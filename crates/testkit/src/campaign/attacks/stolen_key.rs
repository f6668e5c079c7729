//! Attack 2: the M_Key of the attacker's own port, which the driver of an adapter whose agent it is has in its memory, on
//! other devices.

use super::set_to_switch;
use super::site::Site;
use crate::campaign::bring_up::RunError;

/// Writes to others with it.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    let key = site.own_m_key();
    site.note("Sets with the M_Key of its own port");
    set_to_switch::write(site, |_| key)
}
