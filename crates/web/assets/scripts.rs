// Made by crates/web/page/build.mjs.
[
    ("/chunk-5XXDAL6F.js", include_bytes!("chunk-5XXDAL6F.js")),
    ("/chunk-H6BGPZ6J.js", include_bytes!("chunk-H6BGPZ6J.js")),
    ("/chunk-MYSGSBG5.js", include_bytes!("chunk-MYSGSBG5.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-VCL3OPBK.js", include_bytes!("view-VCL3OPBK.js")),
    ("/views-X2D4BWOY.js", include_bytes!("views-X2D4BWOY.js")),
]
