#!/usr/bin/env bash
# Runs a bundle on a machine with an NVIDIA GPU. Usage: OUT=folder run.sh STAGE...
# Stages: facts cubins tests corpus tour examples memcheck racecheck sanitize (both) bench (BENCH picks some) all
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$PWD}
work=${CUPRUM_BUNDLE_WORK:-/tmp/cuprum-bundle}
mkdir -p "$work" "$out"
[ -e "$work/.unpacked" ] && [ "$work/.unpacked" -nt "$here/cuprum.tar.xz" ] || { tar -xJf "$here/cuprum.tar.xz" -C "$work" && touch "$work/.unpacked"; }
cd "$work" || exit 1
export CUPRUM_CACHE_DIR=$work/cache CUPRUM_FETCH=0 RUST_BACKTRACE=1
command -v nvcc >/dev/null || export PATH=/usr/local/cuda/bin:$PATH
# An NVRTC outside the loader's path: the toolkit's, else one of a Python wheel.
if [ -z "${CUPRUM_NVRTC:-}" ] && [ -z "${CUDA_HOME:-}" ] && [ -d /usr/local/cuda ]; then export CUDA_HOME=/usr/local/cuda; fi
failed=0
stage() { local name=$1; shift; echo "== $name (${SECONDS}s)"; "$@" > "$out/$name.txt" 2>&1; local rc=$?; tail -n "${TAIL:-12}" "$out/$name.txt"; echo "-- $name: exit $rc"; [ $rc -eq 0 ] || failed=1; }
sanitize() { local tool=$1; shift; local extra=""; [ "$tool" = memcheck ] && extra="--report-api-errors no"; compute-sanitizer --tool "$tool" $extra --error-exitcode 9 "$@"; }
for s in "$@"; do
  case $s in
    facts) stage facts bash -c 'date -u; nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv; nvcc --version | tail -2; lscpu | grep -E "Model name|^CPU\(s\)"';;
    tests) stage tests bin/tests;;
    corpus) stage corpus bin/corpus-compare run corpus "$out/corpus.md";;
    cubins) stage cubins bin/examples load cubins;;
    tour) stage tour bin/examples tour --device all --out "$out/tour";;
    examples) stage examples bin/examples all;;
    sanitize) "$here/run.sh" memcheck racecheck || failed=1;;
    memcheck|racecheck)
      stage $s-tour sanitize $s bin/examples tour --device cuda:0 --out "$work/tour-$s"
      stage $s-tests sanitize $s bin/tests --skip faults:: '[cuda:0';;
    bench)
      nvcc -O3 -std=c++17 -arch=native --shared -Xcompiler -fPIC benches/peers/peers.cu -o "$work/libpeers.so" -lcuda || exit 1
      nvcc -O2 -std=c++17 benches/peers/first_kernel.cpp -o "$work/first_kernel" -ldl || exit 1
      CUPRUM_PEERS=$work/libpeers.so CUPRUM_FIRST_KERNEL_PEER=$work/first_kernel stage bench bin/benches --bench ${BENCH:-};;
    all) "$here/run.sh" facts cubins tests corpus tour sanitize bench; exit $?;;
    *) echo "unknown stage $s"; exit 2;;
  esac
done
exit $failed
