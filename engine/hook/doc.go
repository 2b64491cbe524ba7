// Package hook answers the hooks of coding agents: it reads an event as Claude Code, Codex or Gemini CLI write it, asks the
// merge guard what the command would do and the merge gate whether it may, and answers in the agent's own format. It also
// writes the agents' settings that call it.
//
// Every failure is a block: an event that cannot be read, a line that cannot be parsed, a gate that gives no answer.
//
// A hook is a sensor. What holds when it is not asked is on the refs: see docs/guard.md.
package hook
