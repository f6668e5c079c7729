// Made by crates/web/page/build.mjs.
[
    ("/chunk-AUUZBOTY.js", include_bytes!("chunk-AUUZBOTY.js")),
    ("/chunk-NKBNK66K.js", include_bytes!("chunk-NKBNK66K.js")),
    ("/chunk-R3W6HX4S.js", include_bytes!("chunk-R3W6HX4S.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-EJTUIU2U.js", include_bytes!("view-EJTUIU2U.js")),
    ("/views-IS26PAGG.js", include_bytes!("views-IS26PAGG.js")),
]
