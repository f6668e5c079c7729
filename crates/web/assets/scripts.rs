// Made by crates/web/page/build.mjs.
[
    ("/chunk-C7DQCSPJ.js", include_bytes!("chunk-C7DQCSPJ.js")),
    ("/chunk-CFTMH7TV.js", include_bytes!("chunk-CFTMH7TV.js")),
    ("/chunk-M3E24ALF.js", include_bytes!("chunk-M3E24ALF.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-R3RXHECW.js", include_bytes!("view-R3RXHECW.js")),
    ("/views-JR3AQX4M.js", include_bytes!("views-JR3AQX4M.js")),
]
