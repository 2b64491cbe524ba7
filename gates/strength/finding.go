package strength

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Finding is what a review found. The fields are as given and compared trimmed and in lower case.
type Finding struct {
	Category string
	Severity string
	Surface  string
}

// Item is an open entry of the backlog. AgeDays is nil when nobody says how old it is; such an item never ages.
type Item struct {
	Category string
	AgeDays  *float64
}

// ReadFindings reads a JSON list of findings. A text that is no list, or a member that is no object, is an error: a finding
// that nobody can read must not count as none.
func ReadFindings(data []byte) ([]Finding, error) {
	members, err := objects(data)
	if err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	list := make([]Finding, len(members))
	for i, m := range members {
		list[i] = Finding{Category: text(m["category"]), Severity: text(m["severity"]), Surface: text(m["surface"])}
	}
	return list, nil
}

// ReadItems reads a JSON list of backlog items. An age that is no number is an error.
func ReadItems(data []byte) ([]Item, error) {
	members, err := objects(data)
	if err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	list := make([]Item, len(members))
	for i, m := range members {
		list[i].Category = text(m["category"])
		if absent(m["age_days"]) {
			continue
		}
		age, ok := numberOf(m["age_days"])
		if !ok {
			return nil, fmt.Errorf("read items: age_days of item %d is %s; write a number of days", i+1, m["age_days"])
		}
		list[i].AgeDays = &age
	}
	return list, nil
}

// objects reads a JSON list of objects.
func objects(data []byte) ([]map[string]json.RawMessage, error) {
	if !json.Valid(data) {
		return nil, errors.New("the text is no JSON; write a list [{…}, …]")
	}
	if data = bytes.TrimSpace(data); data[0] != '[' {
		return nil, errors.New("the JSON is no list; write [{…}, …]")
	}
	var members []map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, errors.New("a member is no object; write [{…}, …]")
	}
	for i, m := range members {
		if m == nil {
			return nil, fmt.Errorf("member %d is null; write [{…}, …]", i+1)
		}
	}
	return members, nil
}

// SeverityAnswer is the decision of strength.severity-route (verbs.md 5.2).
type SeverityAnswer string

// The answers of strength.severity-route.
const (
	SeverityBlock      SeverityAnswer = "block"
	SeveritySynthesize SeverityAnswer = "synthesize-high"
	SeverityBacklog    SeverityAnswer = "route-backlog"
)

// SeverityDecision is the answer of strength.severity-route. Surface is nil unless mediums were put together; it may be the
// empty text, the group of the findings that name none.
type SeverityDecision struct {
	Decision    SeverityAnswer `json:"decision"`
	Reason      string         `json:"reason,omitempty"`
	Synthesized string         `json:"synthesized,omitempty"`
	Surface     *string        `json:"surface,omitempty"`
	MediumCount int            `json:"medium_count,omitempty"`
}

// RouteSeverity says where findings go: a security finding never to the backlog, many medium ones on one surface are a high
// one, the rest to the backlog.
func RouteSeverity(findings []Finding, securityCategories []string, mediumThreshold int) SeverityDecision {
	for _, f := range findings {
		if contains(securityCategories, norm(f.Category)) {
			return SeverityDecision{Decision: SeverityBlock, Reason: "security-never-backlog"}
		}
	}

	var order []string
	mediums := map[string]int{}
	for _, f := range findings {
		if norm(f.Severity) != "medium" {
			continue
		}
		surface := norm(f.Surface)
		if mediums[surface] == 0 {
			order = append(order, surface)
		}
		mediums[surface]++
	}
	for _, surface := range order {
		if n := mediums[surface]; n >= mediumThreshold {
			return SeverityDecision{Decision: SeveritySynthesize, Synthesized: "HIGH", Surface: &surface, MediumCount: n}
		}
	}
	return SeverityDecision{Decision: SeverityBacklog}
}
