// Package cli is what the commands have in common: exit codes, the split of data to stdout and words to stderr, JSON, and the signal that ends a command cleanly.
//
// It must not know models. The commands are thin: flags, options, one call, print, exit.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

// Exit codes; README lists them.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitCorrupt     = 3 // the input is corrupt
	ExitUnsupported = 4 // the input is fine, but needs something that this version does not have
	ExitVerify      = 5 // verification failed
)

// ErrUsage is wrapped by errors about how a command was called.
var ErrUsage = errors.New("usage")

// Usagef makes an error that ends the command with ExitUsage.
func Usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

// Classes sorts errors into exit codes: the first class of which an error matches a sentinel decides.
type Classes []Class

// Class is an exit code and its sentinels.
type Class struct {
	Code      int
	Sentinels []error
}

// Code is the exit code of an error.
func (c Classes) Code(err error) int {
	if err == nil {
		return ExitOK
	}
	if errors.Is(err, ErrUsage) {
		return ExitUsage
	}
	for _, k := range c {
		for _, s := range k.Sentinels {
			if errors.Is(err, s) {
				return k.Code
			}
		}
	}
	return ExitFailed
}

// Main runs a command and ends the process with its exit code. Ctrl-C and SIGTERM cancel the command's context, so that it can clean up; a second one ends it at once.
func Main(root *cli.Command, classes Classes) {
	os.Exit(Run(root, classes, os.Args))
}

// Run is Main without the exit.
func Run(root *cli.Command, classes Classes, args []string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // the next signal has its default effect
	}()
	quiet(root)
	root.Version = version()
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(os.Stderr, "%s: internal error: %v\n%s\nPlease report this.\n", root.Name, v, debug.Stack())
			code = ExitFailed
		}
	}()
	out := &checked{w: root.Writer}
	if out.w == nil {
		out.w = os.Stdout
	}
	root.Writer = out
	err := root.Run(ctx, args)
	if err == nil {
		err = out.err
	}
	if err == nil {
		return ExitOK
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintf(os.Stderr, "%s: interrupted\n", root.Name)
		return 130
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", root.Name, Printable(inWords(err)))
	return classes.Code(err)
}

// inWords is an error's text, in which the system's bare word about a file that is not there says where it was looked for and what to do.
func inWords(err error) string {
	text := err.Error()
	var p *fs.PathError
	if !errors.As(err, &p) || !errors.Is(p, fs.ErrNotExist) {
		return text
	}
	where := ""
	if dir, e := os.Getwd(); e == nil && !filepath.IsAbs(p.Path) {
		where = " in " + dir
	}
	return strings.Replace(text, p.Error(), p.Path+": there is no such file or directory"+where+"; check the name", 1)
}

// mayBeEmpty are the flags whose value may be the empty text.
var mayBeEmpty = []string{"prompt", "system", "description", "licence", "attribution", "repository", "revision"}

// filled refuses a flag that names nothing, as by a variable of a shell that is not set: it would count as not given. Where a variable of the environment can stand for the flag, an
// empty one is none.
func filled(f cli.Flag) {
	if s, ok := f.(*cli.StringFlag); ok && s.Validator == nil && len(s.Sources.Chain) == 0 && !slices.Contains(mayBeEmpty, s.Name) {
		s.Validator = func(v string) error {
			if v == "" {
				return errors.New("it is empty; leave the flag out or give it a value")
			}
			return nil
		}
	}
}

// quiet makes the library report usage errors as errors and leave printing and exiting to Run.
func quiet(c *cli.Command) {
	for _, f := range c.Flags {
		filled(f)
	}
	c.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	c.CommandNotFound = func(_ context.Context, c *cli.Command, _ string) { // --help behind an argument
		if c == c.Root() {
			_ = cli.ShowRootCommandHelp(c)
		} else {
			_ = cli.ShowSubcommandHelp(c)
		}
	}
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
		return Usagef("%s (see %s --help)", plainly(err.Error()), c.FullName())
	}
	for _, s := range c.Commands {
		quiet(s)
	}
}

// checked remembers that help or a version could not be written; the library, which writes them, does not.
type checked struct {
	w   io.Writer
	err error
}

func (c *checked) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// badValue is how the library says that a flag's value cannot be read.
var badValue = regexp.MustCompile(`^invalid value ("(?:[^"\\]|\\.)*") for flag -(\S+): ((?s).*)$`)

// plainly turns what the library says of a flag's value into what the flag takes.
func plainly(text string) string {
	m := badValue.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	value, err := strconv.Unquote(m[1])
	if err != nil {
		value = m[1]
	}
	why := strings.TrimPrefix(m[3], ErrUsage.Error()+": ")
	takes := ""
	for _, k := range []struct{ by, takes string }{{"strconv.ParseUint", "a whole number from 0 on"}, {"strconv.ParseInt", "a whole number"}, {"strconv.ParseFloat", "a number"},
		{"strconv.ParseBool", "true or false"}, {"time: ", "a time with its unit, such as 30s or 5m"}} {
		if strings.HasPrefix(why, k.by) {
			takes = k.takes
			break
		}
	}
	dash := "--"
	if len(m[2]) == 1 {
		dash = "-"
	}
	switch {
	case takes == "" && strings.HasPrefix(why, "-"): // it names the flag itself
		return why
	case takes == "":
		return fmt.Sprintf("%s%s %q: %s", dash, m[2], value, why)
	case strings.HasSuffix(why, strconv.ErrRange.Error()):
		return fmt.Sprintf("%s%s %q is too large or too small", dash, m[2], value)
	}
	return fmt.Sprintf("%s%s takes %s, not %q", dash, m[2], takes, value)
}

// TextsFlag is a flag that may be given several times. Unlike the library's, a comma is a part of the text.
type TextsFlag = cli.FlagBase[[]string, cli.NoConfig, texts]

// texts is the value of a TextsFlag.
type texts struct {
	to  *[]string
	set bool // by the command line, not by default
}

// Create is called by the library.
func (texts) Create(def []string, to *[]string, _ cli.NoConfig) cli.Value {
	*to = slices.Clone(def)
	return &texts{to: to}
}

// ToString is called by the library, for help.
func (texts) ToString(all []string) string { return strings.Join(all, ", ") }

// Set takes one more text.
func (t *texts) Set(s string) error {
	if !t.set {
		*t.to, t.set = nil, true
	}
	*t.to = append(*t.to, s)
	return nil
}

func (t *texts) String() string {
	if t.to == nil {
		return ""
	}
	return t.ToString(*t.to)
}

// Get gives the texts.
func (t *texts) Get() any { return *t.to }

// version is the module version and revision that the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, rev, dirty := info.Main.Version, "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if len(rev) > 12 {
		rev = rev[:12]
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	if rev != "" {
		v += " " + rev + dirty
	}
	return v + " " + info.GoVersion
}

// JSON writes v as one indented document with a newline.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// JSONLine writes v as one line.
func JSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Printable replaces control characters, but for line ends and tabs, in text that goes to people: names in a file may hold anything, and a terminal obeys.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\ufffd'
		}
		return r
	}, s)
}

// Terminal reports whether f is a terminal, on which progress may be drawn.
func Terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// ErrTooLarge means that a file is much larger than what it should hold.
var ErrTooLarge = errors.New("too large")

// MaxKeys bounds a file of keys.
const MaxKeys = 64 << 10

// ReadSmall reads a file of at most limit bytes whole. It may be a pipe, as of a shell's <(…), but not an endless one: errors wrap ErrTooLarge or are the system's.
func ReadSmall(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: %w: such a file has at most %d bytes", path, ErrTooLarge, limit)
	}
	return b, err
}

// Args checks the number of arguments.
func Args(c *cli.Command, least, most int, usage string) error {
	if n := c.Args().Len(); n < least || n > most {
		return Usagef("%s", usage)
	}
	return nil
}
