// Made by crates/web/page/build.mjs.
[
    ("/chunk-74BKG25Y.js", include_bytes!("chunk-74BKG25Y.js")),
    ("/chunk-J3FZJAVN.js", include_bytes!("chunk-J3FZJAVN.js")),
    ("/chunk-SL6DHQB3.js", include_bytes!("chunk-SL6DHQB3.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-GFNTDRSB.js", include_bytes!("view-GFNTDRSB.js")),
    ("/views-6OKGTCGA.js", include_bytes!("views-6OKGTCGA.js")),
]
