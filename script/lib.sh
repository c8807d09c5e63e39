# Sourced by the other scripts: goes to the repository's root, answers --help, and holds what
# several of them need. Not a command.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prints the comment at the top of the calling script.
usage() {
  awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "script/$(basename "$0")"
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac

say() { printf '==> %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

can_be_root() { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }

# as_root COMMAND...: by sudo if need be.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# build_preset PRESET [TARGET...]: configures if need be, and builds.
build_preset() {
  local preset=$1
  shift
  # A second configuration is ninja's business: it notices changed CMake files and new sources.
  if [ ! -f "build/$preset/build.ninja" ]; then
    cmake --preset "$preset" || return 1
  fi
  cmake --build "build/$preset" ${1:+--target "$@"}
}

# The version of Berth, from the one place that has it.
project_version() { sed -nE 's/^project\(berth VERSION ([0-9.]+).*/\1/p' CMakeLists.txt; }

# Our C++ files, as git knows them: tracked, or new and not ignored.
cpp_files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' |
      while read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done
  else
    find src tests bench \( -name '*.h' -o -name '*.cpp' \) 2>/dev/null | sort
  fi
}
