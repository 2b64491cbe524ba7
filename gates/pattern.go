package gates

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used: the program is started often, and seldom for
// what these are about.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
