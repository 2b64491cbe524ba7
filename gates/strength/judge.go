package strength

// JudgeAnswer is the decision of strength.judge-check (verbs.md 5.1).
type JudgeAnswer string

// The answers of strength.judge-check.
const (
	JudgeAccepted   JudgeAnswer = "accepted"
	JudgeSelfJudged JudgeAnswer = "rejected-self-judged"
)

// JudgeDecision is the answer of strength.judge-check; the ids are as given.
type JudgeDecision struct {
	Decision JudgeAnswer `json:"decision"`
	AuthorID string      `json:"author_id"`
	JudgeID  string      `json:"judge_id"`
}

// CheckJudge accepts a named judge that is not the author. It checks a record; it starts no judge.
func CheckJudge(author, judge string) JudgeDecision {
	d := JudgeDecision{Decision: JudgeSelfJudged, AuthorID: author, JudgeID: judge}
	if norm(judge) != "" && norm(judge) != norm(author) {
		d.Decision = JudgeAccepted
	}
	return d
}
