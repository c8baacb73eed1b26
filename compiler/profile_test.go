package compiler

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/routing"
)

// moeProfile writes a routing of the repository's small mixture (three layers of eight experts) that uses the experts of a layer backwards.
func moeProfile(t *testing.T, layers, experts int) string {
	t.Helper()
	tr := &routing.Trace{}
	for l := range layers {
		for e := range experts {
			tr.Slots = append(tr.Slots, routing.Slot{Layer: int32(l), Expert: int32(e), Length: 4096})
		}
	}
	for pass := range experts {
		tr.Turns = append(tr.Turns, routing.Turn{Rows: 1})
		for l := range layers {
			e := uint32(max(pass, 1))
			tr.Turns = append(tr.Turns, routing.Turn{Slots: []uint32{uint32(l*experts) + e, uint32(l*experts) + e - 1}, Count: []int32{1, 1}})
		}
	}
	name := filepath.Join(t.TempDir(), "routing")
	var b bytes.Buffer
	require.NoError(t, tr.Write(&b))
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o666))
	return name
}

const smallMixture = "../testdata/models/tiny/jns-tiny-moe.gguf"

func TestRecipesAreReadAsTheyAreWritten(t *testing.T) {
	sum := strings.Repeat("0f", 32)
	for _, r := range []Recipe{{}, {KeepUnknown: true}, {Profile: sum}, {KeepUnknown: true, Profile: sum}} {
		got, err := ParseRecipe(r.String())
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
	require.Equal(t, "keep-unknown=false", Recipe{}.String(), "containers without a profile have the bytes they always had")
	for _, bad := range []string{"", "keep-unknown=maybe", "keep-unknown=false ", "keep-unknown=false profile=", "keep-unknown=false profile=" + sum[1:], "keep-unknown=false profile=" + strings.ToUpper(sum),
		"keep-unknown=false profile=" + sum + " more=1"} {
		_, err := ParseRecipe(bad)
		require.ErrorIs(t, err, format.ErrUnsupported, bad)
	}
}

// A profile moves experts and nothing else; the bytes are the same again; verify needs the source section alone, and proves the order with the profile.
func TestAProfileOrdersExperts(t *testing.T) {
	ctx, dir, profile := context.Background(), t.TempDir(), moeProfile(t, 3, 8)
	var roots [][32]byte
	for i, workers := range []int{1, 3} {
		rep, err := Compile(ctx, Options{Source: smallMixture, Output: filepath.Join(dir, string(rune('a'+i))), Target: "portable", Profile: profile, Workers: workers})
		require.NoError(t, err)
		require.NotNil(t, rep.Order)
		require.Len(t, rep.Order, 3)
		require.Equal(t, []uint32{1, 0, 2, 3, 4, 5, 6, 7}, rep.Order[0].Experts)
		roots = append(roots, rep.Root)
	}
	require.Equal(t, roots[0], roots[1])
	a := filepath.Join(dir, "a")
	v, err := Verify(ctx, VerifyOptions{Container: a, Against: smallMixture, Profile: profile})
	require.NoError(t, err)
	require.Contains(t, v.Checks, profile+" is the profile, and experts lie as it leads to")
	require.Empty(t, v.Notes)
	v, err = Verify(ctx, VerifyOptions{Container: a})
	require.NoError(t, err)
	require.Len(t, v.Notes, 1)
	require.Contains(t, v.Notes[0], "is not proved")

	ex, err := ExplainContainer(a)
	require.NoError(t, err)
	would, err := Explain(Options{Source: smallMixture, Target: "portable", Profile: profile})
	require.NoError(t, err)
	require.Equal(t, would.Order, ex.Order)
	require.Equal(t, would.Profile, ex.Profile)
	var text strings.Builder
	require.NoError(t, ex.Text(&text))
	require.Contains(t, text.String(), "layer 2: 1 0 2 3 4 5 6 7")

	plain := filepath.Join(dir, "plain")
	rep, err := Compile(ctx, Options{Source: smallMixture, Output: plain, Target: "portable"})
	require.NoError(t, err)
	require.Nil(t, rep.Order)
	require.Empty(t, rep.Profile)
	_, err = Verify(ctx, VerifyOptions{Container: plain, Profile: profile})
	require.ErrorIs(t, err, ErrVerify)
	require.ErrorContains(t, err, "made without a profile")
}

// A container that says a profile made it but lies in another order is found by whoever has the profile, and one that names no profile by everybody.
func TestAnotherOrderThanTheProfilesIsFound(t *testing.T) {
	ctx, dir, profile := context.Background(), t.TempDir(), moeProfile(t, 3, 8)
	for _, c := range []struct {
		named      bool
		with, none string // error with the profile at hand, and without
	}{{true, "do not lie in the order", ""}, {false, "is not as the source leads to", "is not as the source leads to"}} {
		b := &build{opt: Options{Source: smallMixture, Target: "portable"}}
		require.NoError(t, b.inventory())
		require.NoError(t, b.lower())
		if c.named {
			b.profile, _ = readProfile(profile)
			require.NotNil(t, b.profile)
			b.profile.Turns = b.profile.Turns[:4] // the sum stays
		} else {
			b.asFound = backwardsExperts(t, b)
		}
		require.NoError(t, b.plan())
		name := filepath.Join(dir, "lie")
		f, err := os.Create(name)
		require.NoError(t, err)
		require.NoError(t, b.pack(ctx, f))
		require.NoError(t, b.seal(ctx, f))
		require.NoError(t, f.Close())
		require.NoError(t, b.set.Close())
		_, err = Verify(ctx, VerifyOptions{Container: name, Profile: profile})
		require.ErrorIs(t, err, ErrVerify)
		require.ErrorContains(t, err, c.with)
		if _, err = Verify(ctx, VerifyOptions{Container: name}); c.none == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.none)
		}
	}
}

func backwardsExperts(t *testing.T, b *build) (order []uint32) {
	require.NoError(t, b.plan())
	for i, s := range b.tiles.Slots {
		if s.Class == format.ClassExpert {
			order = append([]uint32{uint32(i)}, order...)
		}
	}
	return order
}

func TestProfilesThatCannotBeUsedAreRefused(t *testing.T) {
	compile := func(source, profile string) error {
		_, err := Compile(context.Background(), Options{Source: source, Output: filepath.Join(t.TempDir(), "out"), Target: "portable", Profile: profile})
		return err
	}
	err := compile(smallMixture, moeProfile(t, 3, 9))
	require.ErrorIs(t, err, ErrProfile)
	require.ErrorContains(t, err, "9 experts in layer 0")
	require.ErrorIs(t, compile(smallMixture, moeProfile(t, 2, 8)), ErrProfile)
	require.ErrorIs(t, compile("../testdata/models/tiny/jns-tiny.gguf", moeProfile(t, 3, 8)), ErrProfile)
	require.ErrorIs(t, compile(smallMixture, smallMixture), ErrTrace)
	require.ErrorIs(t, compile(smallMixture, filepath.Join(t.TempDir(), "none")), os.ErrNotExist)
	old := filepath.Join(t.TempDir(), "old")
	require.NoError(t, os.WriteFile(old, []byte("jns-routing 2\n\x00"), 0o666))
	require.ErrorIs(t, compile(smallMixture, old), ErrTraceVersion)

	_, err = Recipe{Profile: strings.Repeat("00", 32)}.ProfileSum("")
	require.ErrorIs(t, err, ErrNoProfile)
	_, err = Recipe{}.ProfileSum(old)
	require.ErrorIs(t, err, ErrProfile)
	sum, err := Recipe{}.ProfileSum("")
	require.NoError(t, err)
	require.Empty(t, sum)
}
