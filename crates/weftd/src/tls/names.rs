//! What a certificate says: its holder's names, and until when it counts.

use rustls::pki_types::CertificateDer;
use weft_fabric::text::is_hidden;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// Names of one certificate, and the longest of them in bytes: further and longer ones are not heeded.
const NAMES_MAX: usize = 64;
const NAME_MAX: usize = 512;

/// The names of a holder: `uri:…` (of SPIFFE among them) and `dns:…` of its alternative names, `cn:…` of its subject.
/// Those with characters that act on a screen are left out.
pub(super) fn of_holder(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok(certificate) = Certificate::from_der(certificate) else {
        return Vec::new();
    };
    let fields = certificate.tbs_certificate();
    let alternative = fields.get_extension::<SubjectAltName>().ok().flatten();
    let alternative = alternative.map_or_else(Vec::new, |(_, names)| names.0);
    let uris = alternative.iter().filter_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(format!("uri:{}", uri.as_str())),
        _ => None,
    });
    let hosts = alternative.iter().filter_map(|name| match name {
        GeneralName::DnsName(host) => Some(format!("dns:{}", host.as_str())),
        _ => None,
    });
    let common = fields.subject().common_name().ok().flatten();
    let common = common.map(|name| format!("cn:{}", name.value()));
    let mut names: Vec<String> = uris.chain(hosts).chain(common).collect();
    names.retain(|name| name.len() <= NAME_MAX && !name.contains(is_hidden));
    names.truncate(NAMES_MAX);
    names
}

/// When a certificate ends, seconds since 1970; none where it cannot be read.
pub(super) fn end(certificate: &CertificateDer<'_>) -> Option<u64> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let validity = certificate.tbs_certificate().validity();
    Some(validity.not_after.to_unix_duration().as_secs())
}
