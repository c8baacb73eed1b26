package manifests_test

import (
	"errors"
	"fmt"

	"jns/manifests"
)

func ExampleFind() {
	m, err := manifests.Find("jns-tiny", "portable")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.FileName(), "describes", m.Container.File)
	fmt.Println(len(m.Container.Chunks), "chunks of a MiB;", m.Source.Files[0].File, "under", m.Source.Licence)
	_, err = manifests.Find("jns-tiny", "abacus")
	fmt.Println(errors.Is(err, manifests.ErrUnknown), err)
	// Output:
	// jns-tiny.portable.json describes jns-tiny.portable.jns
	// 4 chunks of a MiB; jns-tiny.gguf under Apache-2.0
	// true no such model: jns-tiny is not published for target "abacus"; there is: arm64-i8mm, portable, x86-64-v4
}
