package hostexec

import (
	"slices"
	"strings"
)

// Instructions reports whether agents read a file of this name as instructions, so
// that characters nobody sees count in it.
func (r *Rules) Instructions(rel string) bool {
	return slices.ContainsFunc(r.about(rel), func(c *content) bool { return c.form == "text" })
}

// InstructionFiles lists the paths of such files that are written without a star.
func (r *Rules) InstructionFiles() []string {
	var out []string
	for _, c := range r.contents {
		for _, p := range c.files {
			if c.form == "text" && !p.whole && !strings.Contains(p.text, "*") {
				out = append(out, p.text)
			}
		}
	}
	return out
}

// InstructionDirs lists the directories in which every file is one.
func (r *Rules) InstructionDirs() []string {
	var out []string
	for _, c := range r.contents {
		for _, p := range c.files {
			if c.form == "text" && p.whole && !strings.Contains(p.text, "*") {
				out = append(out, strings.TrimSuffix(p.text, "/"))
			}
		}
	}
	return out
}
