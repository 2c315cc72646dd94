#!/bin/sh
# Run a command as on a processor with AVX2 alone: sh scripts/avx2_only.sh thisthat bench latency
#
# For Linux on a processor whose CPUID can fault (cpuid_fault in /proc/cpuinfo); needs a C compiler
# and user namespaces. Statically linked programs still see the processor as it is.
set -eu

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"${CC:-cc}" -O2 -shared -fPIC -o "$made/avx2_only.so" "$(dirname "$0")/avx2_only.c"
sed -E 's/ (avx512|avx_|avx10|amx_)[^ ]*//g' /proc/cpuinfo >"$made/cpuinfo"
unshare --map-root-user --mount sh -c '
    mount --bind "$0/cpuinfo" /proc/cpuinfo
    LD_PRELOAD="$0/avx2_only.so" exec "$@"
' "$made" "$@"
