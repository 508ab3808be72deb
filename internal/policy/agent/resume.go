package agent

import "strings"

// Resumed finds the command with which an agent, at its end, says that a conversation can
// be taken up, and returns the words for ringfence to do so: typed as the agent prints
// them they would start it without a fence. What was printed is the agent's, so that an
// id has the shape of one and nothing else.
func (p *Profile) Resumed(printed string) (command []string) {
	if p.Resume == "" {
		return nil
	}
	words := strings.Fields(p.Resume)
	for rest := printed; ; {
		i := strings.Index(rest, p.Resume+" ")
		if i < 0 {
			return command
		}
		rest = rest[i+len(p.Resume)+1:]
		if id := idAt(strings.TrimLeft(rest, `'"`)); id != "" {
			command = append(append([]string{p.Name}, words[1:]...), id)
		}
	}
}

// idAt is the id that a text begins with.
func idAt(text string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	id := text[:len(text)-len(strings.TrimLeft(text, letters+"_-"))]
	if len(id) < 8 || len(id) > 64 || !strings.Contains(letters, id[:1]) {
		return ""
	}
	return id
}
