package hostexec

import "strings"

// GitSettings names what a git configuration makes git execute or sends elsewhere
// without anyone asking, each with its value.
func (r *Rules) GitSettings(config []byte) ([]GitSetting, error) {
	all, err := gitSettings(config)
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
func GitWithout(config []byte, leave func(key, value string) bool) ([]byte, error) {
	entries, err := parseConfig(config)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, e := range entries {
		if leave(e.key, e.value) {
			continue
		}
		b.WriteString("[" + e.section())
		if sub, ok := e.sub(); ok {
			b.WriteString(" \"" + subText.Replace(sub) + "\"")
		}
		b.WriteString("]\n\t" + e.name())
		if !e.bare {
			b.WriteString(" = \"" + valueText.Replace(e.value) + "\"")
		}
		b.WriteString("\n")
	}
	return []byte(b.String()), nil
}

var (
	subText   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	valueText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
)
