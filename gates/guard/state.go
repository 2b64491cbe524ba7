package guard

import (
	"maps"
	"path"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// nowhere stands for a working directory that cannot be known from the line.
const nowhere = ""

// state is what may be true at one point of a line. Where ways meet, each field holds all that either way allows.
type state struct {
	dirs    []string            // working directories; nowhere for one that is not known
	heads   map[string][]string // directory → branches that the line switched to; none: as the facts say
	vars    map[string][]string // shell variables; a missing or nil entry is not known
	args    []string            // positional parameters
	argsOK  bool                // args are known
	funcs   map[string]*syntax.Stmt
	aliases map[string]string // of the shell
	git     map[string]string // aliases of git set by the line
	tags    map[string]bool   // made by the line
	config  bool              // the line set git configuration that decides where a push goes
}

func newState(cwd string) *state {
	return &state{
		dirs:  []string{cwd},
		heads: map[string][]string{}, vars: map[string][]string{}, funcs: map[string]*syntax.Stmt{},
		aliases: map[string]string{}, git: map[string]string{}, tags: map[string]bool{},
	}
}

func (s *state) clone() *state {
	c := *s
	c.dirs = slices.Clone(s.dirs)
	c.args = slices.Clone(s.args)
	c.heads, c.vars, c.funcs = maps.Clone(s.heads), maps.Clone(s.vars), maps.Clone(s.funcs)
	c.aliases, c.git, c.tags = maps.Clone(s.aliases), maps.Clone(s.git), maps.Clone(s.tags)
	return &c
}

// maxValues bounds the values kept for one thing; more than that is not known.
const maxValues = 32

// maxValue bounds a variable's value that is followed, in bytes.
const maxValue = 16 << 10

// join returns what may be true after either a or b.
func join(a, b *state) *state {
	if a == b {
		return a
	}
	j := a.clone()
	j.dirs = union(a.dirs, b.dirs)
	j.heads = joinHeads(a.heads, b.heads)
	for name, va := range a.vars {
		vb := b.vars[name]
		if va == nil || vb == nil || len(va)+len(vb) > maxValues {
			j.vars[name] = nil
			continue
		}
		j.vars[name] = union(va, vb)
	}
	if !slices.Equal(a.args, b.args) {
		j.argsOK = false
	}
	maps.Copy(j.funcs, b.funcs)
	maps.Copy(j.aliases, b.aliases)
	maps.Copy(j.git, b.git)
	maps.Copy(j.tags, b.tags)
	j.argsOK = j.argsOK && a.argsOK && b.argsOK
	j.config = a.config || b.config
	return j
}

// asBefore stands among the heads of a directory for the branch that the facts name.
const asBefore = "\x02"

func joinHeads(a, b map[string][]string) map[string][]string {
	j := map[string][]string{}
	for _, m := range []map[string][]string{a, b} {
		for dir := range m {
			j[dir] = union(headsOr(a, dir), headsOr(b, dir))
		}
	}
	return j
}

func headsOr(m map[string][]string, dir string) []string {
	if h, ok := m[dir]; ok {
		return h
	}
	return []string{asBefore}
}

// adopt takes over from a subshell what outlives it: what it did to the repository.
func (s *state) adopt(inner *state) *state {
	o := s.clone()
	o.heads, o.git, o.tags, o.config = inner.heads, inner.git, inner.tags, inner.config
	return o
}

// enter moves to dir, relative to where the state is.
func (s *state) enter(dir string) *state {
	o := s.clone()
	o.dirs = nil
	for _, d := range s.dirs {
		o.dirs = union(o.dirs, []string{within(d, dir)})
	}
	return o
}

// within resolves dir from base, by the text alone.
func within(base, dir string) string {
	if hasHole(dir) || dir == "" || dir == "-" {
		return nowhere
	}
	if path.IsAbs(dir) {
		return path.Clean(dir)
	}
	if base == nowhere {
		return nowhere
	}
	return path.Join(base, dir)
}

// switchTo says that HEAD of the current directories now names one of branches.
func (s *state) switchTo(branches ...string) *state {
	o := s.clone()
	for _, d := range o.dirs {
		o.heads[d] = branches
	}
	return o
}

// set gives a variable its possible values; none means not known.
func (s *state) set(name string, values ...string) *state {
	o := s.clone()
	if len(values) > maxValues {
		values = nil
	}
	o.vars[name] = values
	return o
}

func union(a, b []string) []string {
	u := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(u, x) {
			u = append(u, x)
		}
	}
	return u
}
