package hook

import (
	"strings"

	"ferrox/gates/guard"
)

// mcpTool reports whether a tool comes from an MCP server, as the agents name those.
func mcpTool(name string) bool { return strings.HasPrefix(strings.ToLower(name), "mcp_") }

// forgeTools are the operations of forges' MCP servers that merge or ship, by the end of the tool's name. Those that name
// a branch count only when it is protected.
var forgeTools = []struct {
	suffix string
	kind   guard.Kind
	branch bool
}{
	{"merge_pull_request", guard.KindMerge, false},
	{"enable_pull_request_auto_merge", guard.KindMerge, false},
	{"merge_merge_request", guard.KindMerge, false},
	{"accept_merge_request", guard.KindMerge, false},
	{"push_files", guard.KindPush, true},
	{"create_or_update_file", guard.KindPush, true},
	{"delete_file", guard.KindPush, true},
	{"update_ref", guard.KindPush, true},
	{"update_reference", guard.KindPush, true},
	{"create_branch", guard.KindPush, true},
	{"delete_branch", guard.KindPush, true},
	{"create_release", guard.KindRelease, false},
}

// tool returns what a call of a forge's MCP tool would merge or ship.
func (l *lookup) tool(e event) ([]guard.Finding, error) {
	for _, t := range forgeTools {
		if !strings.HasSuffix(strings.ToLower(e.tool), "_"+t.suffix) {
			continue
		}
		f := guard.Finding{Kind: t.kind, Command: e.tool, Why: "asks the forge to merge or to ship"}
		if !t.branch {
			return []guard.Finding{f}, nil
		}
		f.Ref = branchInput(e.input)
		if f.Ref == "" {
			f.Unreadable, f.Why = true, "writes to a branch that the call does not name"
			return []guard.Finding{f}, nil
		}
		return l.onBranch(f)
	}
	return nil, nil
}

// branchInput is the branch that a call names, short; "" when it names none.
func branchInput(input map[string]any) string {
	for _, key := range []string{"branch", "ref", "branch_name"} {
		if s, ok := input[key].(string); ok && s != "" {
			return strings.TrimPrefix(strings.TrimPrefix(s, "refs/"), "heads/")
		}
	}
	return ""
}

// onBranch keeps the finding when its branch is protected here. Outside of a repository the settings alone say so.
func (l *lookup) onBranch(f guard.Finding) ([]guard.Finding, error) {
	if err := l.load([]string{l.cwd}); err != nil {
		return nil, err
	}
	facts := l.facts[l.cwd]
	facts.Known = true
	if !facts.Protects(f.Ref) {
		return nil, nil
	}
	f.Why = "writes to the protected branch " + f.Ref
	return []guard.Finding{f}, nil
}
