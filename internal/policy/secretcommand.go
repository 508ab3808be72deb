package policy

import (
	"path/filepath"
	"strings"
)

// SetCommand is the `ringfence secret set` that would keep s so that it can be used: with
// what s says already, with a word in capitals for what is missing, and without what its
// kind knows nothing of. It is "" where the kind is not known.
func (s *Secret) SetCommand() string {
	kind := findUse(s.Kind())
	if kind == nil {
		return ""
	}
	words := []string{"ringfence", "secret", "set", s.Name, "--use", kind.name}
	for _, h := range s.Hosts {
		if to, err := ParseHome(h.Value); err == nil && !kind.path {
			words = append(words, "--host", to.Host.String())
		} else {
			words = append(words, "--host", h.Value)
		}
	}
	if len(s.Hosts) == 0 && kind.name != "aws" {
		words = append(words, "--host", "HOST")
	}
	word := func(flag, missing string, have *Rule, wanted, needed bool) {
		switch {
		case wanted && have != nil:
			words = append(words, flag, have.Value)
		case needed:
			words = append(words, flag, missing)
		}
	}
	word("--header", "NAME", s.Header, kind.name == "header", kind.name == "header")
	word("--user", "NAME", s.User, kind.user, kind.name == "basic")
	word("--role", "arn:aws:iam::ACCOUNT:role/NAME", s.Role, kind.name == "aws", kind.name == "aws")
	word("--region", "", s.Region, kind.name == "aws", false)
	if from, _ := s.Origin(); from != "store" && from != "command" {
		words = append(words, "--from", s.From.Value)
	}
	for _, e := range s.Env {
		words = append(words, "--env", e.Value)
	}
	if len(s.Command) > 0 {
		words = append(words, "--")
		for _, a := range s.Command {
			words = append(words, a.Value)
		}
	}
	for i, w := range words {
		if w == "" || strings.Trim(w, nameBytes+"/:.,=+@~%") != "" {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// flagSource stands for the file of what flags say.
const flagSource = "flag"

// mend says what a person does about a secret that lacks something, where it is written.
func (s *Secret) mend(line string) string {
	switch filepath.Base(s.Source.File) {
	case flagSource: // who asked for it by flags is told the command as the hint
		return ""
	case SecretFile:
		return ": " + s.SetCommand()
	}
	return ": write " + line
}
