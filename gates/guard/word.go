package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxAlternatives bounds the readings of one command that are looked at one by one, and the words that braces make.
const maxAlternatives = 64

// words expands the words of a command. Each result is one way the command may read.
func (c *checker) words(st *state, ws []*syntax.Word) [][]string {
	alts := [][]string{nil}
	for _, w := range ws {
		for _, b := range braces(w) {
			alts = product(alts, c.fields(st, b))
		}
	}
	return alts
}

// product appends each of the readings of a word to each of the commands so far. When there are too many, the word is
// not known.
func product(alts, word [][]string) [][]string {
	if len(alts)*len(word) > maxAlternatives {
		word = [][]string{{splitHole}}
	}
	out := make([][]string, 0, len(alts)*len(word))
	for _, a := range alts {
		for _, w := range word {
			out = append(out, append(append([]string(nil), a...), w...))
		}
	}
	return out
}

// fields gives the readings of one word, each a list of fields.
func (c *checker) fields(st *state, w *syntax.Word) [][]string {
	keepEmpty := false
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			keepEmpty = !allArguments(w)
		}
	}
	var out [][]string
	for _, text := range c.parts(st, w.Parts, false) {
		var fs []string
		for _, f := range strings.Split(text, fieldGap) {
			if f != "" || keepEmpty {
				fs = append(fs, f)
			}
		}
		out = append(out, fs)
	}
	return out
}

// allArguments reports whether the word is "$@", which may be no word at all.
func allArguments(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	q, ok := w.Parts[0].(*syntax.DblQuoted)
	if !ok || len(q.Parts) != 1 {
		return false
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && p.Param.Value == "@"
}

// text gives the readings of a word that is not split: an assignment, a here-document.
func (c *checker) text(st *state, w *syntax.Word) []string {
	if w == nil {
		return []string{""}
	}
	alts := c.parts(st, w.Parts, true)
	for i, a := range alts {
		alts[i] = strings.NewReplacer(fieldGap, " ", splitHole, hole).Replace(a)
	}
	return alts
}

func (c *checker) parts(st *state, parts []syntax.WordPart, quoted bool) []string {
	if len(parts) > maxParts {
		return []string{unknown(quoted)}
	}
	alts := []string{""}
	for i, p := range parts {
		vals := c.part(st, p, quoted, i == 0)
		if len(alts)*len(vals) > maxAlternatives || longest(alts)+longest(vals) > maxLine {
			vals = []string{unknown(quoted)}
		}
		next := make([]string, 0, len(alts)*len(vals))
		for _, a := range alts {
			for _, v := range vals {
				next = append(next, a+v)
			}
		}
		alts = next
	}
	return alts
}

// maxParts bounds the pieces of one word that are put together.
const maxParts = 1024

func longest(list []string) int {
	n := 0
	for _, s := range list {
		n = max(n, len(s))
	}
	return n
}

func (c *checker) part(st *state, p syntax.WordPart, quoted, first bool) []string {
	switch p := p.(type) {
	case *syntax.Lit:
		return []string{literal(p.Value, quoted, first)}
	case *syntax.SglQuoted:
		if p.Dollar {
			return []string{ansiC(p.Value)}
		}
		return []string{p.Value}
	case *syntax.DblQuoted:
		return c.parts(st, p.Parts, true)
	case *syntax.ParamExp:
		return st.param(p, quoted)
	case *syntax.CmdSubst:
		return c.substituted(st, p, quoted)
	case *syntax.ArithmExp:
		return []string{hole}
	}
	return []string{unknown(quoted)}
}

// param gives the values of a variable, split where the shell would split them.
func (s *state) param(p *syntax.ParamExp, quoted bool) []string {
	plain := p.Param != nil && p.Flags == nil && p.NestedParam == nil && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Exp == nil && len(p.Modifiers) == 0 && p.Names == 0 && !p.Excl && !p.Length && !p.Width && !p.IsSet
	if !plain {
		return []string{unknown(quoted)}
	}
	vals := s.values(p.Param.Value, quoted)
	if vals == nil {
		return []string{unknown(quoted)}
	}
	if quoted {
		return vals
	}
	out := make([]string, 0, len(vals))
	for _, v := range vals {
		if strings.ContainsAny(v, "*?[") {
			v = splitHole
		}
		out = append(out, strings.NewReplacer(" ", fieldGap, "\t", fieldGap, "\n", fieldGap, hole, splitHole).Replace(v))
	}
	return out
}

// values looks a variable or positional parameter up; nil when it is not known.
func (s *state) values(name string, quoted bool) []string {
	if _, set := s.vars["IFS"]; set && !quoted {
		return nil
	}
	if name == "@" || name == "*" {
		if !s.argsOK {
			return nil
		}
		gap := fieldGap
		if name == "*" {
			gap = " "
		}
		return []string{strings.Join(s.args, gap)}
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		if !s.argsOK {
			return nil
		}
		if n := int(name[0] - '1'); n < len(s.args) {
			return []string{s.args[n]}
		}
		return []string{""}
	}
	if _, set := s.vars[name]; name == "PWD" && !set && !contains(s.dirs, nowhere) {
		return s.dirs
	}
	return s.vars[name]
}

// braces writes out {a,b}. A sequence, {1..3}, and what comes after too many words are not known.
func braces(w *syntax.Word) []*syntax.Word {
	syntax.SplitBraces(w)
	if len(w.Parts) > maxParts {
		return []*syntax.Word{w}
	}
	left := maxAlternatives
	return expandBraces(w, &left)
}

func expandBraces(w *syntax.Word, left *int) []*syntax.Word {
	for i, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		if *left -= len(b.Elems); b.Sequence || *left < 0 {
			return []*syntax.Word{w}
		}
		var out []*syntax.Word
		for _, e := range b.Elems {
			parts := append([]syntax.WordPart(nil), w.Parts[:i]...)
			parts = append(append(parts, e.Parts...), w.Parts[i+1:]...)
			out = append(out, expandBraces(&syntax.Word{Parts: parts}, left)...)
		}
		return out
	}
	return []*syntax.Word{w}
}
