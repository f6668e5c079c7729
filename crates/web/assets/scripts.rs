// Made by crates/web/page/build.mjs.
[
    ("/chunk-NHY6LOHI.js", include_bytes!("chunk-NHY6LOHI.js")),
    ("/chunk-OLRIPVSN.js", include_bytes!("chunk-OLRIPVSN.js")),
    ("/chunk-YTGVVLHL.js", include_bytes!("chunk-YTGVVLHL.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-CRB5SSJR.js", include_bytes!("view-CRB5SSJR.js")),
    ("/views-M7MZIMOF.js", include_bytes!("views-M7MZIMOF.js")),
]
