package phantom

import (
	"regexp"
	"sync"
)

// form is a regular expression that is made when it is first used: every command of
// the program has these, and few look at secrets.
type form func() *regexp.Regexp

func lazily(text string) form {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
