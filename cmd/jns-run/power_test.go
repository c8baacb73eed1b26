package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeZone makes a zone as the kernel shows it and gives a function that sets its counter.
func fakeZone(t *testing.T, root, dir, name string, limit, now uint64) func(uint64) {
	d := filepath.Join(root, dir)
	require.NoError(t, os.MkdirAll(d, 0o755))
	put := func(file, s string) {
		require.NoError(t, os.WriteFile(filepath.Join(d, file+".new"), []byte(s+"\n"), 0o600))
		require.NoError(t, os.Rename(filepath.Join(d, file+".new"), filepath.Join(d, file)))
	}
	put("name", name)
	put("max_energy_range_uj", strconv.FormatUint(limit, 10))
	set := func(v uint64) { put("energy_uj", strconv.FormatUint(v, 10)) }
	set(now)
	return set
}

func TestEnergyIsThatOfPackagesAndMemoryAndCountersComeRound(t *testing.T) {
	root := t.TempDir()
	pkg := fakeZone(t, root, "intel-rapl:0", "package-0", 10_000_000, 9_000_000)
	core := fakeZone(t, root, "intel-rapl:0:0", "core", 10_000_000, 0)
	dram := fakeZone(t, root, "intel-rapl:0:1", "dram", 10_000_000, 0)
	psys := fakeZone(t, root, "intel-rapl:1", "psys", 10_000_000, 0)
	twin := fakeZone(t, root, "intel-rapl-mmio:0", "package-0", 10_000_000, 0)
	m, err := openMeter(root, time.Hour)
	require.NoError(t, err)
	require.Len(t, m.zones, 2)
	require.Zero(t, m.joules())
	pkg(2_000_000) // 1 J to the end, 2 J from the start
	dram(500_000)
	core(7_000_000)
	psys(8_000_000)
	twin(9_000_000)
	require.InDelta(t, 3.5, m.joules(), 1e-9)
	require.InDelta(t, 0, m.idle(time.Millisecond), 1e-9)
	require.NoError(t, m.close())

	all, above := energy{joules: 100, seconds: 4, tokens: 10}.perToken(20)
	require.InDelta(t, 10, all, 1e-9)
	require.InDelta(t, 2, above, 1e-9)
}

func TestACounterThatComesRoundDuringARunIsSampledInTime(t *testing.T) {
	root := t.TempDir()
	set := fakeZone(t, root, "intel-rapl:0", "package-0", 1000, 0)
	m, err := openMeter(root, time.Millisecond)
	require.NoError(t, err)
	seen := func(want uint64) func() bool {
		return func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.total == want }
	}
	set(900)
	require.Eventually(t, seen(900), 5*time.Second, time.Millisecond)
	set(100)
	require.Eventually(t, seen(1100), 5*time.Second, time.Millisecond)
	set(950)
	require.InDelta(t, 1950e-6, m.joules(), 1e-12)
	require.NoError(t, os.Remove(filepath.Join(root, "intel-rapl:0", "energy_uj")))
	m.joules()
	require.Error(t, m.close())
}

func TestWithoutCountersTheReasonIsSaid(t *testing.T) {
	_, err := openMeter(t.TempDir(), time.Hour)
	require.ErrorIs(t, err, errPower)
	root := t.TempDir()
	fakeZone(t, root, "intel-rapl:0", "psys", 1000, 0)
	_, err = openMeter(root, time.Hour)
	require.ErrorIs(t, err, errPower)
	fakeZone(t, root, "intel-rapl:1", "package-1", 1000, 0)
	require.NoError(t, os.WriteFile(filepath.Join(root, "intel-rapl:1", "energy_uj"), []byte("x"), 0o600))
	_, err = openMeter(root, time.Hour)
	require.ErrorIs(t, err, errPower)
	require.ErrorContains(t, err, "energy_uj")
	if os.Getuid() != 0 {
		require.NoError(t, os.Chmod(filepath.Join(root, "intel-rapl:1", "energy_uj"), 0))
		_, err = openMeter(root, time.Hour)
		require.ErrorContains(t, err, "root only")
	}
}
