package source

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// service asks the Secret Service (GNOME Keyring, KWallet, KeePassXC) by the program
// of libsecret: what speaks for the user there is the session bus, and that program
// knows how to be let in.
func (h Host) service(ctx context.Context, attributes string) (string, error) {
	argv := []string{"secret-tool", "lookup"}
	for pair := range strings.SplitSeq(attributes, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || value == "" || name[0] == '-' || value[0] == '-' {
			return "", errors.New("it is found by ATTR=VALUE, more of them after commas")
		}
		argv = append(argv, name, value)
	}
	text, err := h.command(ctx, argv)
	var exit *exec.ExitError
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return "", fault.New(fault.NotFound, "install libsecret-tools (Debian, Ubuntu) or libsecret (Fedora, Arch)", "%w", err)
	case errors.As(err, &exit) && exit.ExitCode() == 1 && err.Error() == exit.Error():
		return "", fault.New(fault.Refused, "secret-tool store --label=… "+strings.Join(argv[2:], " "), "nothing there has these attributes")
	}
	return text, err
}

// pass returns the first line of an entry: the others are notes.
func (h Host) pass(ctx context.Context, entry string) (string, error) {
	if entry == "" || entry[0] == '-' {
		return "", errors.New("an entry has a name")
	}
	text, err := h.command(ctx, []string{"pass", "show", entry})
	if fault.KindOf(err) == fault.NotFound {
		return "", fault.New(fault.NotFound, "install pass, the package of the same name", "%w", err)
	}
	line, _, _ := strings.Cut(text, "\n")
	return line, err
}
