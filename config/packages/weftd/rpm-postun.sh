if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # 1: upgraded.
  if [ "$1" -ge 1 ]; then
    systemctl try-restart weftd.service
  fi
fi
