package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/runtime/engine"
)

func sessionFlag() cli.Flag {
	return &cli.StringFlag{Name: "session", Usage: "go on with the conversation in `FILE`, which is made if there is none, and keep it there"}
}

// keptSession is the engine's session together with what a file keeps of the conversation. Without --session there is no file.
type keptSession struct {
	*engine.Session
	path     string
	next     *output.File     // the file's next content; locked, so that no other process uses the session; nil: nothing is kept
	messages []engine.Message // nil: there is no conversation, but a text without roles if the session has tokens
	forgot   bool             // the conversation was forgotten; the tokens are still there, because one that begins alike can use them
	seed     uint64           // of the sampler that chose the last tokens
	found    bool             // the file was there
}

// note is what the file holds of a conversation besides tokens.
type note struct {
	Messages []engine.Message `json:"messages"` // null: none, [] one that has been forgotten
}

// openSession gives the session of --session, or an empty one.
func openSession(c *cli.Command, e *engine.Engine) (_ *keptSession, err error) {
	k := &keptSession{path: c.String("session")}
	if k.path == "" {
		k.Session = e.NewSession()
		return k, nil
	}
	if st, err := os.Lstat(k.path); err == nil && !st.Mode().IsRegular() {
		return nil, jnscli.Usagef("--session %s is no regular file", k.path)
	}
	if err := k.lock(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			k.leave()
		}
	}()
	f, _, err := engine.OpenRegular(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		k.Session = e.NewSession()
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var x engine.Saved
	if k.Session, x, err = e.LoadSession(bufio.NewReaderSize(f, 1<<20)); err != nil {
		return nil, fmt.Errorf("%s: %w", k.path, err)
	}
	k.seed, k.found = x.Seed, true
	if len(x.Note) > 0 {
		var n note
		if err := json.Unmarshal(x.Note, &n); err != nil {
			k.Session.Close()
			return nil, fmt.Errorf("%s: %w: its conversation: %w", k.path, engine.ErrSessionFile, err)
		}
		k.messages = n.Messages
	}
	return k, nil
}

// lock takes the session for this process.
func (k *keptSession) lock() (err error) {
	switch k.next, err = output.Create(k.path, 0o600); {
	case errors.Is(err, output.ErrBusy):
		return fmt.Errorf("%s is in use by another process", k.path)
	case errors.Is(err, output.ErrInWay):
		return jnscli.Usagef("--session: %v", err)
	case err != nil:
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away is an error like any other, after which what can be kept is
	return nil
}

// leave gives the session up without keeping it.
func (k *keptSession) leave() {
	if k.next != nil {
		k.next.Discard()
		k.next = nil
	}
}

// Close gives up what was not kept.
func (k *keptSession) Close() {
	k.leave()
	k.Session.Close()
}

// keep writes the session beside its file and gives it the file's name once it is on the disk: at any moment there is the session before or the one after.
func (k *keptSession) keep() (err error) {
	if k.next == nil {
		return nil
	}
	defer func() {
		if err != nil {
			left := "is as it was"
			if !k.found {
				left = "is not made"
			}
			err = fmt.Errorf("the session is not kept, %s %s: %w", k.path, left, err)
		}
		k.leave()
	}()
	if k.forgot {
		if err := k.Truncate(0); err != nil {
			return err
		}
	}
	b, err := json.Marshal(note{k.messages})
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(k.next, 1<<20)
	if err := k.Save(w, engine.Saved{Seed: k.seed, Note: b}); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return k.next.Commit()
}

// forget ends the conversation; another can begin.
func (k *keptSession) forget() { k.messages, k.forgot = []engine.Message{}, true }

// add goes on with the conversation.
func (k *keptSession) add(turn ...engine.Message) {
	k.messages, k.forgot = append(k.messages, turn...), false
}

// begin makes the conversation start with the system message, unless it has begun: then it must be the same.
func (k *keptSession) begin(c *cli.Command) error {
	if k.found && k.messages == nil && len(k.Tokens())+len(k.Pending()) > 0 { // which a conversation would drop
		return jnscli.Usagef("%s holds a text and no conversation; go on with it with --raw, or keep the conversation in another file with --session", k.path)
	}
	if !c.IsSet("system") {
		return nil
	}
	m := engine.Message{Role: "system", Content: c.String("system")}
	if len(k.messages) == 0 {
		k.messages = []engine.Message{m}
	} else if k.messages[0] != m {
		return jnscli.Usagef("the conversation in %s has begun without this --system message; leave it out or use another file", k.path)
	}
	return nil
}

// sessionReport is what --json says of a session.
type sessionReport struct {
	File   string `json:"file"`
	Reused int    `json:"tokens_reused"` // of the prompt, or of the whole session when it goes on without one
	Tokens int    `json:"tokens"`        // computed, as kept in the file
}
