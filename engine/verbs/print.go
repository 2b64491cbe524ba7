package verbs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// print renders a result: indented, on one line with --raw, or a single field of it with --pick.
func (c *call) print(result any) (string, error) {
	indent := "  "
	if c.raw {
		indent = ""
	}
	if c.picked {
		return pick(result, c.pick, indent)
	}
	data, err := encode(result, indent)
	if err != nil {
		return "", fmt.Errorf("print the answer: %w; use smaller numbers", err)
	}
	return string(data), nil
}

// pick renders one field: dots go into objects, [n] and [-n] into lists. What is not there, and null, is an empty line.
func pick(result any, path, indent string) (string, error) {
	data, err := encode(result, "")
	if err != nil {
		return "", fmt.Errorf("print the answer: %w; use smaller numbers", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return "", fmt.Errorf("pick %s: %w", path, err)
	}

	for _, step := range steps(path) {
		value = into(value, step)
	}
	switch v := value.(type) {
	case nil:
		return "\n", nil
	case string:
		return v + "\n", nil
	}
	data, err = encode(value, indent)
	return string(data), err
}

// steps splits "a.b[0][-1]" into "a", "b", "[0", "[-1".
func steps(path string) []string {
	var all []string
	for part := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		if part != "" {
			all = append(all, strings.TrimSuffix(part, "]"))
		}
	}
	return all
}

func into(value any, step string) any {
	if index, ok := strings.CutPrefix(step, "["); ok {
		list, isList := value.([]any)
		i, err := strconv.Atoi(index)
		if i < 0 {
			i += len(list)
		}
		if !isList || err != nil || i < 0 || i >= len(list) {
			return nil
		}
		return list[i]
	}
	object, _ := value.(map[string]any)
	return object[step]
}
