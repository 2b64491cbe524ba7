package verbs

func testStep(step, cwd string) int { return 99 }

const hookVerb = "hook.merge-gate-guard"
