//! `Shared`: identity of an instance, and values that its SM, FE and PM inherit.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_wire::id::Guid;

use crate::section::{Also, One, Opt, section};
use crate::syntax::{
    GuidNumber, Text, Words, bits32, core_limit, flag, keyword, keywords, minutes, u8s, u32s, u64s,
};
use crate::value::CoreLimit;

/// The highest number of instances (`Fm`) of one file.
pub const MAX_INSTANCES: usize = 8;

section! {
    /// `Shared`: identity and common settings of an instance.
    pub struct Shared {
        /// Whether the instance runs at all.
        start: bool = false, "Start" => One(flag());
        /// The name of the instance, for logs.
        name: String = String::new(), "Name" => One(Text::of(63));
        /// The HFI that the instance uses, from 1.
        hfi: u32 = 1, "Hfi" => One(u32s().within(1, u32::MAX as u64 - 1));
        /// The port of that HFI, from 1.
        port: u32 = 1, "Port" => One(u32s().strictly(1, 255));
        /// The port by its GUID instead; 0 uses `Hfi` and `Port`.
        port_guid: Guid = Guid(0), "PortGUID" => One(GuidNumber);
        /// The upper half of every GID of the subnet.
        subnet_prefix: u64 = 0, "SubnetPrefix" => One(u64s().hex());
        /// Reaction of a standby to a master with other settings: 1 logs it, 2 also ends its standby role. Of a `weftd`
        /// with `--peer`.
        config_consistency_check_level: u32 = 2, "ConfigConsistencyCheckLevel" => One(u32s().raised(1, 2));
    }
    flat {
        /// Size and start.
        startup: Startup;
        /// Priorities in the election of the master.
        election: Election;
        /// Core files.
        core_dump: CoreDump;
        /// Logs.
        logging: Logging;
        /// Certificates for clients.
        ssl: Ssl;
    }
}

section! {
    /// Size and start of a component.
    pub struct Startup {
        /// The expected maximum number of host ports.
        #[no_effect("there is no limit to reserve memory for: it grows with the fabric")]
        subnet_size: u32 = 2560, "SubnetSize" => One(u32s().clamped(40, 64000));
        /// Number of restarts of a component that ended before `StartupStableWait`.
        #[no_effect("systemd starts the daemon again: Restart= in its unit")]
        startup_retries: u32 = 5, "StartupRetries" => One(u32s());
        /// Time in minutes after which a component counts as stable.
        #[no_effect("systemd decides when a start has failed: StartLimitIntervalSec= in the unit")]
        startup_stable_wait: Duration = Duration::from_secs(600), "StartupStableWait" => One(minutes());
    }
}

section! {
    /// Priorities in the election of the master.
    pub struct Election {
        /// The higher one wins the election.
        priority: u8 = 0, "Priority" => One(u8s().within(0, 15));
        /// The winner's priority after the election, so that it stays master.
        elevated_priority: u8 = 0, "ElevatedPriority" => One(u8s().within(0, 15));
    }
}

section! {
    /// Core files.
    pub struct CoreDump {
        /// The largest core file.
        #[no_effect("systemd limits core files: LimitCORE= in the unit")]
        core_dump_limit: CoreLimit = CoreLimit::Bytes(0), "CoreDumpLimit" => One(core_limit());
        /// Directory for core files.
        #[no_effect("the system decides where core files go: see coredumpctl", told_by = "CoreDumpLimit")]
        core_dump_dir: String = "/var/crash/opafm".to_owned(), "CoreDumpDir" => One(Text::absolute_path());
    }
}

/// A facility of syslog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // The names are syslog's own.
pub enum SyslogFacility {
    Auth,
    AuthPriv,
    Cron,
    Daemon,
    Ftp,
    Kern,
    Local0,
    Local1,
    Local2,
    Local3,
    Local4,
    Local5,
    #[default]
    Local6,
    Local7,
    Lpr,
    Mail,
    News,
    Syslog,
    User,
    Uucp,
}

keywords! { SyslogFacility {
    "auth" => Auth, "authpriv" => AuthPriv, "cron" => Cron, "daemon" => Daemon, "ftp" => Ftp, "kern" => Kern,
    "local0" => Local0, "local1" => Local1, "local2" => Local2, "local3" => Local3, "local4" => Local4,
    "local5" => Local5, "local6" => Local6, "local7" => Local7, "lpr" => Lpr, "mail" => Mail, "news" => News,
    "syslog" => Syslog, "user" => User, "uucp" => Uucp,
} }

section! {
    /// Logs of a component.
    pub struct Logging {
        /// Log level: 0 errors, 1 warnings and events of the fabric, 2 and 3 also progress, 4 to 6 details, 7 everything.
        log_level: u32 = 1, "LogLevel" => One(u32s().strictly(0, 7));
        /// Bit 0: at levels 1 and 2 only events of the fabric and warnings; bit 1: with a `LogFile`, nothing goes elsewhere.
        log_mode: u32 = 0, "LogMode" => One(u32s().strictly(0, 3));
        /// The file for logs besides the journal or standard error.
        log_file: Option<String> = None, "LogFile" => Opt(Text::of(99));
        /// The facility of syslog, a field of lines in the journal.
        syslog_facility: SyslogFacility = SyslogFacility::default(), "SyslogFacility" => One(FACILITY);
        /// Development: more checks and messages.
        #[no_effect("for development of the vendor's manager")]
        debug: u32 = 0, "Debug" => One(u32s());
        /// Development: messages about RMPP.
        #[no_effect("for development of the vendor's manager")]
        rmpp_debug: u32 = 0, "RmppDebug" => One(u32s());
        /// Log mask of the common services: severity bits in place of `LogLevel`.
        #[no_effect("this part writes no lines of its own")]
        cs_log_mask: Option<u32> = None, "CS_LogMask" => Opt(bits32());
        /// Log mask of the management datagram layer.
        #[no_effect("this part writes no lines of its own")]
        mai_log_mask: Option<u32> = None, "MAI_LogMask" => Opt(bits32());
        /// Log mask of the channel adapter layer.
        #[no_effect("this part writes no lines of its own")]
        cal_log_mask: Option<u32> = None, "CAL_LogMask" => Opt(bits32());
        /// Log mask of the driver.
        #[no_effect("this part writes no lines of its own")]
        dvr_log_mask: Option<u32> = None, "DVR_LogMask" => Opt(bits32());
        /// Log mask of the interface to other managers.
        #[no_effect("this part writes no lines of its own")]
        if3_log_mask: Option<u32> = None, "IF3_LogMask" => Opt(bits32());
        /// Log mask of the subnet manager.
        sm_log_mask: Option<u32> = None, "SM_LogMask" => Opt(bits32());
        /// Log mask of subnet administration.
        sa_log_mask: Option<u32> = None, "SA_LogMask" => Opt(bits32());
        /// Log mask of the performance manager.
        pm_log_mask: Option<u32> = None, "PM_LogMask" => Opt(bits32());
        /// Log mask of performance administration.
        #[no_effect("this part writes no lines of its own")]
        pa_log_mask: Option<u32> = None, "PA_LogMask" => Opt(bits32());
        /// Log mask of the baseboard manager.
        #[no_effect("there is no baseboard manager")]
        bm_log_mask: Option<u32> = None, "BM_LogMask" => Opt(bits32());
        /// Log mask of the fabric executive.
        #[no_effect("there is no fabric executive")]
        fe_log_mask: Option<u32> = None, "FE_LogMask" => Opt(bits32());
        /// Log mask of applications.
        #[no_effect("this part writes no lines of its own")]
        app_log_mask: Option<u32> = None, "APP_LogMask" => Opt(bits32());
    }
}

const FACILITY: Words<SyslogFacility> = keyword().exact();

section! {
    /// Certificates with which clients of the fabric executive and the manager know each other.
    pub struct Ssl {
        /// Whether clients must use TLS.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd")]
        enable: bool = false, "SslSecurityEnable" => One(flag()), "SslSecurityEnabled" => Also(flag());
        /// Directory of the files in this section.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd", told_by = "SslSecurityEnable")]
        dir: String = "/usr/local/ssl/opafm".to_owned(), "SslSecurityDir" => One(Text::of(255));
        /// The manager's certificate.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd", told_by = "SslSecurityEnable")]
        certificate: String = "fm_cert.pem".to_owned(), "SslSecurityFmCertificate" => One(Text::of(255));
        /// The key of that certificate.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd", told_by = "SslSecurityEnable")]
        private_key: String = "fm_key.pem".to_owned(), "SslSecurityFmPrivateKey" => One(Text::of(255));
        /// The certificate of the authority.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd", told_by = "SslSecurityEnable")]
        ca_certificate: String = "fm_ca_cert.pem".to_owned(), "SslSecurityFmCaCertificate" => One(Text::of(255));
        /// Maximum number of certificates between a client's and the authority's.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd", told_by = "SslSecurityEnable")]
        cert_chain_depth: u32 = 1, "SslSecurityFmCertChainDepth" => One(u32s());
        /// The Diffie-Hellman parameters.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd", told_by = "SslSecurityEnable")]
        dh_parameters: String = "fm_dh_parms.pem".to_owned(), "SslSecurityFmDHParameters" => One(Text::of(255));
        /// Whether revoked certificates are looked up.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd", told_by = "SslSecurityEnable")]
        ca_crl_enable: bool = false, "SslSecurityFmCaCRLEnable" => One(flag()), "SslSecurityFmCaCRLEnabled" => Also(flag());
        /// The list of revoked certificates.
        #[no_effect("TLS is for gRPC: --tls-cert, --tls-key and --tls-client-ca of weftd", told_by = "SslSecurityEnable")]
        ca_crl: String = "fm_ca_crl.pem".to_owned(), "SslSecurityFmCaCRL" => One(Text::of(255));
    }
}
