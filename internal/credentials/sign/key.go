package sign

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/settings"
)

// The formats of signature that git knows.
const (
	OpenPGP = "openpgp"
	SSH     = "ssh"
	X509    = "x509"
)

func known(format string) string {
	switch format {
	case OpenPGP, SSH, X509:
		return format
	}
	return ""
}

// programs is what git runs if nothing else is configured.
var programs = map[string]string{OpenPGP: "gpg", SSH: "ssh-keygen", X509: "gpgsm"}

// Settings are the keys that KeyFrom understands, in the form of gitdir. They are
// to be read from the user's own config files and no others.
var Settings = []string{"user.signingkey", "gpg.format", "gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program",
	"gpg.ssh.defaultkeycommand", "commit.gpgsign", "tag.gpgsign", "tag.forcesignannotated"}

// Key is with what the user signs. It names a key and holds none.
type Key struct {
	Format  string
	Name    string // user.signingkey; may be empty
	Program string // as configured: a name, or a path
	// DefaultCommand prints the key to use with SSH if Name is empty.
	DefaultCommand string
	// Always are the settings by which git signs unasked, with their values.
	Always []settings.GitEntry
}

// KeyFrom picks the key out of the user's settings, later over earlier.
func KeyFrom(all []settings.GitEntry) (Key, error) {
	values := map[string]string{}
	for _, e := range all {
		values[strings.ToLower(e.Key)] = e.Value
	}
	k := Key{Format: values["gpg.format"], Name: values["user.signingkey"], DefaultCommand: values["gpg.ssh.defaultkeycommand"]}
	if k.Format == "" {
		k.Format = OpenPGP
	}
	if known(k.Format) == "" {
		return Key{}, fault.New(fault.Usage, "git config --global gpg.format ssh", "gpg.format %q: not a format that git knows", k.Format)
	}
	k.Program = programs[k.Format]
	if k.Format == OpenPGP && values["gpg.program"] != "" {
		k.Program = values["gpg.program"]
	}
	if p := values["gpg."+k.Format+".program"]; p != "" {
		k.Program = p
	}
	for _, name := range []string{"commit.gpgsign", "tag.gpgsign", "tag.forcesignannotated"} {
		if v, ok := values[name]; ok {
			k.Always = append(k.Always, settings.GitEntry{Key: name, Value: v})
		}
	}
	return k, nil
}

// Configured reports whether the user has said anything of signing. Without a
// word of theirs git would still try, with whatever key has their address.
func (k Key) Configured() bool {
	return k.Name != "" || k.DefaultCommand != "" || len(k.Always) > 0
}

// Inside returns the settings for the config inside, where client is the path of
// the directory that holds the client under its names. Which key signs is not
// told: the name of a key inside is a word that ssh needs and nobody reads.
func (k Key) Inside(client string) []settings.GitEntry {
	program := map[string]string{OpenPGP: "gpg.program", SSH: "gpg.ssh.program", X509: "gpg.x509.program"}[k.Format]
	return append([]settings.GitEntry{
		{Key: "gpg.format", Value: k.Format},
		{Key: program, Value: filepath.Join(client, "ringfence-"+programs[k.Format])},
		{Key: "user.signingkey", Value: "ringfence"},
	}, k.Always...)
}

// literal returns the public key that a setting or a command spells out, if that
// is what it does. Git tells them from paths in the same way.
func literal(s string) (string, bool) {
	if key, ok := strings.CutPrefix(s, "key::"); ok {
		return key, true
	}
	return s, strings.HasPrefix(s, "ssh-")
}

// splitCommand takes a command line apart as git does for this setting: at
// spaces, with quotes and backslashes, and without a shell.
func splitCommand(s string) ([]string, error) {
	var args []string
	var word strings.Builder
	quote, inWord := byte(0), false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if inWord {
				args = append(args, word.String())
			}
			word.Reset()
			inWord = false
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote && quote != 0:
			quote = 0
		case c == '\\' && quote != '\'':
			if i++; i == len(s) {
				return nil, errors.New("ends in a backslash")
			}
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("quote %c is not closed", quote)
	}
	if inWord {
		args = append(args, word.String())
	}
	if len(args) == 0 {
		return nil, errors.New("is empty")
	}
	return args, nil
}
