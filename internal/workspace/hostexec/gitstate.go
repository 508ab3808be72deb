package hostexec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// The state files of a rebase, an am or a cherry-pick are command lines in pieces: git
// takes them up again where they were left, whoever wrote them.

// strategies are the ways to merge that git brings along. Any other is a program
// git-merge-NAME, and one with a slash in its name a program of the worktree.
var strategies = []string{"ort", "recursive", "resolve", "octopus", "ours", "subtree"}

func fitsState(form Form, content []byte) error {
	if len(content) > maxLook {
		return errors.New("too large to be judged")
	}
	text := strings.TrimSuffix(string(content), "\n")
	switch form {
	case FormStrategy:
		if !slices.Contains(strategies, text) {
			return errors.New("git executes the program that merges by this name")
		}
	case FormApply:
		return fitsApply(text)
	case FormSequence:
		return fitsSequence(content)
	case FormSign:
		if key, ok := strings.CutPrefix(text, "-S"); !ok || key != "" && !word(key, ".-_+@") {
			return errors.New("not the plain name of a key")
		}
	case FormName:
		if !refNames(text) {
			return errors.New("git takes it for an option, or for no branch")
		}
	}
	return nil
}

// fitsApply takes options as git quotes them. Some others have a file name, to which
// git then writes.
func fitsApply(text string) error {
	for option := range strings.FieldsSeq(text) {
		plain := strings.Trim(option, "'")
		name, value, _ := strings.Cut(plain, "=")
		switch {
		case slices.Contains([]string{"--ignore-whitespace", "--ignore-space-change", "--reject", "--no-reject"}, plain):
		case name == "--whitespace" && word(value, "-"):
		case len(plain) > 2 && (plain[:2] == "-p" || plain[:2] == "-C") && only(plain[2:], "0123456789"):
		default:
			return fmt.Errorf("the option %q leads git elsewhere", plain[:min(len(plain), 40)])
		}
	}
	return nil
}

func fitsSequence(content []byte) error {
	entries, err := settings.ParseGit(content)
	if err != nil {
		return err
	}
	for _, e := range entries {
		form := FormAny
		switch e.Key {
		case "options.strategy":
			form = FormStrategy
		case "options.gpg-sign":
			form, e.Value = FormSign, "-S"+e.Value
		}
		if e.Section() != "options" {
			return fmt.Errorf("line %d: not an option of a sequence", e.Line)
		}
		if form == FormAny {
			continue
		}
		if err := fitsState(form, []byte(e.Value)); err != nil {
			return fmt.Errorf("line %d: %w", e.Line, err)
		}
	}
	return nil
}
