#!/bin/sh
# One entry for everything; a machine with nothing but git can run it. ./do help lists the verbs.
set -eu
cd "$(dirname "$0")"
jobs=$(nproc 2>/dev/null || echo 2)

PACKAGES_BUILD="gcc libc6-dev cmake ninja-build pkg-config libcurl4-openssl-dev libjansson-dev libyaml-dev libssl-dev
libwebsockets-dev libpcre2-dev libcmocka-dev uthash-dev python3 python3-yaml"
PACKAGES_CHECK="clang clang-format lld ccache"

usage() {
    cat <<'TEXT'
usage: ./do VERB [options]

  demo [--check]   build, run a hub and two child clusters on this machine, place the article's example, walk its
                   story and stay up; --check ends instead, with 0 only if every promise held
  test             build with gcc and run the whole fast suite
  lint             the gates alone: floors, banned calls, sizes, format, CRDs
  sanitize         the suite under gcc ASan+UBSan
  clang            the suite built by clang
  tsan             the playground's story under ThreadSanitizer: its two threads share what they should
  fuzz [SECONDS]   every fuzzer for SECONDS (default 30) over its kept corpus
  e2e              the kinds and the controller on real API servers, schedulers and kubectl; needs Go 1.26, and
                   says SKIPPED without it (the first build of Kubernetes takes about 5 minutes)
  bench            print the figures and write docs/performance.md
  soak --seeds N [--first S]
                   random faults against the whole program, for N seeds; --seed S shows one, step by step
  verify           what is written twice agrees: CRDs with their pages and readers, help with README
  install [PREFIX] build, then copy the programs to PREFIX/bin (default /usr/local)
  clean            remove build/
  help             this text
TEXT
}

say() { printf '%s\n' "== $*"; }

# Installs the named Debian packages that are missing: as root, through sudo, or by telling the one line to run.
need() {
    missing=""
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "./do: this needs Debian 12 or later; install by hand:$missing" >&2
        exit 1
    fi
    if [ "$(id -u)" = 0 ]; then
        sudo=""
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        sudo="sudo"
    else
        echo "./do: packages are missing; run this once, then ./do again:" >&2
        echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    say "installing:$missing"
    log=$(mktemp)
    if ! { $sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq \
        --no-install-recommends $missing; } >"$log" 2>&1; then
        tail -20 "$log" >&2
        exit 1
    fi
    rm -f "$log"
}

# Configures and builds one preset, or of it only the targets named after it.
build() {
    # shellcheck disable=SC2086
    need $PACKAGES_BUILD
    cmake --preset "$1" >"build-$1.log" 2>&1 || { cat "build-$1.log" >&2; rm -f "build-$1.log"; exit 1; }
    rm -f "build-$1.log"
    preset=$1
    shift
    ninja -C "build/$preset" -j "$jobs" "$@"
}

suite() {
    say "$1"
    build "$1"
    ctest --test-dir "build/$1" --output-on-failure -j "$jobs"
}

check_tools() {
    # shellcheck disable=SC2086
    need $PACKAGES_CHECK
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case "$verb" in
demo)
    build gcc-release
    case "${1:-}" in
    "") exec build/gcc-release/bulkhead-playground --story --kubeconfig-dir build/playground ;;
    --check) exec build/gcc-release/bulkhead-playground --check --kubeconfig-dir build/playground ;;
    *)
        echo "./do demo: '$1' is not known; --check is the only option" >&2
        exit 2
        ;;
    esac
    ;;
test)
    suite gcc-release
    ;;
lint)
    check_tools
    # shellcheck disable=SC2086
    need $PACKAGES_BUILD
    for check in tests/lint/*.py; do python3 "$check"; done
    ;;
sanitize)
    suite gcc-asan
    ;;
clang)
    check_tools
    suite clang-release
    ;;
tsan)
    check_tools
    need libclang-rt-dev
    build tsan bulkhead-playground
    say tsan
    TSAN_OPTIONS=halt_on_error=1 build/tsan/bulkhead-playground --check --no-kubectl --kubeconfig-dir build/tsan/ground
    ;;
fuzz)
    check_tools
    need libclang-rt-dev
    build fuzz
    for fuzzer in build/fuzz/fuzz_*; do
        [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
        name=$(basename "$fuzzer")
        mkdir -p "build/corpus/$name"
        say "$name"
        kept="tests/fuzz/corpus/$name"
        [ -d "$kept" ] || kept=""
        # shellcheck disable=SC2086
        "$fuzzer" -max_total_time="${1:-30}" -print_final_stats=0 -verbosity=0 "build/corpus/$name" $kept
    done
    ;;
e2e)
    need python3 openssl
    tests/e2e/build.sh
    tests/e2e/build.sh --check || exit 0 # it has said SKIPPED
    build gcc-release
    exec python3 tests/e2e/run.py
    ;;
bench)
    build gcc-release
    out=$(mktemp)
    for bench in build/gcc-release/bench_*; do
        [ -f "$bench" ] && [ -x "$bench" ] || continue
        "$bench" >"$out.one" || { cat "$out.one"; echo "./do: $bench failed" >&2; exit 1; }
        tee -a "$out" <"$out.one"
    done
    {
        echo "# Performance"
        echo
        echo "Written by \`./do bench\` on $(nproc) cores of:$(sed -n 's/^model name[^:]*://p' /proc/cpuinfo | head -1)."
        echo "One run on a shared machine: the times move with its load, so compare figures of one run only."
        echo
        echo '```'
        cat "$out"
        echo '```'
    } >docs/performance.md
    rm -f "$out" "$out.one"
    ;;
soak)
    build gcc-release
    exec build/gcc-release/sim_test_sim "$@"
    ;;
verify)
    # shellcheck disable=SC2086
    need $PACKAGES_BUILD
    python3 tests/lint/crds.py
    for word in demo test; do
        grep -q "^./do $word " README.md || { echo "./do verify: README.md does not name ./do $word" >&2; exit 1; }
        usage | grep -q "^  $word " || { echo "./do verify: the help does not name $word" >&2; exit 1; }
    done
    ;;
install)
    build gcc-release
    cmake --install build/gcc-release --prefix "${1:-/usr/local}"
    ;;
clean)
    rm -rf build
    ;;
help | -h | --help)
    usage
    ;;
*)
    echo "./do: no such verb '$verb'" >&2
    usage >&2
    exit 2
    ;;
esac
