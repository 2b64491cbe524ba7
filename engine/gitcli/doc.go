// Package gitcli moves worktrees, branches and merges by running git.
//
// Every call is hardened: no hook, no editor, no pager, no prompt, no file-system monitor, a time limit, a scrubbed
// environment and NUL-separated output. The package decides nothing: what may land or be removed is settled before it is
// called, and the permit that says so is only checked here.
package gitcli
