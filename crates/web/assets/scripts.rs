// Made by crates/web/page/build.mjs.
[
    ("/chunk-2HQ7JXZJ.js", include_bytes!("chunk-2HQ7JXZJ.js")),
    ("/chunk-I7YYKFRZ.js", include_bytes!("chunk-I7YYKFRZ.js")),
    ("/chunk-QH2ZYFGY.js", include_bytes!("chunk-QH2ZYFGY.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-4SATZP4C.js", include_bytes!("view-4SATZP4C.js")),
    ("/views-YPYA5SHL.js", include_bytes!("views-YPYA5SHL.js")),
]
