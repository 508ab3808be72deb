package sign

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// signGnuPG calls gpg, or gpgsm, in the words of git.
func (e *endpoint) signGnuPG(ctx context.Context, payload []byte) (signature, error) {
	name := e.Key.Name
	if name == "" {
		name = e.Identity.Name + " <" + cleanAddress(e.Identity.Email) + ">"
	}
	out, status, err := e.run(ctx, payload, e.Key.Program, "--status-fd=2", "-bsau", name)
	if err != nil {
		return signature{}, err
	}
	s := signature{armour: string(out)}
	if s.created, s.key = created(status); s.created == "" {
		return signature{}, fmt.Errorf("no signature was created: %s", lastWords(status))
	}
	begin, end := "-----BEGIN PGP SIGNATURE-----\n", "-----END PGP SIGNATURE-----\n"
	if e.Key.Format == X509 {
		begin, end = "-----BEGIN SIGNED MESSAGE-----\n", "-----END SIGNED MESSAGE-----\n"
	}
	if !strings.HasPrefix(s.armour, begin) || !strings.HasSuffix(s.armour, end) || strings.Count(s.armour, "-----BEGIN ") != 1 {
		return signature{}, errors.New("what came out is not a signature")
	}
	return s, nil
}

// created finds what gpg says of the signature it made. The last word is the
// fingerprint.
func created(status []byte) (words, fingerprint string) {
	for line := range strings.Lines(string(status)) {
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "[GNUPG:] SIG_CREATED ")
		fields := strings.Fields(rest)
		if ok && len(fields) == 6 && len(rest) < 256 && strings.Trim(rest, " 0123456789ABCDEFabcdefT") == "" {
			return rest, fields[5]
		}
	}
	return "", ""
}
