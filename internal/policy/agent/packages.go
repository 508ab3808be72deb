package agent

import "strings"

// write tells what installing a package meets, so that nobody looks for the fault elsewhere.
func (p Packages) write(b *strings.Builder, in NoteInput) {
	if m := in.Network.Mode; m == "" || m == "none" || p.Age == "" && p.Scripts {
		return
	}
	b.WriteString("## Packages\n\n")
	if p.Age != "" {
		b.WriteString("A release that is younger than " + label(p.Age) + " is left out of what registries answer, as if it were not there: take the one\n" +
			"before it, and no other registry.\n")
	}
	if !p.Scripts {
		b.WriteString("Install scripts of dependencies do not run; a line says which was skipped. Scripts of the project itself do.\n")
	}
	if len(p.Allowed) > 0 {
		b.WriteString("Exempt from both: " + inline(p.Allowed, maxItems) + ".\n")
	}
	start, rest := again(in.Agent)
	b.WriteString("If one package needs it, name it to the human, who can start again with `" + start + " --allow-package npm:NAME" + rest + "`\n" +
		"(or pypi:, go:, crates:).\n\n")
}
