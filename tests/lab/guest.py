# SPDX-License-Identifier: Apache-2.0
"""Scripts that run on a lab host: put it back to what it was, and tell all that a deployment may have touched there."""

from __future__ import annotations

# One sh script, because a bare host and a broken one have it. The Docker part waits for nothing but Docker itself.
RESET = r"""
set -u
units=$(systemctl list-units --all --no-legend --plain 'vllm-*' 'gpuhosts-vllm-*' | awk '{print $1}')
if [ -n "$units" ]; then
  systemctl kill --signal=SIGKILL $units 2>/dev/null
  for container in $(docker ps -aq --filter label=io.gpuhosts.vllm.service 2>/dev/null); do docker rm -f "$container"; done >/dev/null 2>&1
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
  if ! cmp -s /usr/local/lab/daemon.json /etc/docker/daemon.json; then cp /usr/local/lab/daemon.json /etc/docker/daemon.json; restart=yes; fi
  rm -f /etc/docker/daemon.json.*
  systemctl is-active --quiet docker.service || restart=yes
  systemctl unmask docker.service docker.socket >/dev/null 2>&1; systemctl enable docker.service >/dev/null 2>&1
  if [ "$restart" = yes ]; then systemctl reset-failed docker.service 2>/dev/null; systemctl restart docker.service || exit 1; fi
  all=$(docker ps -aq); [ -z "$all" ] || docker rm -f $all >/dev/null
  docker volume prune -f >/dev/null
  docker network prune -f >/dev/null
  if [ "$KEEP_IMAGES" != yes ]; then docker image prune -af >/dev/null; fi
fi
exit 0
"""

# What a deployment may touch. All of /etc, because "it changed nothing else" has to be shown, not assumed.
SNAPSHOT = r"""
import grp, hashlib, json, os, pwd, stat, subprocess, sys
ROOTS = ["/etc", "/usr/local", "/opt", "/srv", "/root", "/home", "/var/lib/gpuhosts-vllm", "/var/cache/gpuhosts-vllm", "/run/gpuhosts-vllm"]
SKIP = ("/root/.ansible", "/root/.cache", "/etc/ssh/ssh_host_", "/root/.bash_history")
def name(lookup, number):
    try:
        return lookup(number)[0]
    except KeyError:
        return str(number)
def entry(path):
    info = os.lstat(path)
    what = {"mode": oct(stat.S_IMODE(info.st_mode)), "owner": name(pwd.getpwuid, info.st_uid) + ":" + name(grp.getgrgid, info.st_gid)}
    if stat.S_ISLNK(info.st_mode):
        what["link"] = os.readlink(path)
    elif stat.S_ISREG(info.st_mode):
        digest = hashlib.sha256()
        with open(path, "rb") as handle:
            for part in iter(lambda: handle.read(1 << 20), b""):
                digest.update(part)
        what["sha256"] = digest.hexdigest()
    else:
        what["kind"] = stat.S_IFMT(info.st_mode)
    return what
def files():
    found = {}
    for root in ROOTS:
        for folder, folders, names in os.walk(root):
            folders[:] = [d for d in folders if not os.path.join(folder, d).startswith(SKIP)]
            for path in [folder, *(os.path.join(folder, n) for n in names), *(os.path.join(folder, d) for d in folders if os.path.islink(os.path.join(folder, d)))]:
                if not path.startswith(SKIP):
                    try:
                        found[path] = entry(path)
                    except FileNotFoundError:
                        pass
    return found
def lines(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
    except FileNotFoundError:
        return []
    return sorted(line for line in done.stdout.splitlines() if line.strip()) if done.returncode == 0 else []
def units():
    names = [line.split()[0] for line in lines("systemctl", "list-units", "--all", "--no-legend", "--plain", "vllm-*", "gpuhosts-vllm-*", "docker.service", "containerd.service")]
    keep = "ActiveState,SubState,UnitFileState,InvocationID,NRestarts,FragmentPath"
    found = {}
    for unit in names:
        shown = lines("systemctl", "show", "--property=" + keep, unit)
        found[unit] = dict(line.split("=", 1) for line in shown)
    return found
def engine():
    if subprocess.run(["sh", "-c", "docker info >/dev/null 2>&1"]).returncode != 0:
        return {"reachable": False}
    ids = lines("docker", "ps", "-aq", "--no-trunc")
    containers = {}
    if ids:
        text = subprocess.run(["docker", "inspect", *ids], stdout=subprocess.PIPE, universal_newlines=True).stdout
        for one in json.loads(text or "[]"):
            containers[one["Name"].lstrip("/")] = {"id": one["Id"], "image": one["Image"], "status": one["State"]["Status"], "started": one["State"]["StartedAt"], "labels": one["Config"]["Labels"]}
    return {"reachable": True, "containers": containers,
        "images": lines("docker", "images", "--no-trunc", "--digests", "--format", "{{.Repository}}:{{.Tag}}@{{.Digest}} {{.ID}}"),
        "networks": lines("docker", "network", "ls", "--format", "{{.Name}} {{.Driver}}"),
        "volumes": lines("docker", "volume", "ls", "--format", "{{.Name}}")}
json.dump({"files": files(), "units": units(), "unit_files": lines("systemctl", "list-unit-files", "--no-legend", "--plain"),
    "docker": engine(), "packages": lines("dpkg-query", "-W", "-f", "${Package}=${Version}=${db:Status-Abbrev}\n"), "held": lines("apt-mark", "showhold")}, sys.stdout)
"""
