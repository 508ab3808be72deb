package hostexec

import (
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// GitSettings names what a git configuration makes git execute or sends elsewhere
// without anyone asking, each with its value.
func (r *Rules) GitSettings(text []byte) ([]GitSetting, error) {
	all, err := gitSettings(text)
	if err != nil {
		return nil, err
	}
	var out []GitSetting
	for _, c := range r.about(".git/config") {
		for _, s := range all {
			if k := c.find(s); k != nil && k.rank == Unasked {
				out = append(out, GitSetting{s.shown, s.value, s.line, k.when, k.why})
			}
		}
	}
	return out, nil
}

// GitSetting is one of them.
type GitSetting struct {
	Key, Value string
	Line       int
	When, Why  string
}

// GitWithout writes a configuration of git anew, without the settings that are to be
// left out. Comments go.
func GitWithout(text []byte, leave func(key, value string) bool) ([]byte, error) {
	entries, err := settings.ParseGit(text)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, e := range entries {
		if leave(e.Key, e.Value) {
			continue
		}
		settings.WriteGit(&b, e)
	}
	return []byte(b.String()), nil
}
