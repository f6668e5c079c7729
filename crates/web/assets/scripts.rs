// Made by crates/web/page/build.mjs.
[
    ("/chunk-3TLCV6MQ.js", include_bytes!("chunk-3TLCV6MQ.js")),
    ("/chunk-I2JBSZMA.js", include_bytes!("chunk-I2JBSZMA.js")),
    ("/chunk-MKTJOYNZ.js", include_bytes!("chunk-MKTJOYNZ.js")),
    ("/page.js", include_bytes!("page.js")),
    ("/view-X53F2JIC.js", include_bytes!("view-X53F2JIC.js")),
    ("/views-TAKR5IB7.js", include_bytes!("views-TAKR5IB7.js")),
]
