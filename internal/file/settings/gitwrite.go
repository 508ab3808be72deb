package settings

import "strings"

var (
	subText   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	valueText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
)

// WriteGit writes one setting. The value is always quoted, so that no comment sign, space
// or line end in it can be read as syntax.
func WriteGit(b *strings.Builder, e GitEntry) {
	b.WriteString("[" + e.Section())
	if sub, ok := e.Sub(); ok {
		b.WriteString(" \"" + subText.Replace(sub) + "\"")
	}
	b.WriteString("]\n\t" + e.Name())
	if !e.Bare {
		b.WriteString(" = \"" + valueText.Replace(e.Value) + "\"")
	}
	b.WriteString("\n")
}
