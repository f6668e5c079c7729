// Made by crates/web/page/build.mjs.
[
    ("/chunk-6S4F67SQ.js", include_bytes!("chunk-6S4F67SQ.js")),
    ("/chunk-NHY6LOHI.js", include_bytes!("chunk-NHY6LOHI.js")),
    ("/chunk-OLRIPVSN.js", include_bytes!("chunk-OLRIPVSN.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-CRB5SSJR.js", include_bytes!("view-CRB5SSJR.js")),
    ("/views-WJICZDFC.js", include_bytes!("views-WJICZDFC.js")),
]
