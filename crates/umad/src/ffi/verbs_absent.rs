//! libibverbs: queue pairs and what belongs to them, which an emulated HFI does not have. Without
//! these functions the real ones would take the context for one of theirs.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::guard::set_errno;

// The functions are declared without their parameters, which are not looked at: by the calling
// conventions of x86-64 and aarch64 the caller places and removes them.
macro_rules! absent {
    ($($name:ident -> $result:ty = $failure:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: fails with `ENOSYS`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> $result {
            set_errno(libc::ENOSYS);
            $failure
        }
    )*};
}

absent! {
    ibv_alloc_pd -> *mut c_void = std::ptr::null_mut();
    ibv_reg_mr -> *mut c_void = std::ptr::null_mut();
    ibv_create_comp_channel -> *mut c_void = std::ptr::null_mut();
    ibv_create_cq -> *mut c_void = std::ptr::null_mut();
    ibv_create_qp -> *mut c_void = std::ptr::null_mut();
    ibv_create_ah -> *mut c_void = std::ptr::null_mut();
    ibv_dealloc_pd -> c_int = libc::ENOSYS;
    ibv_dereg_mr -> c_int = libc::ENOSYS;
    ibv_destroy_comp_channel -> c_int = libc::ENOSYS;
    ibv_destroy_cq -> c_int = libc::ENOSYS;
    ibv_destroy_qp -> c_int = libc::ENOSYS;
    ibv_destroy_ah -> c_int = libc::ENOSYS;
    ibv_modify_qp -> c_int = libc::ENOSYS;
    ibv_get_cq_event -> c_int = -1;
    ibv_query_device -> c_int = libc::ENOSYS;
    ibv_query_port -> c_int = libc::ENOSYS;
    ibv_query_gid -> c_int = -1;
    ibv_query_pkey -> c_int = -1;
}

/// `ibv_ack_cq_events`: does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_ack_cq_events() {}
