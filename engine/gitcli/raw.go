package gitcli

import (
	"fmt"
	"strings"

	"ferrox/engine"
)

// diff is one line of raw output with the object on its new side.
type diff struct {
	engine.Change
	of     string // the commit that headed this part of the output; "" when there was no heading
	newOID string
}

// parseRaw reads `--raw -z` output, with or without the commit headings of --stdin.
func parseRaw(out []byte) ([]diff, error) {
	var diffs []diff
	of := ""
	fields := strings.Split(string(out), "\x00")
	for i := 0; i < len(fields)-1; i++ {
		if !strings.HasPrefix(fields[i], ":") {
			of = fields[i]
			continue
		}
		d, err := parseRawLine(fields[i], fields[i+1])
		if err != nil {
			return nil, err
		}
		d.of = of
		diffs = append(diffs, d)
		i++
	}
	return diffs, nil
}

// parseRawLine reads ":oldmode newmode oldoid newoid S" and the path that follows it.
func parseRawLine(line, path string) (diff, error) {
	f := strings.Fields(strings.TrimPrefix(line, ":"))
	if len(f) != 5 || f[4] == "" || path == "" {
		return diff{}, fmt.Errorf("read git's list of changes: %q is not understood; is this git older than 2.38?", line)
	}
	c := engine.Change{Path: path, Status: f[4][0], OldMode: f[0], NewMode: f[1]}
	return diff{Change: c, newOID: f[3]}, nil
}
