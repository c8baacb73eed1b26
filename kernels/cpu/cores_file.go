package cpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

// CoresEnv is the environment variable that names a file which says more or better about cores than the table here:
//
//	{
//	  "cores": [{"implementer": "0x41", "part": "0xd8e", "name": "Neoverse-N3", "class": "big", "vectors": 2, "matmul": 2, "kernels": "i8mm", "prefetch": 512}],
//	  "processors": {"0": {"name": "fast", "class": "big", "speed": 1}, "1": {"name": "slow", "class": "little", "speed": 0.3}}
//	}
//
// A core is what an identification register names, a processor what the system gives a number. Everything but implementer, part and name may be left out.
const CoresEnv = "JNS_CORES"

// ErrCores is the error of a file of cores that cannot be used.
var ErrCores = errors.New("bad file of cores")

// coresFile is what such a file says.
type coresFile struct {
	Cores      []Core
	Processors map[int]Core
}

const (
	coresFileSize = 1 << 20
	mostCores     = 4096
)

// coreText is a Core as a file spells it.
type coreText struct {
	Implementer string  `json:"implementer,omitempty"`
	Part        string  `json:"part,omitempty"`
	Name        string  `json:"name"`
	Class       string  `json:"class,omitempty"`
	InOrder     bool    `json:"in_order,omitempty"`
	Vectors     int     `json:"vectors,omitempty"`
	MatMul      int     `json:"matmul,omitempty"`
	Speed       float64 `json:"speed,omitempty"`
	Kernels     string  `json:"kernels,omitempty"`
	Prefetch    int     `json:"prefetch,omitempty"`
}

// readCoresFile reads the file that the environment names; without one there is nothing to say.
func readCoresFile() (coresFile, error) {
	name := os.Getenv(CoresEnv)
	if name == "" {
		return coresFile{}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return coresFile{}, fmt.Errorf("%w: %s: %w", ErrCores, CoresEnv, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, coresFileSize+1))
	if err == nil && len(b) > coresFileSize {
		err = fmt.Errorf("larger than %d KiB", coresFileSize>>10)
	}
	var out coresFile
	if err == nil {
		out, err = parseCores(b)
	}
	if err != nil {
		return coresFile{}, fmt.Errorf("%w: %s (named by %s; correct it or unset the variable): %w", ErrCores, name, CoresEnv, err)
	}
	return out, nil
}

func parseCores(b []byte) (out coresFile, err error) {
	var text struct {
		Cores      []coreText          `json:"cores"`
		Processors map[string]coreText `json:"processors"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&text); err != nil {
		return out, spelling(err)
	}
	if d.More() {
		return out, errors.New("something follows the object")
	}
	if len(text.Cores) > mostCores || len(text.Processors) > mostCores {
		return out, fmt.Errorf("more than %d entries", mostCores)
	}
	for i, c := range text.Cores {
		core, err := c.core()
		if err == nil {
			core.Implementer, err = number(c.Implementer, 0xff)
		}
		if err == nil {
			core.Part, err = number(c.Part, 0xfff)
		}
		if err != nil {
			return out, fmt.Errorf("cores[%d]: %w", i, err)
		}
		out.Cores = append(out.Cores, core)
	}
	out.Processors = map[int]Core{}
	for key, c := range text.Processors {
		core, err := c.core()
		n, bad := number(key, 1<<16)
		if bad != nil {
			err = bad
		}
		if err == nil && c.Implementer+c.Part != "" {
			err = errors.New("implementer and part belong to cores, not to processors")
		}
		if err != nil {
			return out, fmt.Errorf("processors[%q]: %w", key, err)
		}
		out.Processors[n] = core
	}
	return out, nil
}

// spelling says of an error of package json what is wrong with a file, instead of with a value of Go.
func spelling(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	case errors.As(err, &kind):
		field := kind.Field
		if field == "" {
			field = "the file"
		}
		return fmt.Errorf("byte %d: %s cannot be %s", kind.Offset, field, kind.Value)
	}
	return err
}

func number(s string, most int) (int, error) {
	n, err := strconv.ParseUint(s, 0, 32)
	if err != nil || n > uint64(most) {
		return 0, fmt.Errorf("%q is no number from 0 to %d (%#[2]x)", s, most)
	}
	return int(n), nil
}

// core checks what a file says.
func (t coreText) core() (Core, error) {
	c := Core{Name: t.Name, InOrder: t.InOrder, Vectors: t.Vectors, MatMul: t.MatMul, Speed: t.Speed, Prefer: t.Kernels, Prefetch: t.Prefetch}
	switch {
	case t.Name == "" || len(t.Name) > 64:
		return c, errors.New("a name of 1 to 64 bytes is needed")
	case t.Vectors < 0 || t.Vectors > 64 || t.MatMul < 0 || t.MatMul > 64:
		return c, errors.New("vectors and matmul are operations in a cycle, 0 to 64")
	case t.Speed < 0 || t.Speed > 1e6:
		return c, errors.New("speed is 0 or a positive number to compare cores by")
	case t.Prefetch < 0 || t.Prefetch > 4096:
		return c, errors.New("prefetch is a number of bytes ahead, 0 to 4096")
	case t.Kernels != "" && !slices.Contains(Sets(), t.Kernels):
		return c, fmt.Errorf("%q is no kernel set; there are %v", t.Kernels, Sets())
	}
	if t.Class == "" {
		return c, nil
	}
	for class := Unknown; class <= Prime; class++ {
		if class.String() == t.Class {
			c.Class = class
			return c, nil
		}
	}
	return c, fmt.Errorf("%q is no class: unknown, little, middle, big, prime", t.Class)
}
