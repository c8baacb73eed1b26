package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// powercap is where Linux shows counters of energy (RAPL of Intel and AMD processors).
const powercap = "/sys/class/powercap"

// errPower is wrapped by the reason why energy cannot be measured.
var errPower = errors.New("energy cannot be measured")

// zone is one counter of energy, in microjoules; it starts again at 0 beyond its range.
type zone struct {
	Name  string
	file  string
	limit uint64
	last  uint64
}

// meter adds up the energy of the zones that do not contain each other: processor packages, and memory where it is counted apart.
type meter struct {
	zones []*zone
	mu    sync.Mutex
	total uint64 // microjoules since open
	err   error
	stop  chan struct{}
	done  chan struct{}
}

// openMeter finds the zones under root and starts sampling them, more often than a counter can come round. The error says why it cannot.
func openMeter(root string, every time.Duration) (*meter, error) {
	dirs, err := filepath.Glob(filepath.Join(root, "intel-rapl*:*"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("%w: %s has no zone; a virtual machine shows none, elsewhere load the module intel_rapl_common", errPower, root)
	}
	m := &meter{stop: make(chan struct{}), done: make(chan struct{})}
	for _, d := range dirs {
		name, err := os.ReadFile(filepath.Join(d, "name"))
		if err != nil {
			continue
		}
		z := &zone{Name: strings.TrimSpace(string(name)), file: filepath.Join(d, "energy_uj")}
		// intel-rapl-mmio shows the same packages a second time; core and uncore are parts of a package, and psys holds everything.
		if strings.HasPrefix(filepath.Base(d), "intel-rapl-mmio") || !strings.HasPrefix(z.Name, "package") && z.Name != "dram" {
			continue
		}
		if z.limit, err = readCounter(filepath.Join(d, "max_energy_range_uj")); err != nil {
			return nil, fmt.Errorf("%w: %w", errPower, err)
		}
		if z.last, err = readCounter(z.file); err != nil {
			if errors.Is(err, fs.ErrPermission) {
				return nil, fmt.Errorf("%w: %s may be read by root only; run as root, or let your user read it", errPower, z.file)
			}
			return nil, fmt.Errorf("%w: %w", errPower, err)
		}
		m.zones = append(m.zones, z)
	}
	if len(m.zones) == 0 {
		return nil, fmt.Errorf("%w: %s has no zone of a processor package", errPower, root)
	}
	go func() {
		defer close(m.done)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-m.stop:
				return
			case <-t.C:
				m.joules()
			}
		}
	}()
	return m, nil
}

func readCounter(file string) (uint64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: not a counter: %w", file, err)
	}
	return n, nil
}

// joules is the energy used since the meter was opened.
func (m *meter) joules() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, z := range m.zones {
		n, err := readCounter(z.file)
		if err != nil {
			m.err = err
			continue
		}
		if n >= z.last {
			m.total += n - z.last
		} else { // it came round
			m.total += z.limit - z.last + n
		}
		z.last = n
	}
	return float64(m.total) / 1e6
}

// close ends the sampling and gives an error that reading met on the way.
func (m *meter) close() error {
	close(m.stop)
	<-m.done
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// idle is the power in watts while this process does nothing.
func (m *meter) idle(d time.Duration) float64 {
	start, before := time.Now(), m.joules()
	time.Sleep(d)
	return (m.joules() - before) / time.Since(start).Seconds()
}

// power is what a bench with --power reports.
type power struct {
	Reason     string   `json:"reason,omitempty"` // why there is nothing else
	Zones      []string `json:"zones,omitempty"`
	IdleBefore float64  `json:"idle_watts_before,omitempty"`
	IdleAfter  float64  `json:"idle_watts_after,omitempty"`
}

// energy of one measurement, all repetitions together.
type energy struct {
	joules, seconds float64
	tokens          int
}

// perToken is the energy of a token, and what of it is above the idle power.
func (e energy) perToken(idle float64) (all, above float64) {
	return e.joules / float64(e.tokens), (e.joules - idle*e.seconds) / float64(e.tokens)
}
