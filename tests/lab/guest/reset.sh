#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs on a lab host and puts it back to what it was. One sh script, because a broken host still has a shell.
# KEEP_CACHES and KEEP_IMAGES are `yes` or something else.
set -u
units=$(systemctl list-units --all --no-legend --plain 'vllm-*' 'gpuhosts-vllm-*' | awk '{print $1}')
if [ -n "$units" ]; then
  systemctl kill --signal=SIGKILL $units 2>/dev/null
  for container in $(docker ps -aq --filter label=io.gpuhosts.vllm.service 2>/dev/null); do
    docker rm -f "$container" >/dev/null 2>&1
  done
  timeout 30 systemctl stop $units 2>/dev/null
  systemctl reset-failed $units 2>/dev/null
fi
for file in /etc/systemd/system/vllm-*.service /etc/systemd/system/gpuhosts-vllm-*; do
  [ -e "$file" ] || [ -L "$file" ] || continue
  systemctl disable "$(basename "$file")" >/dev/null 2>&1
  rm -rf "$file"
done
find /etc/systemd/system -name 'vllm-*' -prune -exec rm -rf {} +
rm -rf /etc/systemd/system/docker.service.d /etc/gpuhosts-vllm /var/lib/gpuhosts-vllm /run/gpuhosts-vllm \
  /usr/local/lib/gpuhosts-vllm /usr/local/bin/vllm-* /etc/docker/certs.d /root/.docker /root/.ansible
[ "$KEEP_CACHES" = yes ] || rm -rf /var/cache/gpuhosts-vllm
[ ! -d /usr/local/lab/srv ] || { rm -rf /srv; cp -a /usr/local/lab/srv /srv; }
[ ! -e /usr/local/lab/gpus.json.first ] || cp -p /usr/local/lab/gpus.json.first /usr/local/lab/gpus.json
systemctl daemon-reload
if command -v dockerd >/dev/null; then
  held=$(apt-mark showhold); [ -z "$held" ] || apt-mark unhold $held >/dev/null
  restart=no
  if ! cmp -s /usr/local/lab/daemon.json /etc/docker/daemon.json; then
    cp /usr/local/lab/daemon.json /etc/docker/daemon.json
    restart=yes
  fi
  rm -f /etc/docker/daemon.json.*
  systemctl is-active --quiet docker.service || restart=yes
  systemctl unmask docker.service docker.socket >/dev/null 2>&1
  systemctl enable docker.service >/dev/null 2>&1
  if [ "$restart" = yes ]; then
    systemctl reset-failed docker.service docker.socket 2>/dev/null
    systemctl restart docker.service || exit 1
  fi
  all=$(docker ps -aq); [ -z "$all" ] || docker rm -f $all >/dev/null
  docker volume prune -f >/dev/null
  docker network prune -f >/dev/null
  if [ "$KEEP_IMAGES" != yes ]; then docker image prune -af >/dev/null; fi
fi
exit 0
