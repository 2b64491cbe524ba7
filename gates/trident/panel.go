package trident

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ReadPanel reads a JSON list of {family, findings}. JSON that is no list is an empty panel; a member that is no object, or
// that names no family, is an error.
func ReadPanel(data []byte) ([]Member, error) {
	if !json.Valid(data) {
		return nil, errors.New("read panel: the text is no JSON; write [{\"family\": …, \"findings\": […]}, …]")
	}
	var raw []json.RawMessage
	if json.Unmarshal(data, &raw) != nil {
		return nil, nil
	}

	panel := make([]Member, len(raw))
	for i, r := range raw {
		m, err := readMember(r)
		if err != nil {
			return nil, fmt.Errorf("read panel: member %d: %w", i+1, err)
		}
		panel[i] = m
	}
	return panel, nil
}

func readMember(raw json.RawMessage) (Member, error) {
	var m *struct {
		Family   string          `json:"family"`
		Findings json.RawMessage `json:"findings"`
	}
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return Member{}, errors.New("no object with a family; write {\"family\": …, \"findings\": […]}")
	}
	if norm(m.Family) == "" {
		return Member{}, errors.New("family is blank; name the model family")
	}
	if len(m.Findings) == 0 || string(m.Findings) == "null" {
		return Member{Family: m.Family}, nil
	}
	findings, err := ReadFindings(m.Findings)
	return Member{Family: m.Family, Findings: findings}, err
}

// ReadFindings reads a JSON list of findings and returns their keys. A finding is text, or an object with a key, an id or a
// title, the first that is there.
func ReadFindings(data []byte) ([]string, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(bytes.TrimSpace(data), &raw); err != nil || raw == nil {
		return nil, errors.New("the findings are no JSON list; write [\"…\", {\"key\": …}, …]")
	}
	keys := make([]string, len(raw))
	for i, r := range raw {
		key, ok := findingKey(r)
		if !ok {
			return nil, fmt.Errorf("finding %d is neither text nor an object with key, id or title", i+1)
		}
		keys[i] = key
	}
	return keys, nil
}

func findingKey(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		return s, true
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return "", false
	}
	for _, name := range []string{"key", "id", "title"} {
		v, ok := o[name]
		if !ok || string(v) == "null" {
			continue
		}
		if json.Unmarshal(v, &s) != nil {
			s = string(v) // an id may be a number
		}
		return s, true
	}
	return "", false
}
