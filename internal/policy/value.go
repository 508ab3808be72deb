package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxPath = 4095 // PATH_MAX without its NUL

// checkText refuses what no path, name or value of a file may hold.
func checkText(s string) error {
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%q holds a control character (%U)", s, r)
		}
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%q is not UTF-8", s)
	}
	return nil
}

// checkParts is what holds for every path, relative ones too.
func checkParts(p string) error {
	if err := checkText(p); err != nil {
		return err
	}
	if len(p) > maxPath {
		return fmt.Errorf("the path is %d bytes long, at most %d can be opened", len(p), maxPath)
	}
	if i := strings.IndexAny(p, "*?["); i >= 0 {
		return fmt.Errorf("%q holds %q: ringfence builds its view from exact paths and never walks a tree", p, p[i:i+1])
	}
	if slices.Contains(strings.Split(p, "/"), "..") {
		return fmt.Errorf(`%q holds "..": write the path it leads to`, p)
	}
	return nil
}

func checkPath(p string) error {
	if err := checkParts(p); err != nil {
		return err
	}
	if !path.IsAbs(p) && !strings.HasPrefix(p, "~/") {
		return fmt.Errorf("%q is not absolute: a path begins with / or ~/", p)
	}
	return nil
}

func checkWorkspace(p string) error {
	if strings.HasSuffix(p, ":rw") {
		return fmt.Errorf("%q ends in :rw: a workspace is read-write unless it ends in :ro", p)
	}
	dir, _ := SplitWorkspace(p)
	return checkPath(dir)
}

func checkMask(p string) error {
	if err := checkParts(p); err != nil {
		return err
	}
	if !path.IsAbs(p) && !strings.HasPrefix(p, "~/") {
		if path.Clean(p) == "." {
			return fmt.Errorf("%q would hide a whole workspace", p)
		}
		if p[0] == '~' {
			return fmt.Errorf("%q is neither ~/… nor plainly relative: write ./%s for a file of that name", p, p)
		}
	}
	return nil
}

func checkName(s string) error {
	if s == "" {
		return errors.New("the name of a variable is empty")
	}
	for i, c := range []byte(s) {
		letter := c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return fmt.Errorf("%q is no name of a variable: letters, digits and _, no digit first", s)
		}
	}
	return nil
}

// admit checks one value of the key.
func (k *key) admit(v string) error {
	if k.check != nil {
		return k.check(v)
	}
	if known := k.known(); known != nil && !slices.Contains(known, v) {
		return fmt.Errorf("%q is unknown here; known: %s", v, strings.Join(known, ", "))
	}
	return nil
}

// SplitWorkspace reads PATH, PATH:ro or PATH:readonly.
func SplitWorkspace(v string) (dir string, write bool) {
	for _, end := range []string{":ro", ":readonly"} {
		if dir, ro := strings.CutSuffix(v, end); ro {
			return dir, false
		}
	}
	return v, true
}

// printable returns s as it is when every rune of it can be shown, else quoted.
func printable(s string) string {
	for _, r := range s {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}
