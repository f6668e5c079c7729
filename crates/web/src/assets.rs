//! The files of the page.

use std::io::Write;
use std::sync::{LazyLock, OnceLock};

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    /// Its path, from `/`.
    path: &'static str,
    /// Its media type.
    media: &'static str,
    /// Its content.
    bytes: &'static [u8],
    /// The same, compressed when it is first asked for.
    compressed: OnceLock<Vec<u8>>,
}

/// The scripts, by their paths.
const SCRIPTS: &[(&str, &[u8])] = &include!("../assets/scripts.rs");

/// All files of the page. Those that `crates/web/page/build.mjs` makes are committed, so that Cargo needs no Node.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let scripts = SCRIPTS.iter();
    let scripts = scripts.map(|(path, bytes)| asset(path, "text/javascript; charset=utf-8", bytes));
    let others = [
        asset(
            "/",
            "text/html; charset=utf-8",
            include_bytes!("../assets/index.html"),
        ),
        asset(
            "/page.css",
            "text/css; charset=utf-8",
            include_bytes!("../assets/page.css"),
        ),
        asset(
            "/icon.svg",
            "image/svg+xml",
            include_bytes!("../assets/icon.svg"),
        ),
        asset(
            "/licenses.txt",
            "text/plain; charset=utf-8",
            include_bytes!("../assets/licenses.txt"),
        ),
    ];
    scripts.chain(others).collect()
});

fn asset(path: &'static str, media: &'static str, bytes: &'static [u8]) -> Asset {
    Asset {
        path,
        media,
        bytes,
        compressed: OnceLock::new(),
    }
}

/// The file of a path.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

impl Asset {
    /// The answer to a request with these headers: the file, compressed where that is welcome, or that it has not changed.
    pub(crate) fn answer(&'static self, asked: &HeaderMap) -> Response {
        let tag = self.tag();
        let head = [
            (CONTENT_TYPE, self.media),
            (CACHE_CONTROL, "no-cache"),
            (VARY, "accept-encoding"),
            (ETAG, tag.as_str()),
        ];
        let has = |name, text: &str| {
            let value = asked.get(name).and_then(|value| value.to_str().ok());
            value.is_some_and(|value| value.contains(text))
        };
        if has(IF_NONE_MATCH, &tag) {
            return (StatusCode::NOT_MODIFIED, head).into_response();
        }
        match has(ACCEPT_ENCODING, "gzip") {
            true => {
                let bytes = self.compressed.get_or_init(|| compress(self.bytes));
                (head, [(CONTENT_ENCODING, "gzip")], Body::from(&bytes[..])).into_response()
            }
            false => (head, Body::from(self.bytes)).into_response(),
        }
    }

    /// Stands for the content: another content has another one.
    fn tag(&self) -> String {
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let hash = self.bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv);
        format!("\"{hash:016x}\"")
    }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let _ = out.write_all(bytes);
    out.finish().unwrap_or_default()
}
