package hold

// Fire makes one move, for tests of the inputs that no method stands for.
func (r Record) Fire(in Input) (Record, error) { return r.fire(in) }
