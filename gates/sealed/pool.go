package sealed

import (
	"encoding/json"
	"errors"
)

// ReadPool reads a JSON list of {id, fixture} or {id, hash}. Members without an id or a hash are left out; a text that is no
// list is an error.
func ReadPool(data []byte) ([]Mutant, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return nil, errors.New("read pool: the text is no JSON list; write [{\"id\": …, \"fixture\": \"sealed:sha256:…\"}, …]")
	}

	var pool []Mutant
	for _, r := range raw {
		var m struct{ ID, Fixture, Hash string }
		if json.Unmarshal(r, &m) != nil || m.ID == "" {
			continue
		}
		for _, uri := range []string{m.Fixture, m.Hash} {
			if h, ok := ParseURI(uri); ok {
				pool = append(pool, Mutant{ID: m.ID, Hash: h})
				break
			}
		}
	}
	return pool, nil
}
