// Made by crates/web/page/build.mjs.
[
    ("/chunk-74BKG25Y.js", include_bytes!("chunk-74BKG25Y.js")),
    ("/chunk-J3FZJAVN.js", include_bytes!("chunk-J3FZJAVN.js")),
    ("/chunk-LZDKKE3G.js", include_bytes!("chunk-LZDKKE3G.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-GFNTDRSB.js", include_bytes!("view-GFNTDRSB.js")),
    ("/views-BZIVEMOP.js", include_bytes!("views-BZIVEMOP.js")),
]
