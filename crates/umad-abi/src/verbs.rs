//! `infiniband/verbs.h`: devices and their events.

use std::ffi::{c_char, c_int, c_void};

use crate::layout::{c_constants, c_struct};

c_constants! {
    /// Event: the device is gone or broken.
    EVENT_DEVICE_FATAL: c_int = 8, "IBV_EVENT_DEVICE_FATAL";
    /// Event: the port became active.
    EVENT_PORT_ACTIVE: c_int = 9, "IBV_EVENT_PORT_ACTIVE";
    /// Event: the port is active no longer.
    EVENT_PORT_ERR: c_int = 10, "IBV_EVENT_PORT_ERR";
    /// Event: the port has other LIDs.
    EVENT_LID_CHANGE: c_int = 11, "IBV_EVENT_LID_CHANGE";
    /// Event: the port has other partition keys.
    EVENT_PKEY_CHANGE: c_int = 12, "IBV_EVENT_PKEY_CHANGE";
    /// Event: the subnet manager is elsewhere.
    EVENT_SM_CHANGE: c_int = 13, "IBV_EVENT_SM_CHANGE";
    /// Event: the subnet manager requests programs to register again.
    EVENT_CLIENT_REREGISTER: c_int = 17, "IBV_EVENT_CLIENT_REREGISTER";
    /// Event: the port has other GIDs.
    EVENT_GID_CHANGE: c_int = 18, "IBV_EVENT_GID_CHANGE";
    /// `node_type` of an adapter.
    NODE_CA: c_int = 1, "IBV_NODE_CA";
    /// `transport_type` of InfiniBand and Omni-Path.
    TRANSPORT_IB: c_int = 0, "IBV_TRANSPORT_IB";
}

c_struct! {
    /// A device.
    #[derive(Debug)]
    IbvDevice is "struct ibv_device" {
        /// Obsolete.
        _ops: [*mut c_void; 2],
        /// [`NODE_CA`].
        node_type: c_int,
        /// [`TRANSPORT_IB`].
        transport_type: c_int,
        /// Name of the adapter.
        name: [c_char; 64],
        /// Name of its device.
        dev_name: [c_char; 64],
        /// Path of its device in sysfs.
        dev_path: [c_char; 256],
        /// Path of the adapter in sysfs.
        ibdev_path: [c_char; 256],
    }
}

c_struct! {
    /// An open device.
    #[derive(Debug)]
    IbvContext is "struct ibv_context" {
        /// The device.
        device: *mut IbvDevice,
        /// Functions of a driver.
        ops: [*mut c_void; 32],
        /// File descriptor for commands.
        cmd_fd: c_int,
        /// Readable when there is an event.
        async_fd: c_int,
        /// Completion vectors.
        num_comp_vectors: c_int,
        /// `pthread_mutex_t`, which only drivers use.
        mutex: [u64; 5],
        /// Unused.
        abi_compat: *mut c_void,
    }
}

c_struct! {
    /// An event of a device or a port.
    #[derive(Debug, Clone, Copy)]
    IbvAsyncEvent is "struct ibv_async_event" {
        /// Port number of a port event; unused in device events.
        element: u64,
        /// `enum ibv_event_type`.
        event_type: c_int,
    }
}
