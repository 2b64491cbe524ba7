package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ferrox/gates/guard"
)

// gateLimit bounds one run of the merge gate.
const gateLimit = 8 * time.Second

// Verdict is the merge gate's answer: decision "pass" or "block", and every failing reason.
type Verdict struct {
	Decision string
	Reasons  []string
}

// MergeGate asks strength.merge-gate about the increment that the project's evidence manifest describes. A project
// without a .planning/strength folder has not opted in, and everything passes.
type MergeGate struct {
	// Root returns the folder that holds .planning for work in cwd: in a lane, the main checkout.
	Root func(ctx context.Context, cwd string) (string, error)
	// Run runs the verb with the given flags, "--name", "value", ….
	Run func(ctx context.Context, root string, flags []string) (Verdict, error)
	// Domain returns the settings' domain; "" when there is none.
	Domain func(root string) (string, error)

	asked map[string]ruled // by cwd: a pass may use up a migration number, so one event asks once
}

type ruled struct {
	allow  bool
	reason string
	err    error
}

var _ Gate = (*MergeGate)(nil)

// Check implements Gate. The answer is about the increment as a whole, so it is the same for every finding of an event;
// a MergeGate serves one event.
func (g *MergeGate) Check(ctx context.Context, cwd string, _ guard.Finding) (bool, string, error) {
	r, is := g.asked[cwd]
	if !is {
		r.allow, r.reason, r.err = g.ask(ctx, cwd)
		if g.asked == nil {
			g.asked = map[string]ruled{}
		}
		g.asked[cwd] = r
	}
	return r.allow, r.reason, r.err
}

func (g *MergeGate) ask(ctx context.Context, cwd string) (bool, string, error) {
	root, err := g.Root(ctx, cwd)
	if err != nil {
		return false, "", fmt.Errorf("find the project's .planning folder: %w", err)
	}
	flags, in, err := ManifestFlags(root)
	if err != nil || !in {
		return !in && err == nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, gateLimit)
	defer cancel()
	v, err := g.Run(ctx, root, flags)
	if err != nil {
		return false, "", fmt.Errorf("run strength.merge-gate: %w", err)
	}
	if v.Decision == "pass" && ctx.Err() == nil {
		return true, "", nil
	}
	return g.waive(root, v)
}

// waive lets a project of prose pass without code coverage and mutation results, and says so.
func (g *MergeGate) waive(root string, v Verdict) (bool, string, error) {
	refusal := "strength.merge-gate says " + strconv.Quote(v.Decision) + ": " + strings.Join(v.Reasons, ", ") +
		"; ask it again with: ferrox query strength.merge-gate"
	if v.Decision != "block" || len(v.Reasons) == 0 {
		return false, refusal, nil
	}
	for _, r := range v.Reasons {
		if r != "coverage-not-landed" && r != "mutation-survived" {
			return false, refusal, nil
		}
	}
	domain, err := g.Domain(root)
	if err != nil {
		return false, "", fmt.Errorf("read the settings' domain: %w", err)
	}
	if d := proseDomain(domain); d != "" {
		return true, fmt.Sprintf("NON-CODE DOMAIN WAIVER: domain %s, waived %s", d, strings.Join(v.Reasons, ", ")), nil
	}
	return false, refusal, nil
}

// proseDomain names the domain of a project without code; "" for every other.
func proseDomain(domain string) string {
	d := strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(domain)))
	switch d {
	case "writing", "content", "design", "conversation", "support":
		return "writing"
	case "long-form", "reports":
		return "long-form"
	case "research", "rag", "factual-synthesis":
		return "research"
	}
	return ""
}

// manifestKeys are what the evidence manifest may forward, in the order of the flags.
var manifestKeys = [...]string{
	"increment", "requirements", "declared", "actual", "files", "opened", "resolved", "mutation_test", "mutation_flipped",
	"hot_seam_serialized", "findings", "items", "migration_number",
}

// manifestFlags builds the verb's flags from the evidence manifest. Absent and null keys are left out.
func manifestFlags(file string) ([]string, error) {
	const name = ".planning/strength/merge-gate-request.json"
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the evidence manifest: there is no %s; write it, then try again", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the evidence manifest: %w", err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read the evidence manifest %s: %w; correct it, then try again", name, err)
	}
	if m == nil {
		return nil, fmt.Errorf("read the evidence manifest %s: it is no JSON object; correct it, then try again", name)
	}
	var flags []string
	for _, key := range manifestKeys {
		raw, there := m[key]
		if !there || string(raw) == "null" {
			continue
		}
		v, err := flagValue(key, raw)
		if err != nil {
			return nil, fmt.Errorf("read the evidence manifest %s: key %q: %w", name, key, err)
		}
		flags = append(flags, "--"+strings.ReplaceAll(key, "_", "-"), v)
	}
	return flags, nil
}

// flagValue writes one value of the manifest as a flag's: texts as they are, numbers and truth values as written, lists of texts
// joined by commas, and for the two keys that take JSON, the JSON.
func flagValue(key string, raw json.RawMessage) (string, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	if s, is := v.(string); is {
		return s, nil
	}
	if key == "findings" || key == "items" {
		return string(raw), nil
	}
	switch v := v.(type) {
	case float64, bool:
		return string(raw), nil
	case []any:
		texts := make([]string, 0, len(v))
		for _, x := range v {
			s, is := x.(string)
			if !is {
				return "", errors.New("its list holds something that is no text")
			}
			texts = append(texts, s)
		}
		return strings.Join(texts, ","), nil
	}
	return "", errors.New("it is neither text, number nor list")
}

// ManifestFlags reads the flags that the project's evidence manifest gives the merge gate. in is false when the project has
// not opted in.
func ManifestFlags(root string) (flags []string, in bool, err error) {
	folder := filepath.Join(root, ".planning", "strength")
	switch _, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("look for .planning/strength: %w", err)
	}
	flags, err = manifestFlags(filepath.Join(folder, "merge-gate-request.json"))
	return flags, true, err
}
