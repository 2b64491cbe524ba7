package trident

import "strings"

// Lineage is the family of models that a name belongs to. A name that is not known is its own lineage.
type Lineage string

// The lineages with more than one name (verbs.md 7).
const (
	LineageClaude Lineage = "claude"
	LineageOpenAI Lineage = "openai"
	LineageGoogle Lineage = "google"
)

// LineageOf puts a model's or vendor's name into its lineage, so that an alias of the caller can't sit on its own panel.
func LineageOf(name string) Lineage {
	name = norm(name)
	switch name {
	case "anthropic", "opus", "sonnet", "haiku":
		return LineageClaude
	case "openai", "codex", "o1", "o3":
		return LineageOpenAI
	case "google":
		return LineageGoogle
	}
	switch {
	case strings.HasPrefix(name, "claude"):
		return LineageClaude
	case strings.HasPrefix(name, "gpt"):
		return LineageOpenAI
	case strings.HasPrefix(name, "gemini"):
		return LineageGoogle
	}
	return Lineage(name)
}

func norm(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
