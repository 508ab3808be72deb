package phantom

import (
	"regexp"
	"sync"
)

// form is a regular expression that is made when it is first used: every command of
// the program has these, and few look at secrets.
type form struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

func lazily(text string) *form { return &form{text: text} }

func (p *form) made() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.text) })
	return p.re
}

func (p *form) MatchString(s string) bool              { return p.made().MatchString(s) }
func (p *form) FindString(s string) string             { return p.made().FindString(s) }
func (p *form) FindStringSubmatch(s string) []string   { return p.made().FindStringSubmatch(s) }
func (p *form) FindStringSubmatchIndex(s string) []int { return p.made().FindStringSubmatchIndex(s) }
