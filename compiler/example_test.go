package compiler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"jns/compiler"
)

func ExampleCompile() {
	dir, err := os.MkdirTemp("", "jns")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	r, err := compiler.Compile(context.Background(), compiler.Options{
		Source: filepath.FromSlash("../testdata/models/tiny/jns-tiny.gguf"),
		Output: filepath.Join(dir, "tiny.jns"),
		Target: "portable",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %d tensors, root digest %x…\n", r.Model.Name, len(r.Tensors), r.Root[:4])
	// Output:
	// jns-tiny: 38 tensors, root digest 0116eacd…
}
