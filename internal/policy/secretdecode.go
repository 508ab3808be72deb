package policy

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// secretHeader handles [secret] and [secret.NAME].
func (d *decoder) secretHeader(parts []part) error {
	if err := d.once("table", parts); err != nil {
		return err
	}
	switch len(parts) {
	case 1:
		return nil
	case 2:
		_, err := d.secret(parts[1])
		return err
	}
	return d.fail(parts[2].at, "", "there are no tables beneath [%s.%s]", secretSection, printable(parts[1].name))
}

// assignSecret gives the value v to what parts spell under [secret].
func (d *decoder) assignSecret(parts []part, v *unstable.Node) error {
	if err := d.once("key", parts); err != nil {
		return err
	}
	last := parts[len(parts)-1]
	if len(parts) < 3 {
		if v.Kind != unstable.InlineTable {
			return d.fail(d.place(v, last), fmt.Sprintf("a secret is a table of its own: [%s.NAME]", secretSection),
				"%q is a table, not %s", last.name, kindName(v.Kind))
		}
		if len(parts) == 2 {
			if _, err := d.secret(last); err != nil {
				return err
			}
		}
		return d.inline(parts, v)
	}
	s, err := d.secret(parts[1])
	if err != nil {
		return err
	}
	k, err := d.secretKey(s, parts[2])
	if err != nil {
		return err
	}
	if len(parts) > 3 {
		return d.fail(parts[3].at, "", "%s is %s, not a table", k, k.form)
	}
	return d.value(k, last, v)
}

// secret returns the secret of that name, a new one at first.
func (d *decoder) secret(name part) (*Secret, error) {
	if err := checkSecretName(name.name); err != nil {
		return nil, d.fail(name.at, "", "[%s]: %v", secretSection, err)
	}
	if s := d.policy.FindSecret(name.name); s != nil {
		return s, nil
	}
	if len(d.policy.Secret) == maxSecrets {
		return nil, d.fail(name.at, "", "a policy has at most %d secrets", maxSecrets)
	}
	d.policy.Secret = append(d.policy.Secret, Secret{Name: name.name, Source: d.source(name.at)})
	return &d.policy.Secret[len(d.policy.Secret)-1], nil
}

const maxSecrets = 256

// secretKey finds a key. A project's file has one: what it could say of a source or
// a host would make the user's secret its own.
func (d *decoder) secretKey(s *Secret, name part) (*key, error) {
	known := make([]string, len(secretKeys))
	for i := range secretKeys {
		known[i] = secretKeys[i].name
	}
	k := findSecretKey(name.name)
	if k == nil {
		hint := suggest(name.name, known)
		if hint == "" {
			hint = fmt.Sprintf("[%s.NAME] knows: %s", secretSection, strings.Join(known, ", "))
		}
		return nil, d.fail(name.at, hint, "unknown key %q in [%s.%s]", name.name, secretSection, s.Name)
	}
	if d.project && k.name != "off" {
		return nil, d.fail(name.at, fmt.Sprintf("write it in your own policy, or run `ringfence secret set %s`", s.Name),
			"a project's file adds and changes no secret: it can only switch one off, by off = true")
	}
	return k.of(s), nil
}
