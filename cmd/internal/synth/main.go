// Command synth writes tiny models with random weights, one per architecture, so that every architecture can be compiled, run and compared:
//
//	go run ./cmd/internal/synth [-q8] -o FOLDER [ARCHITECTURE…]
//	go run ./cmd/internal/synth -types -o FOLDER
//
// ARCHITECTURE+large is a model of some hundred megabytes for measuring speed (large.go); it must be named. With -types there is one small decoder for every type of weights
// instead (types.go).
//
// A model is F16 with float32 vectors, has a vocabulary of 128 ids and no tokenizer, and is the same for ever: its numbers follow from its name.
//
// gguf.go writes files, recipes.go says what tensors and keys each architecture has. It must not know how anything is compiled or computed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"jns/kernels/tile"
)

func main() {
	dir := flag.String("o", ".", "folder to write to")
	types := flag.Bool("types", false, "one model for every type of weights")
	quantised := flag.Bool("q8", false, "matrices as Q8_0 instead of F16")
	flag.Parse()
	if *types {
		for _, c := range tile.Codecs() {
			write(*dir, fileOf(c), newTyped(c))
		}
		return
	}
	names := flag.Args()
	if len(names) == 0 {
		for n := range recipes {
			names = append(names, n)
		}
		slices.Sort(names)
	}
	for _, n := range names {
		f, ok := recipes[n]
		big, isBig := large[n]
		if isBig {
			f, ok = big, true
		}
		if !ok {
			fmt.Fprintf(os.Stderr, "synth: no recipe for %q\n", n)
			os.Exit(2)
		}
		m := newModel(n)
		m.quantised, m.large = *quantised, isBig
		f(m)
		if m.quantised {
			n += "-q8"
		}
		write(*dir, "synth-"+n, m)
	}
}

// write ends the program where it cannot.
func write(dir, name string, m *model) {
	path := filepath.Join(dir, name+".gguf")
	if err := os.WriteFile(path, m.bytes(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "synth:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
