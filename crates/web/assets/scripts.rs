// Made by crates/web/page/build.mjs.
[
    ("/chunk-HQLWW34X.js", include_bytes!("chunk-HQLWW34X.js")),
    ("/chunk-M2UUMYQD.js", include_bytes!("chunk-M2UUMYQD.js")),
    ("/chunk-ZUREUWJR.js", include_bytes!("chunk-ZUREUWJR.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-Q3U4BYIL.js", include_bytes!("view-Q3U4BYIL.js")),
    ("/views-Y3ROZ3ZJ.js", include_bytes!("views-Y3ROZ3ZJ.js")),
]
