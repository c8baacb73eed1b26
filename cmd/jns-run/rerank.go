package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

// maxDocuments bounds the documents of a call.
const maxDocuments = 1 << 16

func rerankCommand() *cli.Command {
	return &cli.Command{
		Name: "rerank", Usage: "sort documents by how well they answer a query", ArgsUsage: "MODEL.jns [DOCUMENT…]",
		Description: "For models that score a query with a document (rerankers). Best first: score, number of the document from 0, document.",
		Flags: append(engineFlags(),
			&cli.StringFlag{Name: "query", Aliases: []string{"q"}, Usage: "what is asked"},
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "documents, one a line, or one JSON array of strings; - reads standard input"},
			&cli.IntFlag{Name: "top", Usage: "print the best `N` only"},
			&cli.IntSliceFlag{Name: "tokens", Usage: "token ids of a query and a document together, instead of texts: 1,2,3"}),
		Action: rerank,
	}
}

// ranked is a document with its score.
type ranked struct {
	Index    int       `json:"index"`
	Score    float32   `json:"score"`
	Scores   []float32 `json:"scores,omitempty"` // of all labels, where there are several
	Tokens   int       `json:"tokens"`
	Document string    `json:"document,omitempty"`
}

func rerank(ctx context.Context, c *cli.Command) (err error) {
	args := c.Args().Slice()
	if len(args) == 0 {
		return jnscli.Usagef("name a container: %s MODEL.jns -q QUERY DOCUMENT…", c.FullName())
	}
	documents, err := documentsOf(c, args[1:])
	if err != nil {
		return err
	}
	if n := c.Int("top"); n < 0 || c.IsSet("top") && n == 0 {
		return jnscli.Usagef("--top %d: must be at least 1", n)
	}
	e, err := openNamed(c, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var all []ranked
	for i, d := range documents {
		r, err := rankOne(ctx, c, e.Engine, d)
		if err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
		r.Index = i
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.Score, a.Score) })
	if n := c.Int("top"); n > 0 {
		all = all[:min(n, len(all))]
	}
	if c.Bool("json") {
		return jnscli.JSONLine(stdout, map[string]any{"results": all, "receipt": e.Receipt()})
	}
	w := bufio.NewWriter(stdout)
	for _, r := range all {
		fmt.Fprintf(w, "%g\t%d\t%s\n", r.Score, r.Index, strings.Join(strings.Fields(r.Document), " "))
	}
	return w.Flush()
}

// rankOne scores a document, or the tokens of a pair.
func rankOne(ctx context.Context, c *cli.Command, e *engine.Engine, d document) (r ranked, err error) {
	tokens := d.tokens
	if tokens == nil {
		if tokens, err = e.PairTokens(c.String("query"), d.text); err != nil {
			return r, err
		}
	}
	scores, err := e.Rank(ctx, tokens)
	if err != nil {
		return r, err
	}
	r = ranked{Score: scores[0], Tokens: len(tokens), Document: d.text}
	if len(scores) > 1 {
		r.Scores = scores
	}
	return r, nil
}

// document is a text, or the tokens of a query with it.
type document struct {
	text   string
	tokens []int32
}

func documentsOf(c *cli.Command, texts []string) (out []document, err error) {
	if c.IsSet("tokens") {
		if c.IsSet("query") || c.IsSet("file") || len(texts) > 0 {
			return nil, jnscli.Usagef("give texts or --tokens, not both")
		}
		tokens, err := ids(c.IntSlice("tokens"))
		return []document{{tokens: tokens}}, err
	}
	if !c.IsSet("query") {
		return nil, jnscli.Usagef("give a query: -q QUERY")
	}
	if name := c.String("file"); name != "" {
		more, err := documentLines(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, more...)
	}
	if len(texts) == 0 {
		return nil, jnscli.Usagef("give documents, or a file of them with -f FILE")
	}
	if len(texts) > maxDocuments {
		return nil, jnscli.Usagef("%d documents, at most %d", len(texts), maxDocuments)
	}
	for _, t := range texts {
		out = append(out, document{text: t})
	}
	return out, nil
}

// documentLines reads a file of documents: a JSON array of strings, or one a line.
func documentLines(name string) ([]string, error) {
	in := io.Reader(os.Stdin)
	if name != "-" {
		f, err := openInput(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	} else {
		name = "standard input"
	}
	text, err := readText(in, name)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		var out []string
		if err := json.Unmarshal([]byte(text), &out); err == nil {
			return out, nil
		}
	}
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			out = append(out, line)
		}
	}
	return out, nil
}
