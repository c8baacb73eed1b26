#!/bin/sh
# third.sh SOURCES [DIR]: builds the program that runs ik_llama.cpp beside llama.cpp and ours, and prints its path as the last line.
#
# SOURCES is a checkout of ik_llama.cpp; DIR (default: third beside what build.sh keeps) keeps the libraries and the program. What is there already is used.
# The libraries are static and built with the flags of this machine's processor. Their largest files take minutes each.
# Needs: a C and C++ compiler, cmake. JNS_JOBS limits the compilers that run at once.
#
#	make bench-peer THIRD="$(sh cmd/internal/peer/build/third.sh ~/src/ik_llama.cpp)"
set -eu

[ $# -ge 1 ] || { echo "usage: third.sh SOURCES [DIR]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$1" && pwd)
dir=${2:-${JNS_PEER:-${XDG_CACHE_HOME:-$HOME/.cache}/jns/peer}/third}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
lib=$dir/build

say() { echo "third: $*" >&2; }

if [ ! -f "$lib/src/libllama.a" ] || [ ! -f "$lib/ggml/src/libggml.a" ]; then
	say "building the libraries (half an hour on two processors); log: $dir/build.log"
	cmake -S "$tree" -B "$lib" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=ON -DLLAMA_CURL=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
		-DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TESTS=OFF >"$dir/build.log" 2>&1 || { tail -20 "$dir/build.log" >&2; exit 1; }
	cmake --build "$lib" --target llama -j "${JNS_JOBS:-$(getconf _NPROCESSORS_ONLN)}" >>"$dir/build.log" 2>&1 || { tail -20 "$dir/build.log" >&2; exit 1; }
fi

if [ ! -x "$dir/third" ] || [ "$here/third.c" -nt "$dir/third" ] || [ "$lib/src/libllama.a" -nt "$dir/third" ]; then
	say "compiling third.c"
	openmp=
	if grep -q '^OpenMP_C_FLAGS:STRING=-fopenmp' "$lib/CMakeCache.txt"; then
		openmp=-fopenmp
	fi
	${CC:-cc} -std=c11 -O2 -Wall -Wextra -I"$tree/include" -I"$tree/ggml/include" -c "$here/third.c" -o "$dir/third.o"
	${CXX:-c++} "$dir/third.o" -o "$dir/third.part" "$lib/src/libllama.a" "$lib/ggml/src/libggml.a" $openmp -lpthread -ldl -lm
	mv "$dir/third.part" "$dir/third"
fi
echo "$dir/third"
