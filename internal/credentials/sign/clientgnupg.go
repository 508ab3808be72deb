package sign

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

var gnupgFormats = map[string][2]string{GPG: {"openpgp", "gpg"}, GPGSM: {"x509", "gpgsm"}}

// gnupg answers for gpg and gpgsm, which git calls in the same words.
func (c *client) gnupg(name string, args []string) error {
	format, program := gnupgFormats[name][0], gnupgFormats[name][1]
	call, err := parseGnuPG(args)
	switch {
	case err != nil:
		return err
	case !call.sign:
		return c.pass(program, args)
	case !call.detached || !call.armoured:
		return refused("the host makes detached and armoured signatures only: -bsau")
	}
	payload, err := io.ReadAll(io.LimitReader(c.stdin, maxPayload+1))
	if err != nil {
		return fmt.Errorf("read what is to be signed: %w", err)
	}
	signature, created, err := c.post(format, payload)
	if err != nil {
		return err
	}
	if created == "" {
		created = "D 0 0 00 " + strconv.FormatInt(time.Now().Unix(), 10) + " 0"
	}
	if status := c.fd(call.statusFD); status != nil {
		if _, err := fmt.Fprintf(status, "\n[GNUPG:] SIG_CREATED %s\n", created); err != nil {
			return fmt.Errorf("write status: %w", err)
		}
	}
	_, err = c.stdout.Write(signature)
	return err
}

func (c *client) fd(n int) io.Writer {
	switch n {
	case -1:
		return nil
	case 1:
		return c.stdout
	case 2:
		return c.stderr
	}
	return os.NewFile(uintptr(n), "status")
}

// gnupgCall is what somebody wants of gpg.
type gnupgCall struct {
	sign, detached, armoured bool
	statusFD                 int // -1 for none
}

// parseGnuPG knows the options with which git and its kin ask for a signature.
// The key that is named is not looked at: the host has one.
func parseGnuPG(args []string) (gnupgCall, error) {
	call := gnupgCall{statusFD: -1}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		takes := func() (string, error) {
			if has {
				return value, nil
			}
			if i++; i >= len(args) {
				return "", errors.New(name + " needs a value")
			}
			return args[i], nil
		}
		var err error
		switch {
		case name == "--status-fd":
			if value, err = takes(); err == nil {
				call.statusFD, err = strconv.Atoi(value)
			}
		case name == "--local-user" || name == "--keyid-format":
			_, err = takes()
		case name == "--sign":
			call.sign = true
		case name == "--detach-sign":
			call.sign, call.detached = true, true
		case name == "--armor" || name == "--armour":
			call.armoured = true
		case strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "--") && strings.Trim(args[i], "-bsau") == "":
			call.sign = call.sign || strings.ContainsAny(args[i], "bs")
			call.detached = call.detached || strings.Contains(args[i], "b")
			call.armoured = call.armoured || strings.Contains(args[i], "a")
			if strings.HasSuffix(args[i], "u") {
				i++
			}
		}
		if err != nil {
			return call, err
		}
	}
	return call, nil
}
