package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/cmd/internal/progress"
	"jns/compiler"
	"jns/format"
	"jns/manifests"
)

func publishCommand() *cli.Command {
	return &cli.Command{
		Name: "publish", Usage: "write manifests of the containers in a directory, and sign them", ArgsUsage: "DIR",
		Description: "Every container is proved against its source first, which must be at hand: GGUF files in DIR or where --source says. For each one,\n" +
			"NAME.TARGET.json is written beside it or to --out, NAME.TARGET.json.minisig with --key, and with --export a SLSA provenance statement\n" +
			"(.slsa.json, DSSE) and an OpenSSF model signature (.sig). The rows of MODELS.md go to standard output, a line for each file to standard error. The password of a key is in JNS_KEY_PASSWORD.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "source", Usage: "GGUF `FILE`, or a directory of them"},
			&cli.StringFlag{Name: "out", Usage: "`DIR` for the manifests (default: beside the containers)"},
			&cli.StringFlag{Name: "name", Usage: "name of the model (default: from the container's file name)"},
			&cli.StringFlag{Name: "description", Usage: "a line about the model"},
			&cli.StringFlag{Name: "licence", Aliases: []string{"license"}, Usage: "licence (default: the one the source names)"},
			&cli.StringFlag{Name: "attribution", Usage: "who made the model"},
			&cli.StringFlag{Name: "repository", Usage: "where the source was published"},
			&cli.StringFlag{Name: "revision", Usage: "which revision of it"},
			&cli.StringSliceFlag{Name: "at", Usage: "`ADDRESS` where the container can be had; one that ends in / is a directory"},
			&cli.StringSliceFlag{Name: "source-at", Usage: "`ADDRESS` where the source can be had; one that ends in / is a directory"},
			&cli.StringSliceFlag{Name: "bench", Usage: "output `FILE` of jns-run bench --json for one of the containers, or of cmd/internal/peer -json -target T"},
			&cli.StringFlag{Name: "key", Usage: "minisign private key `FILE` to sign with"},
			&cli.DurationFlag{Name: "expires", Usage: "the signature is refused after so long (0: never)"},
			&cli.BoolFlag{Name: "export", Usage: "write SLSA statement and model signature too"},
			&cli.StringFlag{Name: "export-key", Usage: "PEM private key `FILE` for them (default: the key of --key)"},
			threadsFlag(), jsonFlag(),
		},
		Action: publish,
	}
}

// publisher is one call of publish.
type publisher struct {
	c        *cli.Command
	workers  int
	out      string
	sources  []string // GGUF files at hand
	sums     map[string]*digested
	measured map[string][]manifests.Measure // by root digest, or by source and target
	key      *minisign.PrivateKey
	export   *manifests.Signer
	wrote    []string // files of the container at hand
}

func publish(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc publish takes one directory, or one container"); err != nil {
		return err
	}
	p := &publisher{c: c, sums: map[string]*digested{}, measured: map[string][]manifests.Measure{}}
	containers, err := p.prepare(c.Args().First())
	if err != nil {
		return err
	}
	type line struct {
		Container string   `json:"container"`
		Manifest  string   `json:"manifest"`
		Files     []string `json:"files"` // all that was written, the manifest first
		Root      string   `json:"root_digest"`
		Signed    bool     `json:"signed"`
	}
	lines := []line{}
	for _, path := range containers {
		m, err := p.manifest(ctx, path)
		if err != nil {
			return err
		}
		p.wrote = nil
		if err := p.write(m); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		lines = append(lines, line{path, p.wrote[0], p.wrote, m.Container.Root.String(), p.key != nil})
		if c.Bool("json") {
			continue
		}
		if _, err := fmt.Fprint(stdout, p.row(m, path)); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, lines)
	}
	return nil
}

// row is the manifest's row of MODELS.md, with a command that works: jns-get knows by name only what is embedded.
func (p *publisher) row(m *manifests.Manifest, container string) string {
	if known, err := manifests.Find(m.Name, m.Target); err == nil && known.Container.Root == m.Container.Root {
		return m.Row()
	}
	return m.RowAt(p.wrote[0], filepath.Clean(p.out) == filepath.Dir(container))
}

// save writes a file and says so, at once: when a later container cannot be proved, what was written before stays.
func (p *publisher) save(path string, b []byte) error {
	if err := output.WriteBytes(path, 0o666, b); err != nil {
		return err
	}
	p.wrote = append(p.wrote, path)
	fmt.Fprintf(os.Stderr, "wrote %s\n", jnscli.Printable(path))
	return nil
}

// prepare reads the flags and finds containers and sources.
func (p *publisher) prepare(dir string) (containers []string, err error) {
	if p.workers, err = threads(p.c); err != nil {
		return nil, err
	}
	containers = []string{dir}
	if st, err := os.Stat(dir); err != nil {
		return nil, err
	} else if st.IsDir() {
		if containers, err = filepath.Glob(filepath.Join(dir, "*.jns")); err != nil {
			return nil, err
		}
	} else {
		dir = filepath.Dir(dir)
	}
	if len(containers) == 0 {
		return nil, jnscli.Usagef("there is no *.jns in %s", dir)
	}
	if p.out = p.c.String("out"); p.out == "" {
		p.out = dir
	} else if st, err := os.Stat(p.out); err != nil || !st.IsDir() { // before everything is proved, which takes a while
		return nil, jnscli.Usagef("--out %s: there is no such directory; make it first", p.out)
	}
	for _, s := range append(p.c.StringSlice("source"), dir) {
		if st, err := os.Stat(s); err != nil {
			return nil, err
		} else if !st.IsDir() {
			p.sources = append(p.sources, s)
			continue
		}
		more, err := filepath.Glob(filepath.Join(s, "*.gguf"))
		if err != nil {
			return nil, err
		}
		p.sources = append(p.sources, more...)
	}
	for _, b := range p.c.StringSlice("bench") {
		if err := p.readBench(b); err != nil {
			return nil, fmt.Errorf("%s: %w", b, err)
		}
	}
	return containers, p.keys()
}

// keys reads the private keys that the flags name.
func (p *publisher) keys() error {
	if path := p.c.String("key"); path != "" {
		b, err := jnscli.ReadSmall(path, jnscli.MaxKeys)
		if err != nil {
			return err
		}
		k, err := manifests.ParsePrivateKey(b, os.Getenv("JNS_KEY_PASSWORD"))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		p.key = &k
		s := manifests.MinisignSigner(k)
		p.export = &s
	}
	if path := p.c.String("export-key"); path != "" {
		b, err := jnscli.ReadSmall(path, jnscli.MaxKeys)
		if err != nil {
			return err
		}
		s, err := manifests.PEMSigner(b)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		p.export = &s
	}
	if p.c.Bool("export") && p.export == nil {
		return jnscli.Usagef("--export needs --key or --export-key")
	}
	return nil
}

// maxReport bounds a file of measurements.
const maxReport = 16 << 20

// readBench takes the figures out of the JSON of jns-run bench.
func (p *publisher) readBench(path string) error {
	b, err := jnscli.ReadSmall(path, maxReport)
	if err != nil {
		return err
	}
	var doc map[string]json.RawMessage
	var receipt struct {
		Root    string `json:"root_digest"`
		Set     string `json:"kernel_set"`
		Threads int    `json:"threads"`
		Kernels map[string]json.RawMessage
	}
	var machine struct {
		CPU string `json:"cpu"`
		OS  string `json:"os"`
	}
	var rss uint64
	if err := json.Unmarshal(b, &doc); err != nil {
		return err
	}
	if doc["rows"] != nil {
		return p.readPeer(b)
	}
	if err := errors.Join(json.Unmarshal(doc["receipt"], &receipt), json.Unmarshal(doc["machine"], &machine)); err != nil {
		return fmt.Errorf("this is no output of jns-run bench --json: %w", err)
	}
	if doc["peak_rss_bytes"] != nil {
		if err := json.Unmarshal(doc["peak_rss_bytes"], &rss); err != nil {
			return err
		}
	}
	scalar := len(receipt.Kernels) > 0
	for name := range receipt.Kernels {
		scalar = scalar && strings.HasSuffix(name, "_scalar")
	}
	if scalar { // what ran, not what the machine has
		receipt.Set = "scalar"
	}
	m := manifests.Measure{Machine: machine.CPU + ", " + machine.OS, Kernels: receipt.Set, Threads: receipt.Threads, PeakRSS: rss}
	var n, g int
	for k, v := range doc {
		var r struct {
			Median float64 `json:"tps_median"`
		}
		count := 0
		if _, err := fmt.Sscanf(k, "pp%d", &count); err == nil && json.Unmarshal(v, &r) == nil {
			m.PrefillTPS, n = round4(r.Median), count
		} else if _, err := fmt.Sscanf(k, "tg%d", &count); err == nil && json.Unmarshal(v, &r) == nil {
			m.DecodeTPS, g = round4(r.Median), count
		}
	}
	m.Command = fmt.Sprintf("jns-run bench -p %d -n %d", n, g)
	p.measured[receipt.Root] = append(p.measured[receipt.Root], m)
	return nil
}

// readPeer takes the figures out of the JSON of cmd/internal/peer, which measured one model beside another program: one measurement for each number of threads.
func (p *publisher) readPeer(b []byte) error {
	var doc struct {
		Machine, Target string
		Pairs           int
		Rows            []struct {
			Model, What string
			Threads     int
			Ours        float64                  `json:"ours_median"`
			Ratio       struct{ Median float64 } `json:"ratio"`
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return err
	}
	if doc.Target == "" {
		return jnscli.Usagef("the report names no target; run cmd/internal/peer with -target")
	}
	type of struct {
		model   string
		threads int
	}
	found, order := map[of]*manifests.Measure{}, []of{}
	counts := map[of][2]int{}
	for _, r := range doc.Rows {
		at := of{r.Model, r.Threads}
		m := found[at]
		if m == nil {
			m = &manifests.Measure{Machine: doc.Machine, Threads: r.Threads, Peer: "llama.cpp"}
			found[at], order = m, append(order, at)
		}
		n, c := 0, counts[at]
		switch {
		case r.What == "rss-bench":
			m.PeakRSS = uint64(r.Ours * (1 << 20))
		case scan(r.What, "pp%d", &n):
			m.PrefillTPS, m.PrefillRatio, c[0] = round4(r.Ours), round4(r.Ratio.Median), n
		case scan(r.What, "tg%d", &n):
			m.DecodeTPS, m.DecodeRatio, c[1] = round4(r.Ours), round4(r.Ratio.Median), n
		}
		counts[at] = c
	}
	slices.SortStableFunc(order, func(a, b of) int { return b.threads - a.threads }) // the row of MODELS.md shows the first
	for _, at := range order {
		m := found[at]
		m.Command = fmt.Sprintf("go run ./cmd/internal/peer -target %s -threads %d -pairs %d -p %d -n %d", doc.Target, at.threads, doc.Pairs, counts[at][0], counts[at][1])
		key := at.model + " " + doc.Target
		p.measured[key] = append(p.measured[key], *m)
	}
	return nil
}

func scan(s, format string, n *int) bool { _, err := fmt.Sscanf(s, format, n); return err == nil }

// round4 keeps four figures: more are noise. What is no speed of anything is 0.
func round4(v float64) float64 {
	if !(v > 1e-9 && v < 1e15) {
		return 0
	}
	scale := 1.0
	for v*scale < 1000 {
		scale *= 10
	}
	for v*scale >= 10000 {
		scale /= 10
	}
	return math.Floor(v*scale+0.5) / scale
}

// errNoSource means that the GGUF which a container or a manifest names is not there.
var errNoSource = errors.New("the source is not at hand")

var notInName = regexp.MustCompile(`[^a-z0-9._-]+|\.\.+`)

// modelName is the name of a model, out of its container's file name.
func modelName(path, target string) string {
	s := strings.TrimSuffix(filepath.Base(path), ".jns")
	s = strings.ToLower(strings.TrimSuffix(s, "."+target))
	return strings.Trim(notInName.ReplaceAllString(s, "-"), "-.")
}

// manifest proves a container against its source and describes both.
func (p *publisher) manifest(ctx context.Context, path string) (*manifests.Manifest, error) {
	file := filepath.Base(path)
	k, c, f, err := containerFacts(path, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &manifests.Manifest{
		Manifest: manifests.Version, Name: p.c.String("name"), Target: c.Header.Target, Description: p.c.String("description"),
		Source: manifests.Source{
			Repository: p.c.String("repository"), Revision: p.c.String("revision"), Licence: p.c.String("licence"), Attribution: p.c.String("attribution"),
		},
		Compiler:  manifests.Compiler{Name: c.TOC.Compiler.Name, Revision: c.TOC.Compiler.Revision, Options: c.TOC.Compiler.Options, Version: p.c.Root().Version},
		Container: *k, Memory: memoryFacts(c),
	}
	if m.Name == "" {
		m.Name = modelName(path, m.Target)
	}
	for _, fact := range c.TOC.Model.Facts {
		if fact.Key == "license" && m.Source.Licence == "" {
			m.Source.Licence = fact.Value
		}
	}
	if m.Source.Licence == "" {
		return nil, jnscli.Usagef("%s: the source names no licence; say which with --licence", path)
	}
	first, err := p.source(m, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// What was measured beside another program says more, and comes first.
	m.Measured = append(p.measured[strings.TrimSuffix(m.Source.Files[0].File, ".gguf")+" "+m.Target], p.measured[k.Root.String()]...)
	m.Container.At = places(p.c.StringSlice("at"), file)
	bars := progress.New()
	_, err = compiler.Verify(ctx, compiler.VerifyOptions{
		Container: path, Against: first, Workers: p.workers, Progress: func(q compiler.Progress) { bars.Show(q.Phase, q.Done, q.Total) },
	})
	bars.Close(err)
	if err != nil {
		return nil, err
	}
	// What was measured before stays as long as the container is the same.
	if was := p.before(m); was != nil {
		if len(m.Measured) == 0 {
			m.Measured = was.Measured
		}
		if m.Compiler.Version == "" { // a program that does not know its version
			m.Compiler.Version = was.Compiler.Version
		}
	}
	return m, nil
}

// before is the manifest of the same container that was written by an earlier call, nil if there is none.
func (p *publisher) before(m *manifests.Manifest) *manifests.Manifest {
	old, err := jnscli.ReadSmall(filepath.Join(p.out, m.FileName()), manifests.MaxManifest)
	if err != nil {
		return nil
	}
	was, err := manifests.Parse(old)
	if err != nil || was.Container.Root != m.Container.Root {
		return nil
	}
	return was
}

// source finds the container's source among the files at hand, by length and SHA-256, and describes it. It gives the path of the first part.
func (p *publisher) source(m *manifests.Manifest, c *format.Container) (first string, err error) {
	for i, s := range c.TOC.Source {
		path, d, err := p.find(s)
		if err != nil {
			return "", fmt.Errorf("file %d of the source (SHA-256 %x): %w", i+1, s.SHA256, err)
		}
		name := filepath.Base(path)
		header := manifests.Digest(s.HeaderSHA256)
		m.Source.Files = append(m.Source.Files, manifests.SourceFile{
			File: name, Bytes: d.bytes, SHA256: d.sha256, HeaderSHA256: &header, Chunks: d.chunks, At: places(p.c.StringSlice("source-at"), name),
		})
		if i == 0 {
			first = path
		}
	}
	return first, nil
}

func (p *publisher) find(s format.Shard) (string, *digested, error) {
	for _, path := range p.sources {
		if st, err := os.Stat(path); err != nil || uint64(st.Size()) != s.Length {
			continue
		}
		d := p.sums[path]
		if d == nil {
			var err error
			if d, err = digestFile(path); err != nil {
				return "", nil, err
			}
			p.sums[path] = d
		}
		if d.sha256 == s.SHA256 {
			return path, d, nil
		}
	}
	return "", nil, fmt.Errorf("%w: none of the %d files given or found has its length and SHA-256; name it with --source", errNoSource, len(p.sources))
}

// places completes addresses that are directories.
func places(at []string, file string) []string {
	var out []string
	for _, a := range at {
		if strings.HasSuffix(a, "/") {
			a += file
		}
		out = append(out, a)
	}
	return slices.Clip(out)
}

// write writes a manifest and what belongs to it.
func (p *publisher) write(m *manifests.Manifest) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	path := filepath.Join(p.out, m.FileName())
	was := p.before(m)
	if err := p.save(path, b); err != nil {
		return err
	}
	now := time.Now()
	sig := path + manifests.SignatureSuffix
	if p.key == nil {
		// A signature of other bytes would only mislead.
		if err := removed(sig); err != nil {
			return err
		}
	} else {
		var expires time.Time
		if d := p.c.Duration("expires"); d > 0 {
			expires = now.Add(d)
		}
		if err := p.save(sig, manifests.Sign(*p.key, b, m.FileName(), now, expires)); err != nil {
			return err
		}
	}
	base := strings.TrimSuffix(path, ".json")
	if !p.c.Bool("export") {
		if was != nil {
			return nil
		}
		for _, s := range statements { // and so would statements about another container
			if err := removed(base + s.suffix); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range statements {
		b, err := s.make(m, *p.export)
		if err != nil {
			return err
		}
		if err := p.save(base+s.suffix, b); err != nil {
			return err
		}
	}
	return nil
}

// statements are what --export writes besides a manifest.
var statements = []struct {
	suffix string
	make   func(*manifests.Manifest, manifests.Signer) ([]byte, error)
}{{".slsa.json", (*manifests.Manifest).SLSA}, {".sig", (*manifests.Manifest).ModelSigning}}

// removed removes a file that is perhaps not there.
func removed(path string) error {
	err := os.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		fmt.Fprintf(os.Stderr, "removed %s, which is of another manifest\n", jnscli.Printable(path))
	}
	return err
}
