"""Client of weftd, the Weft fabric manager for Omni-Path.

`connect` gives a `Client`; its answers are the messages of `weft.v1`, which are documented in proto/weft/v1.
"""

from weft.client import Client, Snapshot, Tls, WeftError, connect

__all__ = ["Client", "Snapshot", "Tls", "WeftError", "connect"]
