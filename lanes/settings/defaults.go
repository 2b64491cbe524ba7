package settings

import "time"

const day = 24 * time.Hour

// Default returns the settings of a project without a settings file. Each call returns its own slices and maps.
func Default() Settings {
	return Settings{
		Runner:       defaultRunner(),
		Tasks:        Tasks{Roots: []string{"tasks", "taskplane-tasks"}},
		Authority:    defaultAuthority(),
		Guard:        Guard{Protected: []string{"main", "master", "release/*"}},
		Halting:      defaultHalting(),
		Coordination: defaultCoordination(),
		Strength:     defaultStrength(),
		Model:        defaultModel(),
	}
}

func defaultRunner() Runner {
	return Runner{
		Lanes:           3,
		Copy:            []string{".env"},
		Worker:          Worker{MaxIterations: 20, MaxWallClock: 2 * time.Hour},
		NoProgressLimit: 3,
		StallTimeout:    time.Hour,
		FinishGrace:     30 * time.Second,
		HoldQuiesce:     15 * time.Minute,
		HoldTimeout:     4 * time.Hour,
		Backoff:         Backoff{Initial: 2 * time.Second, Max: 5 * time.Minute},
		OnRed:           "report",
	}
}

func defaultAuthority() Authority {
	return Authority{
		AllowedSigners: ".planning/allowed_signers",
		Reserve:        map[string][]string{"operator": {"merge-conflict"}},
	}
}

func defaultHalting() Halting {
	return Halting{
		Rescope:          Rescope{MaxAttempts: 2},
		HumanSLASeconds:  86400,
		ShipClockSeconds: 86400,
	}
}

func defaultGate() Gate {
	return Gate{MaxPasses: 3, WallClockSeconds: 1800, CapOutcome: outcomeRescope}
}

func defaultCoordination() Coordination {
	return Coordination{
		MigrationStore: ".planning/coord/migration-seq.json",
		HotSeams: []string{
			"package-lock.json", "**/package-lock.json", "yarn.lock", "pnpm-lock.yaml", "**/*.lock",
			"**/migrations/**", "src/installer-migrations/**",
			"**/*.schema.json", "**/prisma/schema.prisma", "**/*.prisma", "**/schema.sql", "**/schema.graphql", "**/schema.rb",
			"ferrox-core/bin/shared/*.manifest.json", "**/di-registry.*", "**/generated/**", "**/*.codegen.*",
			".planning/rescope-state.json", ".planning/human-sla-park.json", ".planning/halting-log.jsonl", ".planning/coord/**",
		},
		SharedStatePaths: []string{
			"**/STATE.md", ".planning/STATE.md", "**/ROADMAP.md", ".planning/ROADMAP.md", "**/BACKLOG.md", ".planning/BACKLOG.md",
			".planning/rescope-state.json", ".planning/human-sla-park.json", ".planning/halting-log.jsonl",
		},
	}
}

func defaultStrength() Strength {
	return Strength{
		MediumClusterThreshold: 3,
		SecurityAgeLimitDays:   7,
		ReceiptStore:           ".planning/strength/receipts.json",
		CoverageStore:          ".planning/strength/coverage-baseline.json",
		RequirementsPath:       ".planning/REQUIREMENTS.md",
		FindingsStore:          ".planning/strength/findings.json",
		BacklogPath:            ".planning/BACKLOG.md",
		DepthStore:             ".planning/strength/depth-decisions.json",
		CrossAuditStore:        ".planning/strength/cross-audits.json",
		SecurityCategories:     []string{"security", "auth", "crypto", "injection", "secrets", "deserialization"},
		CrossAuditMaxPhases:    5,
		MergeGateRequest:       ".planning/strength/merge-gate-request.json",
	}
}

func defaultModel() Model {
	return Model{
		TridentCheckpoints: []string{"plan-lock-gap-audit", "high-risk-wave-audit"},
		RiskBoundaries:     []string{"auth", "crypto", "payments", "pii", "deserialization", "network-file"},
	}
}
