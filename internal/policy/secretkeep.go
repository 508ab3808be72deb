package policy

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// SecretFile is the file beside the user's policy that `ringfence secret` writes.
const SecretFile = "secrets.toml"

const secretHead = "# Written by `ringfence secret`, which keeps no comments. Values are not in here.\n\n"

// KeepSecret writes s into the file at path, in the place of one of that name. The
// file is replaced as a whole or not at all. One that holds anything but secrets is
// left alone: it is somebody's own.
func KeepSecret(path string, s Secret) error {
	if err := s.admit(); err != nil {
		return err
	}
	return changeSecrets(path, func(all []Secret) []Secret {
		if i := secretTables.index(all, s.Name); i >= 0 {
			all[i] = s
			return all
		}
		return append(all, s)
	})
}

// DropSecret takes the secret of that name out of the file at path, if it is there.
func DropSecret(path, name string) error {
	return changeSecrets(path, func(all []Secret) []Secret {
		return slices.DeleteFunc(all, func(s Secret) bool { return s.Name == name })
	})
}

func changeSecrets(path string, change func([]Secret) []Secret) error {
	unlock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	p, err := Load(path)
	if err != nil {
		return err
	}
	if p == nil {
		p = &Policy{}
	}
	var all, kept, text bytes.Buffer
	if err := errors.Join(Write(&all, p), Write(&kept, &Policy{Secret: p.Secret})); err != nil {
		return err
	}
	if !bytes.Equal(all.Bytes(), kept.Bytes()) {
		return fmt.Errorf("%s holds more than secrets: change it by hand", printable(path))
	}
	next := &Policy{Secret: change(p.Secret)}
	for i := range next.Secret {
		next.Secret[i] = next.Secret[i].unsourced()
	}
	text.WriteString(secretHead)
	if err := Write(&text, next); err != nil {
		return err
	}
	return replace(path, text.Bytes(), 0o600)
}

// admit refuses what no file could hold: it would be printed as a comment.
func (s *Secret) admit() error {
	if err := checkSecretName(s.Name); err != nil {
		return err
	}
	for _, k := range secretTables.keysOf(s) {
		var all List
		if k.list != nil {
			all = *k.list(nil)
		} else if k.word != nil && k.written() {
			all = List{**k.word(nil)}
		}
		for _, r := range all {
			if err := k.admit(r.Value); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
	}
	return nil
}

// unsourced is s as it is printed without comments.
func (s Secret) unsourced() Secret {
	s.Source = Source{}
	for _, k := range secretTables.keysOf(&s) {
		switch {
		case k.list != nil:
			l := slices.Clone(*k.list(nil))
			for j := range l {
				l[j].Source = Source{}
			}
			*k.list(nil) = l
		case k.word != nil && *k.word(nil) != nil:
			*k.word(nil) = &Rule{Value: (*k.word(nil)).Value}
		case k.flag != nil && *k.flag(nil) != nil:
			*k.flag(nil) = &Flag{Value: (*k.flag(nil)).Value}
		}
	}
	return s
}
