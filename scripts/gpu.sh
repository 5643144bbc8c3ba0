#!/usr/bin/env bash
# gpu.sh [DEVICE]        what a GPU tells of psafe, as tables in Markdown, in at most twelve minutes: the
#                        tests of devices, crosscheck, and where the time of jobs goes, beside the processor.
# gpu.sh small [DEVICE]  the same with few cases, on PoCL, to see that it runs
#
# It builds what it runs, or takes bin/psafe and bin/gpu.test from elsewhere where there is no Go. Posteriors and
# images of MNIST are looked for in PSAFE_DATA (by default ../shared/data); without them jobs are of testdata.
set -u
cd "$(dirname "$0")/.." || exit 1
n=10000 phases=300 images=100 factor=0.1 tests='TestDevice|TestFallbackBits|TestPropagate|TestConvolutions|TestTiles|TestStages|TestInStages'
if [ "${1:-}" = small ]; then
  shift
  n=10 phases=2 images=2 factor=0.01 tests='TestPropagate|TestTiles'
  set -- "${1:-0:0}"
fi
device=${1:-gpu} data=${PSAFE_DATA:-${PSAFE_SHARED:-../shared}/data} go=${GO:-go} psafe=bin/psafe
end=$((SECONDS + 700)) failed=0
export PSAFE_REQUIRE_OPENCL=1 PSAFE_TEST_FACTOR=$factor CGO_ENABLED=0
if command -v "$go" >/dev/null; then
  "$go" build -o bin/psafe ./cmd/psafe && "$go" test -c -vet=off -o bin/gpu.test ./gpu || exit 1
fi

# within MOST COMMAND...  runs it for at most so many seconds, and of what is left of twelve minutes.
within() {
  local most=$1 left=$((end - SECONDS))
  shift
  [ $left -gt 5 ] || { echo "no time is left" >&2; return 124; }
  timeout -k 5 $((left < most ? left : most)) "$@"
}

step() { # WORDS MOST COMMAND...  a row of the first table
  local words=$1 began=$SECONDS result=passed said
  shift
  said=$(within "$@" 2>&1) || { result="FAILED ($?)"; failed=$((failed + 1)); }
  echo "| $words | $result: $(echo "$said" | grep -v '^PASS$' | tail -n 1 | cut -c 1-200 | tr '|' '/') | $((SECONDS - began)) |"
}

job() { # WORDS POSTERIOR FLAGS...  two rows of the second, or three: what the processor takes part in
  local words=$1 posterior=$2 d row all=("$device" cpu)
  shift 2
  case "$*" in *clbp*) all+=("$device+cpu") ;; esac
  [ -e "$posterior" ] || return 0
  for d in "${all[@]}"; do
    row=$(within 120 "$psafe" bench --job -- --posterior "$posterior" "$@" --device "$d" --quiet 2>&1) ||
      { echo "| $words | $d | FAILED ($?): $(echo "$row" | tail -n 1 | cut -c 1-200) ||||||||||"; failed=$((failed + 1)); continue; }
    echo "$row" | awk -v head="| $words | $d |" 'END { for (i = 1; i <= NF; i++) head = head " " $i " |"; print head }'
  done
}

echo "$("$psafe" version | head -n 1), $(date -u +%F), $(nproc) processors"
echo; "$psafe" devices 2>&1 | sed 's/^/    /'
echo; echo "| step | result | s |"; echo "|---|---|---|"
step "tests of devices" 240 sh -c "cd gpu && ../bin/gpu.test -test.run '^($tests)\$'"
for p in glyphs-64-24-24-10 glyphs-conv-8-10 tiny-2-3-2-tanh; do
  step "crosscheck $p" 60 "$psafe" crosscheck --posterior "testdata/$p.npz" --precision float32 --device cpu --against "$device"
done

mnist="$data/mnist/t10k-images-idx3-ubyte.gz"
echo; echo "| job | device | inputs | wall s | opening | waiting | parallel | serial | kernels | processor | launches | calls | passes |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
glyphs=(--inputs testdata/glyphs-test-images-idx3-ubyte.gz --clip 0,1)
job "README's first command" testdata/glyphs-64-24-24-10.npz "${glyphs[@]}" --index 70:80 --eps 0.015 --draws 500
job "glyphs, phases" testdata/glyphs-64-24-24-10.npz "${glyphs[@]}" --index :$images --eps 0.018 --method phases --options no-upper
digits=(--inputs "$mnist" --clip 0,1)
two=("$data/uai2020/VIMODEL_MNIST_2_128_relu.net.npz" --scale sd --activation relu "${digits[@]}" --index ":$n" --eps 0.001 --method clbp)
job "2_128, clbp" "${two[@]}"
job "2_128, clbp, no upper bounds" "${two[@]}" --options no-upper
job "2_64_vogn, phases" "$data/bnndp/mnist_2_64_vogn.npz" "${digits[@]}" --index ":$phases" --eps 0.05 --method phases --options no-upper
job "gtsrb_conv_vogn, clbp" "$data/journal/gtsrb_conv_vogn" --scale sd --inputs "$data/gtsrb_ood" --eps 1/255 --clip 0,1 --method clbp
echo; echo "gpu.sh: $SECONDS s, $failed failed"
[ $failed = 0 ]
