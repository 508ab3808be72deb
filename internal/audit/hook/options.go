package hook

import "strings"

// operands are the arguments that are no options. takes lists the letters of options
// that have a value of their own.
func operands(args []string, takes string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i+1:]...)
		}
		if len(a) < 2 || a[0] != '-' {
			out = append(out, a)
			continue
		}
		if value(a, takes) {
			i++
		}
	}
	return out
}

// operandsFrom are the arguments from the first one on that is no option: a command
// that another one runs.
func operandsFrom(args []string, takes string) []string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return args[i+1:]
		}
		if len(a) < 2 || a[0] != '-' {
			return args[i:]
		}
		if value(a, takes) {
			i++
		}
	}
	return nil
}

// value holds for an option whose value is the next argument.
func value(option, takes string) bool {
	if strings.HasPrefix(option, "--") {
		return false
	}
	i := strings.IndexAny(option, takes)
	return i > 0 && i == len(option)-1
}

// option reports whether an option is there: by its letter, alone or among others, or
// by its long name, which may be cut short. What follows -- is none.
func option(args []string, letters, long string) bool {
	for _, a := range args {
		switch {
		case a == "--":
			return false
		case strings.HasPrefix(a, "--"):
			name, _, _ := strings.Cut(a[2:], "=")
			if long != "" && len(name) > 2 && strings.HasPrefix(long, name) {
				return true
			}
		case len(a) > 1 && a[0] == '-' && strings.ContainsAny(a[1:], letters):
			return true
		}
	}
	return false
}

// scaryWords are what a line is searched for that cannot be read.
var scaryWords = strings.Fields("rm sudo doas su pkexec push curl wget mkfs dd chmod chown terraform tofu destroy shutdown reboot eval base64 rmtree unlink shred wipefs kubectl DROP TRUNCATE FLUSHALL")

// scary holds for a text in which one of those stands as a word.
func scary(text string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
	}) {
		for _, s := range scaryWords {
			if word == s {
				return true
			}
		}
	}
	return false
}
