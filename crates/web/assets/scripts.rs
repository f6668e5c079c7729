// Made by crates/web/page/build.mjs.
[
    ("/chunk-NHY6LOHI.js", include_bytes!("chunk-NHY6LOHI.js")),
    ("/chunk-OLRIPVSN.js", include_bytes!("chunk-OLRIPVSN.js")),
    ("/chunk-PZAYNNMQ.js", include_bytes!("chunk-PZAYNNMQ.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-CRB5SSJR.js", include_bytes!("view-CRB5SSJR.js")),
    ("/views-4VN2JJMD.js", include_bytes!("views-4VN2JJMD.js")),
]
