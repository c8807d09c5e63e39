// The flags of `berth submit`, which are also those of the #BERTH lines of a script. To add one,
// add its line here and read it in task_request.cpp.
#pragma once

#include <array>
#include <string_view>

#include "cli/arguments.h"

namespace berth::cli {

inline constexpr std::array kSubmitFlags = {
    Flag{"--queue", "QUEUE", "the queue; required"},
    Flag{"--tenant", "TENANT", "the tenant it is for (default: the token's, or \"default\")"},
    Flag{"--vram", "SIZE", "VRAM it needs on each GPU: 8GB (default: the model's)"},
    Flag{"--gpus", "N", "how many GPUs it needs at once (default 1); 0: none"},
    Flag{"--share", "PART", "the part of each GPU it needs: 0.5 or 50% (default 1)"},
    Flag{"--gpu-kind", "GPU-KIND", "a kind of GPU it may run on; may be repeated (default: any)"},
    Flag{"--groups", "N", "split its GPUs into N groups of equal size (default 1)"},
    Flag{"--within", "island|node|rack|cluster", "keep each group inside one (default cluster)"},
    Flag{"--required", "", "wait for such a place; without it a wider one will do"},
    Flag{"--mig-profile", "PROFILE", "run on one MIG instance of this profile: 1g.10gb"},
    Flag{"--cpus", "N", "CPU cores for the whole task: 4 or 0.5 (default: it asks for none)"},
    Flag{"--memory", "SIZE", "memory for the whole task: 16GB (default: it asks for none)"},
    Flag{"--priority", "N", "-32768 to 32767, higher first among its tenant's (default 0)"},
    Flag{"--tier", "0|1|2|3", "tier 0 goes first (default: the tenant's)"},
    Flag{"--depends-on", "ID",
         "start after this task or array, or after signal:NAME; may be repeated"},
    Flag{"--run-after-failure", "", "start even if a dependency did not complete"},
    Flag{"--array", "INDICES[%N]", "many such tasks, at most N of them at once: 0-99%10"},
    Flag{"--group", "GROUP", "a name by which to list, watch and cancel tasks"},
    Flag{"--label", "KEY=VALUE", "a label to choose tasks by; may be repeated"},
    Flag{"--env", "NAME[=VALUE]", "set a variable, or copy it from here; may be repeated"},
    Flag{"--no-env", "", "do not send PATH, VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH, HF_HOME"},
    Flag{"--workdir", "DIR", "the folder where the command runs (default: the current one)"},
    Flag{"--no-workdir", "", "run the command in an empty folder of its own"},
    Flag{"--output", "FILE", "add its output to this file; 'berth logs' then has none"},
    Flag{"--error", "FILE", "the same for its stderr (default: as --output)"},
    Flag{"--id", "NAME", "the task's id, unique in its tenant (default: the server makes one)"},
    Flag{"--request-id", "UUID", "makes a repeated submit safe (default: made here)"},
    Flag{"--payload", "TEXT|@FILE|@-", "data for the queue's executor; @- reads stdin"},
    Flag{"--expected-run", "DURATION", "how long it will run (default: the server learns it)"},
    Flag{"--run-limit", "DURATION", "stop an attempt that runs longer (default: the server's)"},
    Flag{"--tolerated-wait", "DURATION", "let it expire if it waits longer (default: never)"},
    Flag{"--checkpoint-interval", "DURATION", "how often it saves its work (default: never)"},
    Flag{"--restart-cost", "DURATION", "run time that each new start loses (default 0s)"},
    Flag{"--not-before", "INSTANT", "do not start it before 2026-11-15T12:00:00Z, or +10min"},
    Flag{"--deadline", "INSTANT", "when it is useless: then it expires, or is stopped"},
    Flag{"--attempts", "N", "how often to try it in all (default 1)"},
    Flag{"--backoff", "DURATION", "pause before the second attempt; doubles each time (0s)"},
    Flag{"--retry-on", "KIND,...", "error, out_of_memory, timeout, crash (default: all of them)"},
    Flag{"--at-most-once", "", "never start it twice, even if its GPU is lost"},
    Flag{"--stop-signal", "TERM|INT|HUP|QUIT|USR1|USR2", "what tells it to stop (default TERM)"},
    Flag{"--stop-grace", "DURATION", "time from the stop signal to KILL (default 10s)"},
    Flag{"--result-ttl", "DURATION", "how long to keep its result and output"},
    Flag{"--tokens", "N", "tokens it takes from its tenant's bucket (default 1)"},
    Flag{"--held", "", "hold it until 'berth release'"},
    Flag{"--wait", "", "wait for its end, print its output, end with its exit status"},
    Flag{"--follow", "", "as --wait, and print its output while it runs"},
};

// Of these the command line adds to a script's; of all others it replaces them.
inline constexpr std::array<std::string_view, 2> kJoinedFlags = {"--env", "--label"};

}  // namespace berth::cli
