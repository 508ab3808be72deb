package sign

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// sshKeygen answers for ssh-keygen.
func (c *client) sshKeygen(args []string) error {
	call := parseSSH(args)
	switch {
	case call.operation != "sign":
		return c.pass("ssh-keygen", args)
	case call.namespace != "git":
		return refused(fmt.Sprintf("the host signs in the namespace git only, and %q was asked for", call.namespace))
	case len(call.files) > 1:
		return refused("the host signs one object at a time")
	}
	if len(call.files) == 0 {
		return c.signSSH(c.stdin, func(signature []byte) error {
			_, err := c.stdout.Write(signature)
			return err
		})
	}
	f, err := os.Open(call.files[0])
	if err != nil {
		return err
	}
	defer f.Close()
	return c.signSSH(f, func(signature []byte) error {
		return os.WriteFile(call.files[0]+".sig", signature, 0o600)
	})
}

func (c *client) signSSH(r io.Reader, deliver func([]byte) error) error {
	payload, err := io.ReadAll(io.LimitReader(r, maxPayload+1))
	if err != nil {
		return fmt.Errorf("read what is to be signed: %w", err)
	}
	signature, _, err := c.post("ssh", payload)
	if err != nil {
		return err
	}
	return deliver(signature)
}

// sshCall is what somebody wants of ssh-keygen.
type sshCall struct {
	operation, namespace string
	files                []string
}

// parseSSH reads options as getopt does. The key is not looked at: the host has
// one.
func parseSSH(args []string) sshCall {
	var call sshCall
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			call.files = append(call.files, args[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			call.files = append(call.files, a)
			continue
		}
		if !strings.ContainsRune("YnfOIsr", rune(a[1])) {
			continue // a flag without a value, such as -U or -q
		}
		value := a[2:]
		if value == "" && i+1 < len(args) {
			i++
			value = args[i]
		}
		switch a[1] {
		case 'Y':
			call.operation = value
		case 'n':
			call.namespace = value
		}
	}
	return call
}
