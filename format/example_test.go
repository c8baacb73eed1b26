package format_test

import (
	"fmt"

	"jns/format"
	"jns/format/formattest"
)

func ExampleOpen() {
	file, _ := formattest.Tiny(true) // any io.ReaderAt and its size
	c, err := format.Open(file, int64(len(file)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.TOC.Model.Name, c.Header.Target, len(c.Program.Ops), "operations")
	t := c.Tensors.At(c.Tensors.Find("blk.0.ffn_gate_exps.weight"))
	fmt.Println(t.Count, "matrices of", t.Rows, "×", t.Cols, "in slots from", t.FirstSlot)
	_, err = format.Open(file[:1000], 1000)
	fmt.Println(err)
	// Output:
	// tiny portable 26 operations
	// 4 matrices of 64 × 32 in slots from 12
	// header at offset 1000: the file ends inside the header: it was cut short, fetch it again: corrupt container
}
