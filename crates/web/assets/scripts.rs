// Made by crates/web/page/build.mjs.
[
    ("/chunk-5KB2PM6R.js", include_bytes!("chunk-5KB2PM6R.js")),
    ("/chunk-NHY6LOHI.js", include_bytes!("chunk-NHY6LOHI.js")),
    ("/chunk-OLRIPVSN.js", include_bytes!("chunk-OLRIPVSN.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-CRB5SSJR.js", include_bytes!("view-CRB5SSJR.js")),
    ("/views-X4PZIKRT.js", include_bytes!("views-X4PZIKRT.js")),
]
