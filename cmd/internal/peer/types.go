package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"jns/cmd/internal/peer/child"
)

// fileType is a file type that the peer's quantiser knows, by its number in enum llama_ftype.
type fileType struct {
	name   string
	number int
}

var fileTypes = []fileType{{"F32", 0}, {"F16", 1}, {"BF16", 32}, {"Q8_0", 7}, {"Q4_0", 2}, {"Q4_1", 3}, {"Q5_0", 8}, {"Q5_1", 9}, {"Q2_K_S", 21}, {"Q2_K", 10}, {"Q3_K_S", 11},
	{"Q3_K_M", 12}, {"Q3_K_L", 13}, {"Q4_K_S", 14}, {"Q4_K_M", 15}, {"Q5_K_S", 16}, {"Q5_K_M", 17}, {"Q6_K", 18}, {"IQ1_S", 24}, {"IQ1_M", 31}, {"IQ2_XXS", 19}, {"IQ2_XS", 20},
	{"IQ2_S", 28}, {"IQ2_M", 29}, {"IQ3_XXS", 23}, {"IQ3_XS", 22}, {"IQ3_S", 26}, {"IQ3_M", 27}, {"IQ4_NL", 25}, {"IQ4_XS", 30}, {"TQ1_0", 36}, {"TQ2_0", 37},
	{"MXFP4_MOE", 38}, {"NVFP4", 39}, {"Q1_0", 40}, {"Q2_0", 41}}

// chooseTypes reads a list of names, "all" for every type.
func chooseTypes(list string) ([]fileType, error) {
	if list == "" || list == "all" {
		return fileTypes, nil
	}
	var out []fileType
next:
	for _, name := range strings.Split(list, ",") {
		for _, t := range fileTypes {
			if strings.EqualFold(t.name, strings.TrimSpace(name)) {
				out = append(out, t)
				continue next
			}
		}
		return nil, fmt.Errorf("-types %s: not a file type of the peer", name)
	}
	return out, nil
}

// makeTypes makes the file in the given types with the peer's quantiser and gives their paths. Files that dir holds already are used as they are. What the
// peer refuses is said by refused and left out.
func makeTypes(ctx context.Context, peer, model, dir string, types []fileType, refused func(name, why string)) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(filepath.Base(model), ".gguf")
	for _, t := range fileTypes { // the name without the type that it ends with
		base = strings.TrimSuffix(base, "-"+t.name)
	}
	var out []string
	for _, t := range types {
		path := filepath.Join(dir, base+"-"+t.name+".gguf")
		if n, err := child.FileSize(path); err == nil && n > 0 {
			out = append(out, path)
			continue
		}
		_, err := child.Run(ctx, peer, "quantise", model, path+".part", "--type", strconv.Itoa(t.number), "-t", "0")
		if err == nil {
			err = os.Rename(path+".part", path)
		}
		if err != nil {
			_ = os.Remove(path + ".part")
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			var refusal *child.Error
			if !errors.As(err, &refusal) {
				return nil, err
			}
			refused(t.name, err.Error())
			continue
		}
		out = append(out, path)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the peer can make none of the types of %s", model)
	}
	return out, nil
}
