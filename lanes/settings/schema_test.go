package settings_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tailscale/hujson"

	"ferrox/lanes/settings"
)

// With -update the schema is written instead of compared.
var update = flag.Bool("update", false, "write config.schema.json")

const schemaPath = "../../cmd/ferrox/config.schema.json"

// durationPattern is what settings.ParseDuration takes, without signs: they are out of every range.
const durationPattern = `^([0-9]+(\.[0-9]+)?d)?(([0-9]+(\.[0-9]+)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$`

// schema makes the schema from the Go types, and takes what they can't say from the loader's own rules.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.For[settings.Settings](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): {Type: "string", Pattern: durationPattern, MinLength: jsonschema.Ptr(1)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	loosen(s, true)
	for _, r := range settings.Rules() {
		at := find(s, strings.Split(r.Path, "."))
		if at == nil {
			t.Errorf("the loader reads %s, the types have no such key", r.Path)
			continue
		}
		apply(at, r)
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Settings of ferrox"
	s.Description = ".planning/config.json; comments and trailing commas are fine, null counts as absent"
	return s
}

// loosen lets every key be absent or null, as the loader does, and closes the blocks; the file itself stays open for others.
func loosen(s *jsonschema.Schema, open bool) {
	s.Required = nil
	if s.Properties != nil && open {
		s.AdditionalProperties = nil
	}
	if s.Type != "" {
		s.Types, s.Type = []string{"null", s.Type}, ""
	}
	for _, p := range s.Properties {
		loosen(p, false)
	}
	if s.AdditionalProperties != nil && s.Properties == nil {
		loosen(s.AdditionalProperties, false)
	}
	if s.Items != nil {
		loosen(s.Items, false)
		s.Items.Type, s.Items.Types = s.Items.Types[1], nil // null is nothing that a list could hold
	}
	if open {
		s.Type, s.Types = "object", nil
	}
}

func find(s *jsonschema.Schema, path []string) *jsonschema.Schema {
	for _, key := range path {
		switch {
		case s == nil:
			return nil
		case key == "*" && s.Items != nil:
			s = s.Items
		case s.Properties[key] != nil:
			s = s.Properties[key]
		default:
			s = s.AdditionalProperties // the ids of a map
		}
	}
	return s
}

func apply(s *jsonschema.Schema, r settings.Rule) {
	switch r.Type {
	case "count", "number":
		s.Minimum = jsonschema.Ptr(r.Min)
		if r.Max > 0 {
			s.Maximum = jsonschema.Ptr(r.Max)
		}
	case "duration":
		s.Description += "; " + r.From + " to " + r.To
	}
	if len(r.Enum) > 0 {
		s.Types, s.Enum = nil, []any{nil}
		for _, w := range r.Enum {
			s.Enum = append(s.Enum, w)
		}
	}
}

func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(schema(t)); err != nil {
		t.Fatal(err)
	}
	want := text.Bytes()
	if *update {
		if err := os.WriteFile(schemaPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("config.schema.json is not what the types say; run: go test ./lanes/settings -run TestSchema -update")
	}
}

// The schema and the loader agree on files that are right and on files that are wrong.
func TestSchemaAgreesWithLoader(t *testing.T) {
	t.Parallel()
	resolved, err := schema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) bool {
		standard, err := hujson.Standardize([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(standard, &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v) == nil
	}
	for _, right := range []string{
		string(settings.Template()), `{}`, `{"runner":null}`, `{"rtk":{"x":1}}`, `{"runner":{"lanes":null,"hold_timeout":"1d12h"}}`,
		`{"halting":{"gates":{"a b":{"max_passes":0,"wall_clock_seconds":0.5}}}}`, `{"runner":{"setup":[["a"],["b",""]]}}`,
		`{"model":{"trident_panel":[{"family":"x","command":["y"]}]}}`, `{"authority":{"reserve":{"operator":[]}}}`,
	} {
		if _, _, err := settings.Parse("c", []byte(right)); err != nil || !valid(right) {
			t.Errorf("%s: loader %v, schema %v", right, err, valid(right))
		}
	}
	for _, wrong := range []string{
		`{"runner":{"lanes":0}}`, `{"runner":{"lanes":2.5}}`, `{"runner":{"lanes":"3"}}`, `{"runner":{"colour":1}}`, `{"runner":[]}`,
		`{"runner":{"hold_timeout":60}}`, `{"runner":{"hold_timeout":"soon"}}`, `{"runner":{"hold_timeout":""}}`, `{"runner":{"on_red":"x"}}`,
		`{"runner":{"worker":{"preset":"claud"}}}`, `{"runner":{"verify":["x"]}}`, `{"halting":{"human_sla_seconds":-1}}`,
		`{"halting":{"gates":{"g":{"max_passes":-1}}}}`, `{"halting":{"gates":{"g":7}}}`, `{"guard":{"protected":"main"}}`,
		`{"model":{"trident_panel":[{"famly":"x"}]}}`, `{"guard":{"protected":[null]}}`, `{"tasks":{"default_review_level":4}}`, `[]`,
	} {
		if _, _, err := settings.Parse("c", []byte(wrong)); err == nil || valid(wrong) {
			t.Errorf("%s: loader %v, schema says valid: %v", wrong, err, valid(wrong))
		}
	}
}
