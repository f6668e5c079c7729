// Made by crates/web/page/build.mjs.
[
    ("/chunk-23SGYGGM.js", include_bytes!("chunk-23SGYGGM.js")),
    ("/chunk-J553WWPK.js", include_bytes!("chunk-J553WWPK.js")),
    ("/chunk-RXICDMZI.js", include_bytes!("chunk-RXICDMZI.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-MFDDX4EQ.js", include_bytes!("view-MFDDX4EQ.js")),
    ("/views-KYS2INRC.js", include_bytes!("views-KYS2INRC.js")),
]
