"""Who operates: a user with sudo and a password, tight umasks, no execution in temporary folders, words of all kinds.

Tests of one fixture go on from where the one before ended.
"""

from __future__ import annotations

import json
import shlex

import pytest

from tests.integration.harness import Inventory, ansible, service

HOST = "gpu1"
STATE = "/var/lib/gpuhosts-vllm/chat"
PASSWORD = 'it\'s "quoted", 5% of $HOME \\ ü'
MODEL = '/srv/models/tiny llama\'s 5% "ü", $HOME \\n'
NAMES = ["chat", 'two words, "both" it\'s $HOME \\n 5%', "größe"]
ENV = {
    "LAB_QUOTES": 'it\'s "quoted" `date` $(date) ${HOME} $$',
    "LAB_SIGNS": "100% \\ \\n \\\\ ! # & | ; < > * ? ~ [a] {b} (c) =,",
    "LAB_UMLAUT": "Größe 東京 🚀",
    "LAB_SPACES": "  two  leading, two trailing  ",
    "LAB_EMPTY": "",
}
SECRETS = {
    "VLLM_API_KEY": "key 'with' \"quotes\", $HOME `date` \\ 5% #",
    "LAB_TOKEN": "geheim ü 東京 'a' \"b\" $HOME $(date) \\n \\\\ %s !",
}
MOUNT = {"source": '/srv/more, "of" it\'s', "target": '/more, "of" it\'s', "read_only": True}
LABEL = 'lab.says=it\'s "quoted", $HOME \\n 5% ü'
SERVICE = service(
    model=MODEL,
    config={"served-model-name": NAMES, "max-model-len": 1024},
    env=ENV,
    mounts=[MOUNT],
    docker_args=["--label", LABEL, f"--label=joined.{LABEL}", "--hostname", "lab-host"],
)

# `pam_umask` first takes away what the group would get back, and the locale is what a host without one has.
MAKE_OPERATOR = r"""
set -e
useradd --create-home --shell /bin/sh --groups sudo ops
install -d -m 700 -o ops -g ops ~ops/.ssh ~ops/tmp
install -m 600 -o ops -g ops /root/.ssh/authorized_keys ~ops/.ssh/authorized_keys
mount -t tmpfs -o noexec,nosuid,mode=700,uid=$(id -u ops),gid=$(id -g ops) tmpfs ~ops/tmp
cp -a /etc/pam.d/sshd /root/pam-sshd && cp -a /etc/pam.d/sudo /root/pam-sudo
for file in sshd sudo; do echo 'session optional pam_umask.so nousergroups umask=0077' >> /etc/pam.d/$file; done
printf 'LANG=C\nLC_ALL=POSIX\n' > /etc/default/locale
"""
UNMAKE_OPERATOR = r"""
[ ! -e /root/pam-sshd ] || mv /root/pam-sshd /etc/pam.d/sshd
[ ! -e /root/pam-sudo ] || mv /root/pam-sudo /etc/pam.d/sudo
rm -f /etc/default/locale
pkill -KILL -u ops; umount ~ops/tmp; userdel --remove ops; userdel --remove reader; groupdel vllm-status
rm -rf /srv/more*
true
"""


def sudo_user(**changes):
    """The variables of an operator who comes in as a user and becomes root by password."""
    return {
        "ansible_user": "ops",
        "ansible_become_password": PASSWORD,
        "ansible_remote_tmp": "~/tmp/ansible",
        **changes,
    }


@pytest.fixture(scope="module")
def operator(lab, empty_host):
    """Make the user `ops` on an empty host, and take it away afterwards."""
    host = lab[HOST]
    host.run(UNMAKE_OPERATOR)
    empty_host(HOST)
    host.run(MAKE_OPERATOR)
    host.run(f"echo {shlex.quote('ops:' + PASSWORD)} | chpasswd")
    host.run(f"cp -a /srv/models/tiny-llama {shlex.quote(MODEL)}")
    source = shlex.quote(MOUNT["source"])
    host.run(f"mkdir -p {source} && echo here > {source}/file")
    yield host
    host.run(UNMAKE_OPERATOR)
    host.reset()


@pytest.fixture(scope="module")
def inventory(tmp_path_factory, standin_lock, operator):
    """Give the inventory of the operator."""
    return Inventory.make(
        tmp_path_factory.mktemp("operator"),
        {"chat": SERVICE},
        hosts=(HOST,),
        lock=standin_lock,
        vllm_secrets={"chat": SECRETS},
        ansible_ssh_pipelining=False,
        **sudo_user(),
    )


@pytest.fixture
def no_locale(monkeypatch):
    """A controller that has no locale."""
    for name in ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)


def identity(host):
    """Say which start of which container serves now."""
    return host.run(
        "systemctl show -P InvocationID vllm-chat; docker inspect -f '{{.Id}} {{.State.StartedAt}}' vllm-chat"
    )


def test_the_operator_is_what_the_tests_say(inventory, operator, no_locale):
    said = ansible(
        "ansible",
        HOST,
        "-i",
        str(inventory.folder / "hosts.json"),
        "-b",
        "-m",
        "ansible.builtin.shell",
        "-a",
        "umask; id -un; echo $LANG $LC_ALL; findmnt -no OPTIONS -T ~ops/tmp",
    )
    assert said.rc == 0, said.text
    assert "0077\nroot\nC POSIX\n" in said.text and "noexec" in said.text
    print(f"sudo by password, pipelining off: {said.seconds:.1f} s for one module")


def test_check_mode_changes_nothing_and_predicts(inventory, snapshots, no_locale):
    with snapshots(HOST):
        played = inventory.play("deploy", "--check", "--diff")
    assert played.rc == 0, played.text
    assert played.changes(HOST) > 0
    print(f"check mode {played.seconds:.1f} s")


def test_deploy(inventory, operator, no_locale):
    played = inventory.play("deploy", "--diff", "-v")
    assert played.rc == 0, played.text
    assert "generated 8 tokens" in played.text
    assert not [secret for secret in SECRETS.values() if secret in played.text]
    print(f"deploy {played.seconds:.1f} s")


def test_the_engine_gets_every_word_unchanged(inventory, operator):
    container = json.loads(operator.run("docker inspect vllm-chat"))[0]
    environment = dict(word.split("=", 1) for word in container["Config"]["Env"])
    assert {name: environment[name] for name in ENV} == ENV
    args = container["Args"]
    assert MODEL in args
    at = args.index("--served-model-name")
    assert args[at + 1 : at + 1 + len(NAMES)] == NAMES
    assert container["Config"]["Labels"]["lab.says"] == LABEL.partition("=")[2]
    assert container["Config"]["Labels"]["joined.lab.says"] == LABEL.partition("=")[2]
    mounts = {mount["Source"]: mount["Destination"] for mount in container["Mounts"]}
    assert mounts[MODEL] == MODEL
    assert mounts[MOUNT["source"]] == MOUNT["target"]
    inside = operator.run(f"docker exec vllm-chat cat {shlex.quote(MOUNT['target'] + '/file')}")
    assert inside == "here"


def test_the_process_of_the_engine_has_the_secrets_unchanged(operator):
    pid = operator.run("docker top vllm-chat -eo pid,args | awk '/VLLM::EngineCore/ {print $1; exit}'")
    read = f"import json; print(json.dumps(open('/proc/{pid}/environ', 'rb').read().decode().split(chr(0))))"
    words = json.loads(operator.run(f"python3 -c {shlex.quote(read)}"))
    environment = dict(word.split("=", 1) for word in words if "=" in word)
    assert {name: environment[name] for name in SECRETS} == SECRETS
    assert {name: environment[name] for name in ENV} == ENV


def test_clients_find_the_model_by_each_name(operator):
    key = SECRETS["VLLM_API_KEY"]
    answer = operator.run(f"curl -sf http://127.0.0.1:8000/v1/models -H {shlex.quote('Authorization: Bearer ' + key)}")
    assert [model["id"] for model in json.loads(answer)["data"]] == NAMES


@pytest.mark.parametrize("pipelining", [False, True])
def test_the_second_deploy_changes_nothing(inventory, operator, no_locale, snapshots, pipelining):
    before = identity(operator)
    with snapshots(HOST):
        played = inventory.play("deploy", "--diff", "-e", json.dumps({"ansible_ssh_pipelining": pipelining}))
    assert (played.rc, played.changes(HOST)) == (0, 0), played.text
    assert "unchanged: it runs what the inventory wants" in played.text
    assert identity(operator) == before
    print(f"second deploy, pipelining {pipelining}: {played.seconds:.1f} s")


def as_user(host, user, command):
    """Run a command as a user of the host, with what it said and its status."""
    words = f"LC_ALL=C runuser -u {user} -- {command} 2>&1; echo status=$?"
    said, _line, status = host.run(words).rpartition("status=")
    return int(status), said


READS = (
    "vllm-host status chat",
    "vllm-host status chat --json",
    "vllm-host show chat",
    "vllm-host show chat start",
    "vllm-host show chat journal",
    "vllm-host startup-log chat",
    "vllm-host startup-log chat --log",
)


def test_nobody_but_root_reads_the_state_until_a_group_is_named(operator):
    operator.run("useradd --no-create-home reader")
    for command in READS:
        code, said = as_user(operator, "reader", command)
        assert code == 1, said
        assert "/var/lib/gpuhosts-vllm is for root alone" in said and "vllm_status_group" in said
        assert "Traceback" not in said and len(said.splitlines()) == 1, said


def test_a_group_may_read_and_the_deployed_service_goes_on(inventory, operator, no_locale):
    before = identity(operator)
    inventory.declare(
        {"chat": SERVICE},
        vllm_secrets={"chat": SECRETS},
        vllm_status_group="vllm-status",
        **sudo_user(ansible_ssh_pipelining=True),
    )
    checked = inventory.play("deploy", "--check", "--diff")
    assert checked.rc == 0, checked.text
    played = inventory.play("deploy", "--diff")
    assert played.rc == 0, played.text
    assert checked.changes(HOST) == played.changes(HOST) == 2, (checked.changed, played.changed)
    assert identity(operator) == before
    code, said = as_user(operator, "reader", READS[0])
    assert (code, "is for root and the group vllm-status" in said) == (1, True), said
    assert "usermod -aG vllm-status" in said

    operator.run("usermod -aG vllm-status reader")
    for command in READS:
        code, said = as_user(operator, "reader", command)
        assert code == 0, (command, said)
        assert not [secret for secret in SECRETS.values() if secret in said]
    code, said = as_user(operator, "reader", READS[0])
    assert "chat: active (running)" in said
    assert "by the last start's record; Docker was not asked, that is for root and the group docker" in said
    assert as_user(operator, "reader", "vllm-health --check health")[0] == 0


def test_the_group_reads_no_secret_and_changes_nothing(operator, snapshots):
    for path in ("/etc/gpuhosts-vllm/chat", "/etc/gpuhosts-vllm/chat/secrets"):
        assert as_user(operator, "reader", f"ls {path}/")[0] != 0
        assert as_user(operator, "reader", f"cat {path}")[0] != 0
    with snapshots(HOST):
        for command in ("run chat", "before-start chat", "stop-engine chat", "after-stop chat", "resume"):
            code, said = as_user(operator, "reader", f"vllm-host {command}")
            assert code != 0 and "Traceback" not in said, (command, said)
            assert "sudo vllm-host" in said, (command, said)


def test_a_umask_of_077_made_nothing_too_tight_or_too_open(operator):
    listed = operator.run(
        "find /var/lib/gpuhosts-vllm /etc/gpuhosts-vllm /run/gpuhosts-vllm /usr/local/lib/gpuhosts-vllm"
        " /var/cache/gpuhosts-vllm -maxdepth 4 -not -path '*/compile/*/*' -printf '%m %U %p\\n'"
    )
    modes = {path: (mode, owner) for mode, owner, path in (line.split(" ", 2) for line in listed.splitlines())}
    release = f"{STATE}/releases/" + operator.run(f"readlink {STATE}/current").rpartition("/")[2]
    assert operator.run("stat -c '%a %U %G' /var/lib/gpuhosts-vllm") == "750 root vllm-status"
    expected = {
        STATE: "755",
        f"{STATE}/journal.jsonl": "644",
        release: "755",
        f"{release}/run": "755",
        f"{release}/entry": "755",
        f"{release}/release.json": "644",
        f"{STATE}/starts/1": "755",
        "/etc/gpuhosts-vllm/chat": "700",
        "/etc/gpuhosts-vllm/chat/secrets": "600",
        "/run/gpuhosts-vllm/chat": "755",
        "/run/gpuhosts-vllm/chat/lease": "644",
        "/var/cache/gpuhosts-vllm/hf": "755",
    }
    assert {path: modes[path] for path in expected} == {path: (mode, "0") for path, mode in expected.items()}
    tools = [mode for path, mode in modes.items() if path.endswith(".pyz")]
    assert tools == [("755", "0")]


def test_a_sudo_user_stops_and_starts(inventory, operator, no_locale):
    stopped = inventory.play("stop", vllm_confirm="chat")
    assert stopped.rc == 0, stopped.text
    assert operator.run("systemctl is-active vllm-chat || true; docker ps -aq") == "inactive"
    started = inventory.play("start", vllm_confirm="chat")
    assert started.rc == 0 and "generated 8 tokens" in started.text, started.text
    assert operator.run("systemctl is-active vllm-chat") == "active"
    verified = inventory.play("verify")
    assert (verified.rc, verified.changes(HOST)) == (0, 0), verified.text
    times = {"stop": stopped, "start": started, "verify": verified}
    print("pipelining True:", ", ".join(f"{name} {each.seconds:.1f} s" for name, each in times.items()))


REFUSALS = {
    "no password": ({"ansible_become_password": None}, "gpu1: sudo asks ops for a password, and none was given"),
    "a wrong one": ({"ansible_become_password": "wrong"}, "gpu1: sudo asks ops for a password, and the one that was"),
    "no become": ({"ansible_become": False}, "gpu1: this ran as ops (uid 1"),
    "no sudo": (
        {"ansible_ssh_args": "-o ControlMaster=no"},
        "gpu1: ops may not become root: ops is not in the sudoers",
    ),
}


@pytest.mark.parametrize("trouble", REFUSALS)
def test_who_does_not_become_root_is_told_what_to_do(inventory, operator, trouble):
    variables, told = REFUSALS[trouble]
    if trouble == "no sudo":
        operator.run("gpasswd --delete ops sudo")
    try:
        played = inventory.play("plan", **variables)
    finally:
        operator.run("usermod -aG sudo ops")
    assert played.rc != 0 and played.recap[HOST]["failed"] == 1, played.text
    assert told in played.text and "Next: " in played.text and "Traceback" not in played.text, played.text
