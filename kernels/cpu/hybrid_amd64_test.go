package cpu

import (
	"testing"

	"github.com/klauspost/cpuid/v2/topology"
	"github.com/stretchr/testify/require"
)

// A processor of one performance core with two threads and two efficiency cores, of which the process may use the numbers 4, 5, 8 and 9.
func TestHybridCoresAreNumberedAsTheSystemDoes(t *testing.T) {
	core := func(kind topology.CoreType, threads ...int) topology.Core {
		c := topology.Core{Type: kind}
		for _, id := range threads {
			c.Threads = append(c.Threads, topology.Thread{ID: id})
		}
		return c
	}
	sys := &topology.System{Online: 4, Packages: []topology.Package{{Groups: []topology.Group{
		{Cores: []topology.Core{core(topology.Performance, 0, 1)}},
		{Cores: []topology.Core{core(topology.Efficiency, 2), core(topology.Efficiency, 3)}},
	}}}}
	all := hybridCores(sys, []int{4, 5, 8, 9})
	require.Len(t, all, 4)
	require.Equal(t, "2 × performance core (big), 2 × efficiency core (little)", DescribeCores(all))
	require.True(t, all[8].Small() && all[9].Small())
	require.Equal(t, all[4], all[5])
}
