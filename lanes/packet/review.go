package packet

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Gate is one review gate, "code-step5", with its rounds.
type Gate struct {
	Name       string
	Verdict    string // of the latest review: APPROVE, REVISE, RETHINK or UNKNOWN
	Text       string // the latest verdict as written
	File       string // the latest review
	Number     int    // of the latest review
	Unreadable bool   // the latest review could not be read, or two files claim to be it: the verdict is UNKNOWN
	History    []Round
}

// Round is one review of a gate.
type Round struct {
	Number     int
	Verdict    string
	Text       string
	File       string
	Unreadable bool
}

// reviewName is the name of a verdict file. Numbers run through the task, not through the gate.
var reviewName = pattern(`(?i)^R(\d{1,9})-([a-z]+)-step(\d{1,6})\.md$`)

// reviewLike is what a person would take for a verdict file.
var reviewLike = pattern(`(?i)^R\d+.*\.md$`)

// ReadReviews reads the verdict files of a .reviews/ folder, by name, and returns the gates sorted by name. A nil body
// stands for a file that could not be read.
func ReadReviews(dir string, files map[string][]byte) ([]Gate, []Problem) {
	var problems []Problem
	rounds := map[string][]Round{}
	for _, name := range sortedNames(files) {
		file := path.Join(dir, name)
		m := reviewName().FindStringSubmatch(name)
		if m == nil {
			if reviewLike().MatchString(name) {
				problems = append(problems, warning(CodeReviewName, file, 0,
					"reading the reviews: the name is not that of a verdict; write R001-code-step1.md"))
			}
			continue
		}
		gate := fmt.Sprintf("%s-step%s", strings.ToLower(m[2]), plain(m[3]))
		rounds[gate] = append(rounds[gate], readRound(file, m[1], files[name]))
	}

	var gates []Gate
	for _, name := range sortedNames(rounds) {
		gate := gateOf(name, rounds[name])
		if gate.Unreadable {
			problems = append(problems, warning(CodeReviewBad, gate.File, 0,
				"reading the reviews: the latest verdict of %s cannot be read, or two files have its number; the gate stays shut", gate.Name))
		}
		gates = append(gates, gate)
	}
	return gates, problems
}

func readRound(file, number string, body []byte) Round {
	n, _ := strconv.Atoi(number) // the pattern admits nine digits
	round := Round{Number: n, File: file, Verdict: VerdictUnknown}
	if body == nil || !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		round.Unreadable = true
		return round
	}
	round.Verdict, round.Text = Verdict(body)
	return round
}

// gateOf makes a gate of its rounds. When two files claim the highest number none of them is the latest.
func gateOf(name string, rounds []Round) Gate {
	slices.SortFunc(rounds, func(a, b Round) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.File, b.File))
	})
	last := rounds[len(rounds)-1]
	gate := Gate{
		Name: name, Verdict: last.Verdict, Text: last.Text, File: last.File, Number: last.Number,
		Unreadable: last.Unreadable, History: rounds,
	}
	if len(rounds) > 1 && rounds[len(rounds)-2].Number == last.Number {
		gate.Verdict, gate.Text, gate.Unreadable = VerdictUnknown, "", true
	}
	return gate
}

// plain drops leading zeros.
func plain(digits string) string {
	if trimmed := strings.TrimLeft(digits, "0"); trimmed != "" {
		return trimmed
	}
	return "0"
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
