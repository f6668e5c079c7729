//! Options of the page.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Options of the page.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PageArgs {
    /// Address of the page for browsers, ADDRESS:PORT, or `off`: by default off; for an emulated fabric without --listen
    /// 127.0.0.1 with port 9317 for instance 0, 9327 for instance 1 and so on. Who looks at it has the role of somebody at a
    /// loopback address; an address other than loopback needs --tls-cert, --tls-key and --tls-client-ca, and the browser
    /// a certificate.
    #[arg(long, value_name = "ADDRESS")]
    web: Option<Web>,
}

/// Whether there is a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Web {
    Off,
    At(SocketAddr),
}

impl FromStr for Web {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            _ => text
                .parse()
                .map(Self::At)
                .map_err(|_| "expected ADDRESS:PORT, such as 127.0.0.1:9317, or off".to_owned()),
        }
    }
}

impl PageArgs {
    /// Its address, at loopback with this port where none is given; none without a page.
    pub(crate) fn address(&self, stock: Option<u16>) -> Option<SocketAddr> {
        match self.web {
            Some(Web::Off) => None,
            Some(Web::At(address)) => Some(address),
            None => stock.map(|port| (Ipv4Addr::LOCALHOST, port).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_where_it_is_asked_for_or_where_it_usually_is_or_nowhere() {
        let at = |web: Option<&str>, stock| {
            let web = web.map(|text| text.parse().expect(text));
            PageArgs { web }.address(stock).map(|at| at.to_string())
        };
        let usual = Some("127.0.0.1:9317".to_owned());
        assert_eq!(at(None, Some(9317)), usual);
        assert_eq!(at(None, None), None);
        assert_eq!(at(Some("off"), Some(9317)), None);
        assert_eq!(
            at(Some("[::1]:80"), Some(9317)),
            Some("[::1]:80".to_owned())
        );
        for wrong in ["on", "9317", "localhost:9317", "", "unix:/tmp/x"] {
            let why = wrong.parse::<Web>().expect_err(wrong);
            assert!(why.contains("or off"), "{wrong}: {why}");
        }
    }
}
