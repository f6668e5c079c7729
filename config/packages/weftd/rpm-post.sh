/usr/lib/weft/setup
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
