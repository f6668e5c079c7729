# 0: removed, not upgraded. The names of the vendor's service are the vendor's again.
if [ "$1" = 0 ]; then
  if [ -d /run/systemd/system ]; then
    systemctl stop weftd.service || true
  fi
  systemctl --quiet disable weftd.service || true
fi
