package why

import (
	"fmt"
	"net/url"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// Seen is what is known of a word besides its letters.
type Seen struct {
	File     bool // something of that name is in the current directory
	Variable bool // the launcher's environment has it
}

// KindOf tells what a word is about. A word that may be two things is an error: an
// answer to another question than the one that was meant is worse than none.
func KindOf(word string, seen Seen) (Kind, error) {
	switch {
	case word == "":
		return "", fmt.Errorf("the subject is empty")
	case strings.Contains(word, "://"):
		if u, err := url.Parse(word); err != nil || u.Hostname() == "" {
			return "", fmt.Errorf("%q is no address of a host", word)
		}
		return Host, nil
	case word[0] == '/', word[0] == '~', word == ".", word == "..", strings.HasPrefix(word, "./"), strings.HasPrefix(word, "../"):
		return Path, nil
	case strings.Contains(word, "/"):
		return Path, nil
	}
	var may []string
	if seen.File {
		may = append(may, "the file ./"+word)
	}
	if seen.Variable || shouted(word) {
		may = append(may, "the variable (--variable "+word+")")
	}
	if hostly(word) {
		may = append(may, "the host (--host "+word+")")
	}
	switch {
	case len(may) > 1:
		return "", fmt.Errorf("%q may be %s: say which", word, strings.Join(may, " or "))
	case seen.File:
		return Path, nil
	case seen.Variable || shouted(word):
		return Env, nil
	case hostly(word):
		return Host, nil
	}
	return "", fmt.Errorf("%q is neither a path that is there, nor a host with a dot or a port, nor a variable that is set: say which, with --path, --host or --variable", word)
}

// shouted holds for a word that is written as names of variables are.
func shouted(word string) bool {
	return strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && strings.ToLower(word) != word && (word[0] < '0' || word[0] > '9')
}

// hostly holds for a word that can only be a host: one with a dot, a port, or an
// address.
func hostly(word string) bool {
	t, err := ParseHost(word)
	return err == nil && (t.Name == "" || t.Port != 0 || strings.Contains(word, ".") || t.Name == "localhost")
}

// Target reads what a person writes for a host: a name, an address, with or without a
// port, or a URL, whose scheme then says the port.
func Target(word string) (address.Target, error) {
	if !strings.Contains(word, "://") {
		return ParseHost(word)
	}
	u, err := url.Parse(word)
	if err != nil {
		return address.Target{}, fmt.Errorf("%q is no address of a host", word)
	}
	t, err := ParseHost(u.Host)
	if err == nil && t.Port == 0 {
		t.Port = map[string]uint16{"http": 80, "https": 443, "ssh": 22, "ftp": 21}[u.Scheme]
	}
	return t, err
}
