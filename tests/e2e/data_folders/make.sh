#!/bin/bash
# Makes a small data folder with a given berth, for old_folder_test.cpp: tests/e2e/data_folders/make.sh
# BERTH ARCHIVE PORT. Run it once with each version whose folders must still open, and keep the
# archive: it is the proof. The folder ends by kill -9, with a snapshot, a journal behind it, a
# history, and tasks in every state.
set -euo pipefail
berth=$1 archive=$2 port=$3
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 "$server" 2> /dev/null || true' EXIT
cd "$work"

cat > berth.toml <<'TOML'
[store]
segment_size = "1MiB"
history_retention = "36500d"
result_ttl = "36500d"
[ids]
remember = "36500d"
[[tenants]]
name = "research"
weight = 2
guaranteed_gpus = 1
[[tenants]]
name = "batch"
tier = 2
[[models]]
name = "llama3-8b"
weights = "16GB"
vram_per_task = "1GB"
load_time = "1ms"
[[queues]]
name = "llm"
model = "llama3-8b"
max_batch_size = 4
[[queues]]
name = "train"
TOML

start() {
  "$berth" serve --config berth.toml --data data --grpc 127.0.0.1:"$port" --http 127.0.0.1:0 \
    > serve.log 2>&1 &
  server=$!
  for _ in $(seq 100); do grep -q serves serve.log && return; sleep 0.1; done
  cat serve.log; exit 1
}
export BERTH_SERVER=127.0.0.1:$port
b() { "$berth" "$@" 2> errors || { cat errors; false; }; }
submit() { b submit --queue "$@" > /dev/null; }
big() { printf 'x%.0s' $(seq 3000); }

umask 022
start
"$berth" token create --data data --tenant research > /dev/null 2>&1
# Ended in each way, with and without ids, small and large.
for i in 1 2 3 4 5 6; do
  submit embedding --tenant research --id done-$i --request-id r-$i --label run=$i --group g-$i \
    --payload "text $i" --expected-run 1ms
done
submit train --id echoed --wait -- sh -c 'echo hello'
submit train --id large-done --payload "$(big)" --expected-run 1ms
submit train --id exits-3 --wait -- sh -c 'exit 3' || true
submit train --tenant guest --payload nameless --expected-run 1ms
b pause --queue diffusion > /dev/null
submit diffusion --tenant batch --id expired --tolerated-wait 100ms --payload x
submit diffusion --tenant batch --id cancelled --payload x
b cancel cancelled --tenant batch > /dev/null
b resolve ready > /dev/null
submit train --id after-ready --depends-on signal:ready --payload x --expected-run 1ms
# Live ones.
for i in 1 2 3; do
  submit diffusion --tenant batch --id pending-$i --priority $i --request-id p-$i --payload "picture $i"
done
submit diffusion --tenant batch --id large-pending --label size=large --env "SECRET=$(big)" \
  -- sh -c 'test ${#SECRET} = 3000'
submit train --id waits-signal --depends-on signal:go --payload x
submit diffusion --tenant batch --id waits-task --depends-on pending-1 --payload x
submit train --id held --held --payload x
cat > flow.toml <<'TOML'
[defaults]
queue = "diffusion"
tenant = "batch"
payload = "part"
[[tasks]]
id = "flow-a"
[[tasks]]
id = "flow-b"
depends_on = ["flow-a"]
TOML
b workflow flow.toml > /dev/null
submit llm --tenant research --id long-1 --vram 1GB --payload x --expected-run 10h
b put queue late --max-batch-size 2 > /dev/null
for _ in $(seq 50); do b tasks --all | grep -q "done-6.*completed" && break; sleep 0.1; done
sleep 1.5
kill "$server"; wait "$server"   # a snapshot
start
# The journal behind it.
for i in 7 8 9; do
  submit embedding --tenant research --id done-$i --request-id r-$i --payload "text $i" --expected-run 1ms
done
submit diffusion --tenant batch --id pending-4 --payload "picture 4"
submit late --tenant research --id in-late --payload x --expected-run 10h
submit train --tenant research --id sleeps --share 0.1 -- sh -c 'echo awake; sleep 3'
for _ in $(seq 50); do b status sleeps --tenant research | grep -qi running && break; sleep 0.1; done
sleep 1.5
kill -9 "$server"; wait "$server" || true
sleep 3  # the task that runs on has ended, and its server does not know
"$berth" fsck --data data
tar -C "$work" --sort=name --owner=0 --group=0 -cf - data | gzip -9n > "$archive"
ls -l "$archive"; echo "$work"
