//! OpenSM over ibsim.
