package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"jns/format/routing"
)

var update = flag.Bool("update", false, "write golden files anew")

const tinyDir = "../../testdata/models/tiny"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"jnsc": main})
}

// TestStories runs what a user could type, failures included: testdata/*.txtar. $TINY and $MOE are the models of the repository.
func TestStories(t *testing.T) {
	tiny, err := filepath.Abs(tinyDir)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TINY", filepath.Join(tiny, "jns-tiny.gguf"))
			e.Setenv("MOE", filepath.Join(tiny, "jns-tiny-moe.gguf"))
			e.Setenv("DIGESTS", filepath.Join(tiny, "jns.digest"))
			e.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "flip": flip, "cut": cut, "cutby": cutBy, "grow": grow, "part": part, "lastpart": lastPart,
			"routing": routed,
		},
	})
}

func number(ts *testscript.TestScript, s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	ts.Check(err)
	return n
}

// exits CODE COMMAND…: the command ends with the exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		code = e.ExitCode()
	}
	if want := int(number(ts, args[0])); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// routed writes a routing: routing FILE LAYERS EXPERTS [PASSES]. Expert 1 is used most, and each with the one before it.
func routed(ts *testscript.TestScript, _ bool, args []string) {
	layers, experts := number(ts, args[1]), number(ts, args[2])
	passes := experts
	if len(args) > 3 {
		passes = number(ts, args[3])
	}
	t := &routing.Trace{}
	for l := range layers {
		for e := range experts {
			t.Slots = append(t.Slots, routing.Slot{Layer: int32(l), Expert: int32(e), Length: 4096})
		}
	}
	for p := range passes {
		t.Turns = append(t.Turns, routing.Turn{Rows: 1})
		for l := range layers {
			e := uint32(l*experts + max(p, 1))
			t.Turns = append(t.Turns, routing.Turn{Slots: []uint32{e, e - 1}, Count: []int32{1, 1}})
		}
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(errors.Join(t.Write(f), f.Close()))
}

func change(ts *testscript.TestScript, name string, f func([]byte) []byte) {
	path := ts.MkAbs(name)
	b, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, f(b), 0o666))
}

// flip FILE OFFSET: changes the lowest bit of one byte; a negative offset counts from the end.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(b []byte) []byte {
		at := number(ts, args[1])
		if at < 0 {
			at += int64(len(b))
		}
		b[at] ^= 1
		return b
	})
}

// cut FILE LENGTH: keeps the first bytes of a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(b []byte) []byte { return b[:number(ts, args[1])] })
}

// cutby FILE N: drops the last bytes of a file.
func cutBy(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(b []byte) []byte { return b[:int64(len(b))-number(ts, args[1])] })
}

// grow FILE: adds a byte.
func grow(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(b []byte) []byte { return append(b, 0) })
}

// part FROM TO: makes a GGUF the first of two parts of a split model: the same file with the keys of a part put in front of its others.
func part(ts *testscript.TestScript, _ bool, args []string) {
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	tensors := binary.LittleEndian.Uint64(b[8:])
	keys := splitKeys(0, tensors)
	// A last key fills up to the alignment of the data, so that tensors stay where the table says.
	const alignment, overhead = 32, 8 + len("filler") + 4 + 8
	fill := (alignment - (len(keys)+overhead)%alignment) % alignment
	keys = appendKey(keys, "filler", 8)
	keys = binary.LittleEndian.AppendUint64(keys, uint64(fill))
	keys = append(keys, make([]byte, fill)...)
	out := append([]byte{}, b[:24]...)
	binary.LittleEndian.PutUint64(out[16:], binary.LittleEndian.Uint64(b[16:])+4)
	out = append(append(out, keys...), b[24:]...)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o666))
}

// lastpart TENSORS TO: makes the second of two parts, which holds no tensor; the model has so many.
func lastPart(ts *testscript.TestScript, _ bool, args []string) {
	out := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	out = binary.LittleEndian.AppendUint64(out, 0)
	out = binary.LittleEndian.AppendUint64(out, 3)
	out = append(out, splitKeys(1, uint64(number(ts, args[0])))...)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o666))
}

// splitKeys are the three keys of part no of two.
func splitKeys(no uint16, tensors uint64) []byte {
	const kindUint16, kindInt32 = 2, 5
	b := binary.LittleEndian.AppendUint16(appendKey(nil, "split.no", kindUint16), no)
	b = binary.LittleEndian.AppendUint16(appendKey(b, "split.count", kindUint16), 2)
	return binary.LittleEndian.AppendUint32(appendKey(b, "split.tensors.count", kindInt32), uint32(tensors))
}

func appendKey(b []byte, key string, kind uint32) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(key)))
	return binary.LittleEndian.AppendUint32(append(b, key...), kind)
}
