package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ferrox/gates/antiloop"
	"ferrox/gates/epoch"
)

const antiloopPath = ".planning/antiloop-log.jsonl"

func declareBudget(c *call) (any, error) {
	r := c.antiloopRecord(antiloop.KindBudget)
	r.MaxRounds, r.MaxLineages = c.whole("max-rounds"), c.whole("max-lineages")
	r.DeclaredBy, _ = c.value("declared-by")
	return c.antiloopAppend(r, func(s antiloop.State) (any, error) {
		if code, ok := s.MayDeclare(); !ok {
			return nil, refusal{code: string(code), text: "this question about this artifact has its budget already; it is declared once"}
		}
		return r, nil
	})
}

// roundOpened is the answer of antiloop.open-round, counted again with the new round.
type roundOpened struct {
	Artifact string           `json:"artifact"`
	Question string           `json:"question"`
	Gate     string           `json:"gate"`
	Lineage  string           `json:"lineage"`
	Rounds   int              `json:"rounds"`
	Lineages int              `json:"lineages"`
	Budget   *antiloop.Budget `json:"budget"`
}

func openRound(c *call) (any, error) {
	r := c.antiloopRecord(antiloop.KindRound)
	r.Gate, r.Lineage = c.id("gate"), c.id("lineage")
	return c.antiloopAppend(r, func(s antiloop.State) (any, error) {
		switch code, _ := s.MayOpen(r.Lineage); code {
		case antiloop.CodeUndeclared:
			return nil, refusal{code: string(code), text: "no budget was declared before the first round; antiloop.declare-budget does"}
		case antiloop.CodeSpent:
			return nil, refusal{code: string(code), text: "the rounds or the lineages are used up; antiloop.status says what to do with the findings"}
		}
		s.Open(r.Lineage)
		return roundOpened{r.Artifact, r.Question, r.Gate, r.Lineage, s.Rounds, len(s.Lineages), s.Budget}, nil
	})
}

func fileFinding(c *call) (any, error) {
	r := c.antiloopRecord(antiloop.KindFinding)
	r.FindingID, r.Severity, r.Category = c.id("finding-id"), c.id("severity"), c.id("category")
	r.Reproducible, _ = c.value("reproducible")
	r.ReproducibleExit = c.optionalNumber("reproducible-exit")
	r.Summary, _ = c.value("summary")
	requested := c.present("blocking")
	blocking := antiloop.Blocks(requested, r.Reproducible, r.ReproducibleExit)
	r.Blocking, r.BlockingRequested = &blocking, &requested

	answer, err := c.antiloopAppend(r, func(antiloop.State) (any, error) { return r, nil })
	if err == nil && requested && !blocking {
		err = refusal{code: string(antiloop.CodeUnreproducible), text: "recorded as not blocking: give --reproducible COMMAND and its non-zero --reproducible-exit"}
	}
	return answer, err
}

func antiloopStatus(c *call) (any, error) {
	artifact, question := c.id("artifact"), c.id("question")
	c.strictFlags()
	if err := c.usage(); err != nil {
		return nil, err
	}
	s, err := foldAntiloop(c.antiloopLog(), antiloop.KeyOf(artifact, question))
	if err != nil {
		return nil, err
	}
	return s.Status(artifact, question, c.settings.Strength.SecurityCategories), nil
}

// antiloopRecord reads the flags that every record has. Without --now-ts it is stamped with the clock.
func (c *call) antiloopRecord(kind antiloop.Kind) antiloop.Record {
	now := epoch.Millis(time.Now().UnixMilli())
	if _, given := c.value("now-ts"); given {
		now = c.now()
	}
	return antiloop.Record{TS: now.String(), Kind: kind, Artifact: c.id("artifact"), Question: c.id("question")}
}

// antiloopAppend folds the log, asks, and appends the record unless that refuses, all under the log's lock.
func (c *call) antiloopAppend(r antiloop.Record, answer func(antiloop.State) (any, error)) (any, error) {
	c.strictFlags()
	if err := c.usage(); err != nil {
		return nil, err
	}
	path := c.antiloopLog()
	var result any
	torn, err := appendLine(path, c.limits, func() (any, error) {
		s, err := foldAntiloop(path, antiloop.KeyOf(r.Artifact, r.Question))
		if err != nil {
			return nil, err
		}
		result, err = answer(s)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	if torn {
		c.warn("the last line of %s had no end; it was closed", path)
	}
	return result, nil
}

// foldAntiloop counts what a log says of a key; a log that is not there says nothing.
func foldAntiloop(path string, key antiloop.Key) (antiloop.State, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return antiloop.State{}, fmt.Errorf("read log: %w", err)
	}
	records, err := readLines[antiloop.Record](path, data)
	return antiloop.Fold(records, key), err
}

func (c *call) antiloopLog() string {
	if name, ok := c.value("log"); ok && name != "" {
		if filepath.IsAbs(name) {
			return name
		}
		return c.path(name)
	}
	return c.path(antiloopPath)
}

// whole is a required whole number from 0.
func (c *call) whole(name string) *float64 {
	f := c.number(name)
	if f < 0 || f != float64(int64(f)) {
		c.wrong(name, "write a whole number from 0")
	}
	return &f
}

// strictFlags refuses what the antiloop verbs don't know: a misspelled limit must not be no limit.
func (c *call) strictFlags() {
	for i := 0; i < len(c.args); i++ {
		name, isFlag := strings.CutPrefix(c.args[i], "--")
		at := slices.IndexFunc(c.verb.flags, func(f flag) bool { return f.name == name })
		if !isFlag || at < 0 {
			c.bad = append(c.bad, "unknown argument "+c.args[i])
			continue
		}
		if c.verb.flags[at].value != "" {
			i++
		}
	}
}
