package main

import "ferrox/engine"

// clockMoves is set when the program is built for tests, whose nights are short; nothing changes it after. Everybody else's
// ferrox knows the machine's clock only.
var clockMoves = ""

// clock is the one that everything in this call goes by.
func (a *app) clock() engine.Clock {
	if file := a.getenv(engine.ClockFile); clockMoves != "" && file != "" {
		return engine.MovableClock(file)
	}
	return engine.SystemClock()
}
