"""The rules of tools/lint, as data. To change a rule, change a table here and say why.

Nothing in this file runs anything; source_checks.py and symbol_checks.py read it.
"""

# ---- Layers --------------------------------------------------------------------------------------
# Folder of src/ -> the other folders whose headers it may include. CMakeLists.txt holds the same
# table for the linker. `proto` stands for the headers generated from proto/ ("berth/v1/...").

LAYERS = {
    "base": set(),
    "core": {"base"},
    # What is learned from a view, beside the decisions.
    "learn": {"base", "core"},
    "journal": {"base", "core"},
    "store": {"base", "core", "journal"},
    "config": {"base", "core"},
    "sim": {"base", "core", "learn", "config", "journal"},
    "service": {"base", "core", "learn", "config", "journal", "store", "proto"},
    "api": {"base", "core", "config", "journal", "store", "service", "proto"},
    "exp": {"base", "core", "learn", "config", "journal", "sim"},
    "plan": {"base", "core", "config", "journal", "sim"},
    "agent": {"base", "proto"},
    "client": {"base", "proto"},
    # The shell hosts the commands `sim` and `bench`, so it sees the simulator's side as well.
    "cli": {"base", "config", "proto", "client", "journal", "sim", "exp", "plan"},
    # The composition root.
    "main": {"base", "core", "learn", "config", "journal", "store", "sim", "service", "api", "exp",
             "plan", "agent", "client", "cli", "proto"},
}

PROTO_PREFIX = "berth/v1/"

# ---- Inside the core -----------------------------------------------------------------------------

# A stage never includes another stage; the engine alone sees them all.
CORE_STAGES = {"admission", "queue", "policy", "placement", "residency", "dispatch", "completion",
               "preemption", "explain"}

# Pure structures under the state: node states and their scores, MIG tables, time profiles, the tree.
CORE_STRUCTURES = {"packing", "mig", "timeline", "topology"}

# What each part of the core may include of the core, besides itself. A part is a sub-folder, or
# the stem of a file that stands at the top of src/core. `*`: everything.
CORE_PARTS = {
    "model": set(),
    # Structures of the slow lane: each knows the values alone and can be tested alone.
    **{structure: {"model"} for structure in CORE_STRUCTURES},
    "state": {"model", "event", "action", *CORE_STRUCTURES},
    "event": {"model"},
    "action": {"model"},
    "engine": {"*"},
    # What unit tests share; no part but the tests may include it.
    "testing": {"*"},
    **{stage: {"model", "state", "event", "action", *CORE_STRUCTURES} for stage in CORE_STAGES},
}

# ---- Headers that base, core and learn may not include -------------------------------------------
# Header (or prefix ending in /) -> what to use instead. Tests (*_test.cpp) are free.

PURE_LAYERS = {"base", "core", "learn"}

_TIME = "each event carries its `now`; time values are in base"
_THREAD = "the core runs on its caller's thread; concurrency belongs to service, store or agent"
_FILE = "the core emits actions, its caller does the I/O (store, sim, cli)"
_PRINT = "return data, let the caller print it (cli, service)"
_RANDOM = "pass base's own generator in; the standard distributions differ between libraries"
_HASH = "use std::map, a sorted vector or base's own containers: hash order differs between builds"
_LOCALE = "use std::to_chars and std::from_chars: text must not depend on a locale"
_SYSTEM = "system calls belong to the edges (store, service, agent, main)"

BANNED_HEADERS = {
    "chrono": _TIME, "ctime": _TIME, "time.h": _TIME,
    "thread": _THREAD, "mutex": _THREAD, "shared_mutex": _THREAD, "atomic": _THREAD,
    "condition_variable": _THREAD, "future": _THREAD, "semaphore": _THREAD, "latch": _THREAD,
    "barrier": _THREAD, "stop_token": _THREAD, "pthread.h": _THREAD, "execution": _THREAD,
    "random": _RANDOM,
    "iostream": _PRINT, "ostream": _PRINT, "istream": _PRINT, "sstream": _PRINT, "iomanip": _PRINT,
    "cstdio": _PRINT, "stdio.h": _PRINT, "syslog.h": _PRINT,
    "fstream": _FILE, "filesystem": _FILE, "fcntl.h": _FILE,
    "unordered_map": _HASH, "unordered_set": _HASH,
    "locale": _LOCALE, "clocale": _LOCALE, "regex": _LOCALE,
    "csignal": _SYSTEM, "signal.h": _SYSTEM, "unistd.h": _SYSTEM, "dlfcn.h": _SYSTEM,
    "netdb.h": _SYSTEM, "poll.h": _SYSTEM,
    "sys/": _SYSTEM, "linux/": _SYSTEM, "netinet/": _SYSTEM, "arpa/": _SYSTEM,
}

# (file under src/, header) -> why it may.
HEADER_EXCEPTIONS = {}

# Patterns they may not contain (outside comments) -> what to do instead.
BANNED_PATTERNS = {
    r"\b\w+_clock\b": _TIME,
    r"\bthread_local\b": _THREAD,
    r"\bvolatile\b": _THREAD,
    r"\bstd::(map|set|multimap|multiset|less|greater)<\s*(const\s+)?[\w:]+(\s+const)?\s*\*":
        "never order by a pointer: addresses differ between runs; order by an id",
    r"\bstd::hash\b": _HASH,
    r"\bassert\s*\(": "use ASSERT of base, which stays on in release",
}

# ---- Tidiness ------------------------------------------------------------------------------------

COLUMNS_MAX = 100
LINES_MAX = 600

# File under the root -> (limit, why it may be longer). Only for files under src/.
LINES_EXCEPTIONS = {}

# What shows that a source of src/ writes JSON by itself: an object's or an escape's beginning in a
# literal. base/json.h writes it, once.
JSON_BY_HAND = r'"\{\\"|R"\(\{"|\\\\u00|\\\\u%04x|\\\\u\{:04x'

# File that may -> why.
JSON_EXCEPTIONS = {
    "src/base/json.cpp": "it is the writer",
    "src/store/history_json.cpp": "reads it",
    "src/config/document.cpp": "writes TOML, whose escapes look the same",
    "src/main/log.cpp": "the pattern of a line of the log; texts on one line",
    "src/main/bench_service.cpp": "a payload of the benchmark",
}

# Words that mark unfinished work; finish it, or open an issue.
UNFINISHED_WORDS = ("TO" "DO", "FIX" "ME", "XX" "X")

# ---- What the core's objects may leave to the linker ---------------------------------------------
# Regular expressions over demangled names, matched from the start. Everything else is refused:
# a forbidden thing nobody thought of is refused too.

ALLOWED_SYMBOLS = [
    # Memory.
    r"operator (new|delete)(\[\])?\(",
    r"std::nothrow$",
    r"(malloc|calloc|realloc|free|aligned_alloc|posix_memalign)$",
    r"(__)?(mem(cpy|move|set|cmp|chr)|bcmp|strlen|strcmp|strncmp)(_chk)?$",
    # Ending the process.
    r"(abort|__assert_fail)$",
    r"std::(terminate|unexpected)\(\)",
    r"std::__glibcxx_assert_fail\(",
    # Language support: exceptions, virtual calls, static initialisation, run-time types.
    r"__cxa_|__gxx_personality_v0$|_Unwind_Resume$|__dso_handle$|__dynamic_cast$",
    r"_GLOBAL_OFFSET_TABLE_$|__gmon_start__$|_ITM_",
    r"(vtable|typeinfo|typeinfo name|VTT) for (__cxxabiv1::|std::(exception|bad_\w+|\w+_error|"
    r"out_of_range|invalid_argument|pmr::\w+)$|[a-z ]+$)",
    r"std::__throw_\w+\(",
    r"std::(exception|bad_\w+|\w+_error|out_of_range|invalid_argument)::",
    # The parts of the standard library that compute.
    r"std::__cxx11::basic_string<char, ",
    r"std::basic_string_view<char, ",
    r"std::allocator<char>::",
    r"std::_Rb_tree_(increment|decrement|insert_and_rebalance|rebalance_for_erase)\(",
    r"std::__detail::_List_node_base::",
    r"std::(to_chars|from_chars)\(",
    r"std::pmr::(memory_resource|monotonic_buffer_resource|unsynchronized_pool_resource)::",
    r"std::pmr::(new_delete_resource|null_memory_resource|get_default_resource)\(",
    # Wide integers, by libgcc.
    r"__u?(div|mod|divmod)ti[34]$|__mulo?ti[34]$|__popcount[sd]i2$",
    # Floating functions whose result IEEE 754 fixes; the others differ between versions of libm.
    r"(sqrt|floor|ceil|trunc|round|rint|nearbyint|fabs|fmod|ldexp|frexp|scalbn|copysign|"
    r"l?lround|l?lrint)f?$",
]

# What sanitizers, coverage and the stack protector add; never in the shipped binary.
INSTRUMENTATION_SYMBOLS = [
    r"_*(asan|ubsan|tsan|lsan|hwasan|msan|sanitizer|sancov|gcov|odr_asan|llvm_gcov|llvm_prf)_",
    r"__(start|stop)_(__sancov|asan_globals)",
    r"__stack_chk_(fail|guard)$",
    r"(mcount|__fentry__)$",
]

# (object, pattern of the symbol) -> why that object alone may need it.
SYMBOL_EXCEPTIONS = {}

# Pattern -> advice printed beside a refused symbol. The first that matches is used.
SYMBOL_ADVICE = [
    (r"clock_gettime|gettimeofday|time$|std::chrono|nanosleep|sleep|localtime|gmtime|mktime|clock$",
     _TIME),
    (r"pthread_|std::(thread|mutex|condition_variable|this_thread|future|__future)|__libc_single_"
     r"|std::__atomic|__tls_get_addr|sem_", _THREAD),
    (r"getenv|secure_getenv|environ", "configuration enters as an event, never as the environment"),
    (r".*(printf|puts|putchar|fwrite|fflush|stderr|stdout)|std::basic_[oi]?stream|std::ostream|"
     r"std::ios|std::cout|std::cerr|write$", _PRINT),
    (r"fopen|fclose|open|openat|read|close|std::basic_filebuf|std::filesystem|mmap", _FILE),
    (r"rand|srand|random|drand48|getrandom|arc4random|std::random_device", _RANDOM),
    (r"std::__detail::_Prime_rehash_policy|std::_Hash_bytes", _HASH),
    (r"std::locale|setlocale|std::use_facet|strto|ato[ifl]", _LOCALE),
    (r"socket|connect|bind|listen|send|recv|poll|epoll|select|syscall|dlopen|kill|fork|exec|getpid",
     _SYSTEM),
    (r"(sin|cos|tan|exp|log|pow|cbrt|hypot|erf|tgamma)\w*$",
     "its result differs between versions of libm; use integers or a table"),
]
SYMBOL_ADVICE_DEFAULT = ("keep it out of the core; if it is pure and gives the same result "
                         "everywhere, add it to ALLOWED_SYMBOLS in tools/lint/rules.py")

# ---- The binary ----------------------------------------------------------------------------------

# All that the release binary may load at start, so that one file runs on any newer Linux.
BINARY_LIBRARIES = ("linux-vdso.so", "libc.so", "libm.so", "ld-linux")

# What the release binary may not hold: the means to plant faults. Symbols by their demangled names,
# matched from the start; texts anywhere in the file.
BINARY_FORBIDDEN_SYMBOLS = [r"berth::store::(arm_faults|set_faults|arm_crash_point|die_at)\("]
BINARY_FORBIDDEN_TEXTS = [b"crash=store."]

# ---- The documents -------------------------------------------------------------------------------
# docs_checks.py compares what they name with what there is.

DOC_FILES = ("*.md", "docs/*.md", "docs/guide/*.md", "docs/decisions/*.md", "tests/**/*.md")

# Folders whose names begin a path of the repository. build/, var/ and .venv/ are made later.
DOC_FOLDERS = {".ci", "bench", "docs", "examples", "packaging", "proto", "python", "script", "src",
               "tests", "tools"}

# Paths that look like ours and are not.
DOC_PATHS_ELSEWHERE = set()

# Pages of measurements: each section with figures names what gives them.
DOC_MEASURED = {"docs/benchmarks.md"}
DOC_MEASURES = r"(^|/| )(berth (sim|bench|exp) |berth_\w+_tests|script/(test|bench|demo))"

# Languages of blocks whose lines are for a shell; "" is a block without one.
DOC_SHELL_LANGUAGES = {"", "sh", "bash", "console"}

# Words behind which `berth` is a name and no call: useradd … berth, systemctl stop berth.
DOC_NO_CALL = {"-u", "stop", "start", "restart", "reload", "enable", "--now", "install", "remove",
               "purge", "status", "cd", "apt-get", "journalctl", "-g", "-o", "clone", "…"}

# Commands that --help does not list.
DOC_HIDDEN_COMMANDS = {"launcher", "__reference", "help"}

DOC_SCRIPTS_THAT_PASS_ON = {"script/server", "script/bench"}

# Flags in inline code that belong to programs of others: curl, and #SBATCH lines.
DOC_FLAGS_OF_OTHERS = {"--cacert", "--cert", "--key",
                       "--array", "--chdir", "--cpus-per-task", "--dependency", "--error",
                       "--export", "--gres", "--hold", "--job-name", "--mem", "--nodes",
                       "--ntasks", "--output", "--partition", "--time"}

# `section.key` in inline code that is no key of the configuration: the first two are counts in the
# output of `berth sim --json`.
DOC_NO_KEYS = {"tasks.submitted", "tasks.completed"}

# Which kind of file the TOML of a page is; of all others: a server's configuration.
DOC_SCHEMAS = {"scenarios.md": "scenario", "examples.md": "scenario", "experiments.md": "scenario",
               "workflows.md": "workflow"}
DOC_TOML = {"config": ("config", "check", "FILE"),
            "scenario": ("sim", "FILE", "--quiet"),
            "workflow": ("workflow", "FILE", "--dry-run")}
# What is wrong in a part of a file too. A name that another part would declare is not.
DOC_TOML_FAULTS = r"^unknown |^not valid TOML|^[\w.\[\]]+: expected "
