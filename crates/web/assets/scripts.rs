// Made by crates/web/page/build.mjs.
[
    ("/chunk-3BYPYWSS.js", include_bytes!("chunk-3BYPYWSS.js")),
    ("/chunk-7ZXZO7JM.js", include_bytes!("chunk-7ZXZO7JM.js")),
    ("/chunk-PZ72WPAJ.js", include_bytes!("chunk-PZ72WPAJ.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-6IX5532X.js", include_bytes!("view-6IX5532X.js")),
    ("/views-IXIEZ32P.js", include_bytes!("views-IXIEZ32P.js")),
]
