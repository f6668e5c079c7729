// Made by crates/web/page/build.mjs.
[
    ("/chunk-4M3YL2EM.js", include_bytes!("chunk-4M3YL2EM.js")),
    ("/chunk-5XXDAL6F.js", include_bytes!("chunk-5XXDAL6F.js")),
    ("/chunk-H6BGPZ6J.js", include_bytes!("chunk-H6BGPZ6J.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-VCL3OPBK.js", include_bytes!("view-VCL3OPBK.js")),
    ("/views-CXOMRKFJ.js", include_bytes!("views-CXOMRKFJ.js")),
]
