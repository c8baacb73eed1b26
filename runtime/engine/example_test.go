package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"jns/compiler"
	"jns/runtime/engine"
)

// Open maps a container; a session on it generates. At temperature 0 the answer is the same on every machine.
func Example() {
	if err := continueStory("Once upon a time, a young fox"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// named Milo lived in a hollow tree. He had a
}

func continueStory(text string) error {
	dir, err := os.MkdirTemp("", "jns")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tiny.jns") // what jnsc compile writes
	source := filepath.FromSlash("../../testdata/models/tiny/jns-tiny.gguf")
	if _, err := compiler.Compile(context.Background(), compiler.Options{Source: source, Output: path, Target: "portable"}); err != nil {
		return err
	}
	e, err := engine.Open(path, engine.Options{Threads: 1})
	if err != nil {
		return err
	}
	defer e.Close()
	s := e.NewSession()
	defer s.Close()
	prompt, err := e.Tokenize(text, true, false)
	if err != nil {
		return err
	}
	res, err := s.Generate(context.Background(), engine.Request{Prompt: prompt, MaxTokens: 12, Sample: engine.Greedy()})
	if err != nil {
		return err
	}
	fmt.Println(res.Text)
	return nil
}
