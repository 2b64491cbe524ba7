package settings

// Template returns the settings file that "ferrox init" writes: every key with its default and what it means. Reading it back
// gives the default settings.
func Template() []byte { return []byte(template) }

const template = `// Settings of ferrox. Comments and trailing commas are fine; what is left out has the value shown here.
// Durations: "30s", "15m", "4h", "30d". A batch reads this file once, when it starts.
{
  // "ferrox init" wrote the schema beside this file: an editor completes the keys with it. ferrox does not read it.
  "$schema": "./config.schema.json",

  "runner": {
    "lanes": 3,                       // lanes that work at the same time
    // "lanes_dir": "../name.lanes",  // lane worktrees; by default beside the checkout, named after it
    "setup": [],                      // run once in a fresh worktree: [["npm", "ci"]]
    "copy": [".env"],                 // ignored files that a fresh worktree gets
    "worker": {
      // "preset": "claude",          // claude, codex, gemini or shell
      "command": [],                  // or a command of your own, argument by argument; the prompt is its stdin
      "max_iterations": 20,           // runs of the worker a task may have
      "max_wall_clock": "2h",         // time one run may last
    },
    "reviewer": { "command": [] },    // the reviewing agent
    "verify": [],                     // run on the merged tree before it lands: [["make", "test"]]
    "no_progress_limit": 3,           // runs in a row without progress, then the task is stalled
    "stall_timeout": "1h",            // silence of a worker, then it is stalled
    "finish_grace": "30s",            // time a worker gets to end by itself after its claim
    "hold_quiesce": "15m",            // time a worker may go on after its escalation
    "hold_timeout": "4h",             // until a held lane parks, 1s to 30d; the hold itself stays open
    "backoff": { "initial": "2s", "max": "5m" },
    "on_red": "report",               // what a red ship clock does: report or descope
    "sign": false,                    // sign ferrox's commits as git is configured to
  },

  "tasks": {
    "roots": ["tasks", "taskplane-tasks"],
    "default_review_level": 0,        // 0 to 3, for a packet that names none
  },

  "authority": {
    "require_signed": false,          // a ruling counts only with a good signature
    "allowed_signers": ".planning/allowed_signers",
    "reserve": { "operator": ["merge-conflict"] },  // gates only the operator rules on
  },

  "guard": { "protected": ["main", "master", "release/*"] },

  "halting": {
    // A gate that is not listed has these caps. cap_outcome: ship-with-backlog, stop-and-rescope or escalate-to-human.
    "gates": {
      // "code-review": { "max_passes": 3, "wall_clock_seconds": 1800, "cap_outcome": "stop-and-rescope" },
    },
    "rescope": { "max_attempts": 2 },
    "human_sla_seconds": 86400,
    "ship_clock_seconds": 86400,
  },

  "strength": {
    "medium_cluster_threshold": 3,
    "security_age_limit_days": 7,
    "security_categories": ["security", "auth", "crypto", "injection", "secrets", "deserialization"],
    "cross_audit_max_phases": 5,
  },

  "model": {
    "trident_checkpoints": ["plan-lock-gap-audit", "high-risk-wave-audit"],
    "risk_boundaries": ["auth", "crypto", "payments", "pii", "deserialization", "network-file"],
    "trident_panel": [],              // [{ "family": "openai", "command": ["codex", "exec", "-"] }, …]
  },
}
`
