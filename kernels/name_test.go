package kernels

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels/tile"
)

func TestEveryKernelNameIsInTheGrammar(t *testing.T) {
	files, err := filepath.Glob("amd64/gemm_*_amd64.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	decl := regexp.MustCompile(`(?m)^func (\w+)\(`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range decl.FindAllSubmatch(text, -1) {
			name := strings.ToLower(string(m[1][:1])) + string(m[1][1:])
			n, err := ParseName(name)
			require.NoError(t, err)
			require.Contains(t, f, n.Set, "a kernel lies in a file of its set")
		}
	}
	for _, l := range tile.Layouts() {
		for _, set := range Available() {
			m, err := BindMatMul(l, set)
			require.NoError(t, err)
			n, err := ParseName(m.Name)
			require.NoError(t, err)
			require.Equal(t, m.Set, n.Set)
			require.Equal(t, l.Name, n.Tile)
		}
	}
}

func TestParseNameRefusesWhatIsNoName(t *testing.T) {
	for _, s := range []string{
		"", "gemm", "gemm_q8x_16x1_avx2", "mul_q4_kx16_q8x_16x1_avx2", "gemm_q4_kx16_q8k_16x1_avx2", "gemm_q4_kx16_q8x_16_avx2",
		"gemm_q4_kx16_q8x_0x1_avx2", "gemm_q4_kx16_q8x_16x1_sse", "gemm_q4_kx16_q8x_016x1_avx2",
	} {
		_, err := ParseName(s)
		require.ErrorIs(t, err, ErrName, s)
	}
	n, err := ParseName("gemm_q4_kx16_q8x_32x6_avx512vnni")
	require.NoError(t, err)
	require.Equal(t, Name{"gemm", "q4_kx16", "q8x", 32, 6, "avx512vnni"}, n)
}
