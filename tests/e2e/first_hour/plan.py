"""The tables of the first hour: what a page needs around its blocks, and what cannot be run.

A key is the name of a block, `first-job/submit-it/2`, or of one command in it,
`help/submit: berth submit …`. An entry that fits no block fails the test: nothing stale stays.
"""

# ---- What is not run -----------------------------------------------------------------------------
# Every block that is neither run nor named here fails the test.

EXCEPT = {
    "README/two-commands/1: git clone … berth && cd berth":
        "the repository is where this test runs",
    "README/two-commands/5": "runs all tests, of which this is one",
    "README/two-commands/6": "figures of a run of all tests",
    "README/use-it/1: berth tasks, status, explain, logs, events":
        "names five commands; each is run from its help text",
    "README/use-it/1: berth gpus, queues, tenants, usage":
        "names four commands; each is run from its help text",
    "README/use-it/1: berth bench core":
        "half a minute at full load; help/bench-core runs a small one",
    "help/exp-openb": "the traces are not part of the repository",
    "help/exp-lublin": "the traces are not part of the repository",
    "help/bench-cluster: berth bench cluster --only gangs":
        "minutes at full load; the smaller one below it is run",
    "help/man: man berth-submit": "opens a pager; the page is looked at by tests/package",
}

# ---- What stands for another thing ---------------------------------------------------------------

# A part of a command -> what is run instead.
STAND_INS = {
    "script/server": "build/release/berth serve",  # without the build
    "apt-get remove": "apt-get --yes remove",  # apt asks
    "apt-get purge": "apt-get --yes purge",
    "--no-growth": "--no-growth --events 100000",  # of a benchmark: a thirtieth of its length
    "curl -s": "curl --fail-with-body -s",  # so that a refusal fails the test
}

# A command that the text beside it changes for this reader -> what he types.
INSTEAD = {
    # He has the drop-in for other users, so: "From now on run `berth token` … without `runuser`",
    "operate/what-to-watch/1: runuser -u berth -- berth token create --role reader "
    "--data /var/lib/berth/data":
        "berth token create --role reader --data /var/lib/berth/data",
    # and "With the drop-in for other users, leave out `runuser -u berth --`".
    "operate/backup-and-restore/3: runuser -u berth -- berth restore /var/lib/berth/backup-1 "
    "--data /var/lib/berth/data":
        "berth restore /var/lib/berth/backup-1 --data /var/lib/berth/data",
}

# Files of the sandbox that are replaced: by text, or by a file beside this one.
STAND_IN_FILES = {
    "/root/berth/script/build": "#!/bin/sh\n# What is tested is built already.\n",
    "/usr/local/bin/systemctl": "systemctl",  # there is no systemd here: see the file
    "/usr/bin/mandb": "#!/bin/sh\n# Would index all man pages after each installation.\n",
}

# ---- Servers -------------------------------------------------------------------------------------
# How the server of a page is started, before its first block. None: the page starts its own.

STAGE = "/root/berth/tests/e2e/first_hour/stage"
DEFAULT_SERVER = "berth serve"
SERVERS = {
    "README": None,
    "first-job": None,
    "operate": None,
    "configuration": None,
    "help": f"berth serve --config {STAGE}/cluster.toml",
    "api": f"berth serve --config {STAGE}/cluster.toml",
}

# Commands that serve until they are stopped. Each gets a terminal of its own.
SERVES = ("script/server", "berth serve", "build/release/berth serve",
          "runuser -u berth -- berth serve")

# ---- Before a block or a command -----------------------------------------------------------------
# What the prose tells the reader to do, or what a line takes for granted. Runs in his terminal.

CONFIG = "/etc/berth/berth.toml"


STOP = "Ctrl-C in the server's terminal"


def until(command: str) -> str:
    """Waits for what the text says will be so."""
    return f"for i in $(seq 300); do {command} && break; sleep 0.1; done; {command}"


CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
    "-subj /CN=gpus.example -addext subjectAltName=DNS:gpus.example,IP:127.0.0.1 "
    "-keyout server.key -out server.pem 2>/dev/null && cp server.pem ca.pem")

TRAIN_1 = "berth submit --queue llm --id train-1 --no-workdir -- sleep 0.1"
TRAIN_1_WAITS = "berth submit --queue llm --id train-1 --held --group night -- sleep 1"
TRAIN_2_WAITS = "berth submit --queue llm --id train-2 --held -- sleep 1"
STAGE_SERVER = "berth serve --config berth.toml --data var-2"

BEFORE = {
    # first-job: "After the five protected seconds", "When `urgent` has ended".
    "first-job/when-something-more-urgent-comes/4": [until(
        "berth tasks | tr '\\n' ' ' | grep -q 'train-3 .* pending .*urgent .* running'")],
    "first-job/when-something-more-urgent-comes/6": [until(
        "berth logs train-3 2>/dev/null | grep -A1 'going on' | grep -q epoch.*loss")],
    "first-job/stop-one/1: berth cancel train-4": [until(
        "berth logs train-4 2>/dev/null | grep -q 'epoch 1 '")],
    "first-job/stop-one/1: berth logs train-4": [until(
        "berth status train-4 | grep -q 'state *cancelled'")],

    # operate: the package is in the folder to which it was copied.
    "operate/install/1": [
        "DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1 script/package --binary "
        "build/release/berth && cd /root && cp berth/build/package/*.deb ."],
    "operate/install/2": ["pgrep -f '^/usr/bin/berth serve' >/dev/null || systemctl start berth"],
    "operate/install/4": ["systemctl stop berth"],
    "operate/where-things-are/1": [STOP, "systemctl start berth"],
    "operate/the-first-token/3": [
        f"sed -i 's/^# authentication = true .*/authentication = true/' {CONFIG}"],
    "operate/as-whom-commands-run/2": [
        f"sed -i 's/^# run_as = .*/run_as = \"berth-tasks\"/' {CONFIG}"],
    "operate/tls/1": [CERTIFICATE, "echo 127.0.0.1 gpus.example >>/etc/hosts"],
    "operate/tls/3": [
        f"sed -i -e '/^grpc_address\\|^http_address/d' -e 's/^# \\(grpc_address\\|http_address\\|"
        f"tls_certificate\\|tls_key\\)/\\1/' {CONFIG}"],
    "operate/change-the-configuration-file-or-put/1": [
        "export BERTH_CA=/root/ca.pem BERTH_SERVER=gpus.example:50051"],
    "operate/upgrade/1": [
        "dpkg-deb -R berth_0.1.0_amd64.deb next && sed -i 's/^Version: .*/Version: 0.2.0/' "
        "next/DEBIAN/control && dpkg-deb -Zgzip -z1 -b next berth_0.2.0_amd64.deb"],

    # configuration: a file is changed and read again; what was put holds against it.
    "configuration/reload/1": [
        "sed -i -e 's/max_batch_size = 8/max_batch_size = 16/' -e 's/:8080/:8090/' berth.toml && "
        "printf '[[tenants]]\\nname = \"lab\"\\n' >>berth.toml"],
    "configuration/what-is-put/1": ["berth put tenant gold --weight 5"],
    "configuration/when-something-is-wrong/1": [
        "printf '# mine\\n[server]\\ndatta = \"/srv/berth\"\\n' >berth.toml"],
    "scenarios/when-something-is-wrong/1": [
        "{ head -n 8 examples/first-run.toml | sed 's/.*/#/'; printf '[[cluster.gpus]]\\n"
        "vram = \"8GB\"\\n\\n[[queues]]\\nname = \"a\"\\nmax_batch_wait = \"120m\"\\n"
        "max_batch_sise = 4\\n\\n[[workload]]\\nkind = \"poisson\"\\nrate_per_second = 1\\n"
        "count = 1\\nexpected_run = \"1s\"\\n'; } >cluster.toml"],

    "history/top/1": ["berth submit --queue llm --wait -- true",
                      "berth submit --queue llm --wait -- false || true"],
    "executors/simulated-work/1": [
        f"berth serve --config {STAGE}/simulated.toml --data /run/simulated",
        "for i in 1 2 3; do berth submit --queue llm --payload x; done"],

    # The help texts speak of tasks, queues and folders of a reader who has worked for a while.
    "help/submit: berth submit --queue llm --depends-on train-1 --attempts 3 --backoff 30s "
    "-- ./evaluate": [TRAIN_1],
    "help/workflow": [STAGE_SERVER],
    "help/wait": [TRAIN_1, TRAIN_1.replace("train-1", "train-2")],
    "help/tasks": ["berth submit --queue llm --group night --held -- true",
                   "berth submit --queue llm --group night --held -- true"],
    "help/status: berth status t-123 -o json": [
        "berth submit --queue llm --array 0-130 --held -- true"],
    "help/events": ["berth submit --queue llm --group night --wait -- true"],
    "help/cancel": ["berth serve --config berth.toml --data var-3", TRAIN_1_WAITS],
    "help/cancel: berth cancel --group night": [
        "berth submit --queue llm --group night --held -- true"],
    "help/cancel: berth cancel --queue llm --state pending --yes": [
        "berth pause --queue llm", "berth submit --queue llm -- true",
        "berth submit --queue llm -- true"],
    "help/update": ["berth serve --config berth.toml --data var-4", TRAIN_1_WAITS, TRAIN_2_WAITS,
                    "berth put queue night --max-batch-size 1"],
    "help/signals-reset": ["berth submit --queue llm --depends-on signal:data-ready -- true"],
    "help/config-revert": ["berth put tenant research --weight 2"],
    "help/backup": ["mkdir -p /var/backups"],
    "help/delete-tenant": ["berth put tenant guests --weight 1"],
    "help/delete-queue": ["berth put queue trial --max-batch-size 2"],
    "help/delete-model": ["berth put model trial-7b --weights 1GB"],
    "help/put-queue": ["berth put model llama --weights 1GB --load-time 1s"],
    "help/config-show: berth config show --running --origin": [STAGE_SERVER],
    "help/completion: berth completion zsh > ~/.zfunc/_berth": ["mkdir -p ~/.zfunc"],
    "help/completion: berth completion fish > ~/.config/fish/completions/berth.fish": [
        "mkdir -p ~/.config/fish/completions"],
}

# A command that does not end by itself -> the text after which its reader presses Ctrl-C.
UNTIL = {
    "help/events: berth events --follow --group night": r"SEQUENCE",
    "help/events: berth events --follow --from 1099516870656 -o json": r'"sequence"',
    "api/http/1: curl -sN 'localhost:8080/api/v1/events?from_start=true'": r"event: task",
}

# A command or block whose status is not 0 -> which it is.
STATUS = {
    "configuration/when-something-is-wrong/1": 2,
    "scenarios/when-something-is-wrong/1": 2,
}

# ---- Output --------------------------------------------------------------------------------------

# An output block whose command stands in the prose -> that command.
SHOWN_BY = {
    "first-job/when-it-fails/3": "berth status train-2",
    "first-job/when-something-more-urgent-comes/6": "berth logs train-3",
    "configuration/reload/1": "berth reload",
    "configuration/when-something-is-wrong/1":
        "BERTH_POLICY_MAX_HOLDS=many berth config check berth.toml",
    "examples/a-noisy-neighbour/1":
        "berth sim compare examples/noisy-neighbour.toml --policy fifo,round_robin,fair",
    "executors/simulated-work/1": "berth submit --queue llm --payload x --wait 2>/dev/null",
    "scenarios/when-something-is-wrong/1": "berth sim cluster.toml",
}

# Commands that the prose behind a block names, with what it says they print ("": nothing said).
# Both must stand in the page.
AFTER = {
    "README/two-commands/4": [("berth status task-1 --tenant user-123", "")],
    "first-job/when-it-fails/3": [("berth logs train-2 --attempt 1", "")],
    "first-job/when-something-more-urgent-comes/1": [("berth gpus", "")],
    "first-job/when-something-more-urgent-comes/5": [
        ("berth events --task train-3",
         'stopped for work of a higher rank; it starts again (task "urgent")')],
    "first-job/stop-one/1": [
        ("berth logs train-4", "told to stop; checkpoint-train-4.json has epoch 3")],
    "operate/install/2": [
        ("berth submit --queue llm --vram 8GB --no-workdir --wait -- echo hi", "hi")],
    "operate/as-whom-commands-run/2": [
        ("berth submit --queue llm --vram 8GB --no-workdir --wait -- id",
         "uid=996(berth-tasks) gid=996(berth-tasks) groups=996(berth-tasks)")],
    "operate/what-to-watch/1": [("berth tasks --state failed", "")],
    "operate/backup-and-restore/2": [("berth replay /var/lib/berth/backup-1", "identical")],
}

# Output blocks that show lines out of the middle, as the text beside them says.
PART = {
    "first-job/when-it-fails/3",  # "ends with both"
    "first-job/when-something-more-urgent-comes/3",  # of two commands, the second
    "first-job/when-something-more-urgent-comes/5",  # of two commands, the first
    "first-job/when-something-more-urgent-comes/6",
    "first-job/one-after-another/2",
    "configuration/reload/1",  # the count of changes follows, on stderr
    "examples/a-noisy-neighbour/1",
}

# Commands whose remark, behind the spaces, is a line that they print.
REMARKS = {
    "configuration/what-is-put/1: berth config show --running --origin",
    "configuration/what-is-put/1: berth config revert tenant gold",
}

# Files and parts of files: a block, or PAGE.LANGUAGE -> the command that tries it; $BLOCK is the
# file. Parts of a scenario are joined with STAGE/scenario.toml and what else they need.
CONFIG_CHECK = "berth config check $BLOCK"
SCENARIO = "berth sim --quiet $BLOCK.toml"
GPU = '[[cluster.gpus]]\\nvram = "24GB"\\n'  # for printf
TASK = '[[workload]]\\nkind = "poisson"\\nrate_per_second = 1\\ncount = 1\\nqueue = "whisper"\\n'
CHECKED_BY = {
    "history.sql": 'berth sql "$(cat $BLOCK)"',
    "configuration.toml": CONFIG_CHECK,
    "operate.toml": CONFIG_CHECK,
    "security.toml": CONFIG_CHECK,
    "workflows.toml": "cp $BLOCK $BLOCK.toml; berth workflow $BLOCK.toml --dry-run",
    "cli/scripts/1": "cp $BLOCK train.sh; berth submit train.sh --lr 0.1",
    "scenarios/a-small-scenario/1": f"cp $BLOCK $BLOCK.toml; {SCENARIO}",
    "scenarios/values-and-units/1": (
        f"( while read -r line; do {{ cat {STAGE}/scenario.toml; printf '{GPU}{TASK}%s\\n' "
        f'"$line"; }} >$BLOCK.toml; {SCENARIO} || exit 1; done <$BLOCK )'),
    "scenarios/clusternodes/1":
        f"{{ cat $BLOCK {STAGE}/scenario.toml; printf '{TASK}'; }} >$BLOCK.toml; {SCENARIO}",
    "scenarios/fields-of-a-task/1":
        f"{{ printf '{GPU}'; cat {STAGE}/scenario.toml $BLOCK; }} >$BLOCK.toml; {SCENARIO}",
    "scenarios/csv/1": (
        f"cp $BLOCK $BLOCK.csv; printf '{GPU}[[tenants]]\\nname = \"lab\"\\n[[queues]]\\n"
        "name = \"speech\"\\n[[queues]]\\nname = \"summary\"\\n[[workload]]\\nkind = \"csv\"\\n"
        "file = \"%s\"\\n' $BLOCK.csv "
        f">$BLOCK.toml; {SCENARIO}"),
    "scenarios/at/1": (
        f"{{ printf '{GPU}kind = \"A100\"\\ncount = 2\\n'; cat {STAGE}/scenario.toml $BLOCK; "
        f"printf '{TASK}'; }} >$BLOCK.toml; {SCENARIO}"),
    # A scenario that has what the lines change: queues of these names, and a workload.
    "scenarios/overriding-keys/1": (
        f"printf '{GPU}[[queues]]\\nname = \"sdxl\"\\n[[queues]]\\nname = \"qwen2.5\"\\n"
        f"{TASK}expected_run = \"1s\"\\n' | sed 's/whisper/sdxl/' >$BLOCK.toml; "
        f'( while read -r line; do eval "{SCENARIO} $line" || exit 1; done <$BLOCK )'),
}

# ---- Pages ---------------------------------------------------------------------------------------

# Pages whose reader has no build in the PATH: they put it there, or install the package.
BARE_PATH = {"README", "first-job", "operate"}

# Pages read elsewhere than in the repository: a folder whose files the reader has.
FOLDERS = {
    "help": f"{STAGE}/folder",
    "cli": f"{STAGE}/folder",
    "configuration": f"{STAGE}/folder",
    "executors": "/root/berth/examples/first-job",
}

# These are begun first, since they take longest.
LONGEST = ["operate", "help", "first-job", "README"]
