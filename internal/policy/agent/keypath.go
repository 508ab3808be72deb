package agent

import (
	"strconv"
	"strings"
)

// split cuts dotted key paths into their keys.
func split(paths []string) [][]string {
	list := make([][]string, len(paths))
	for i, p := range paths {
		list[i] = strings.Split(p, ".")
	}
	return list
}

// matches reports whether a pattern names exactly this path.
func matches(patterns [][]string, path []string) bool {
	for _, p := range patterns {
		if len(p) == len(path) && leads(p, path) {
			return true
		}
	}
	return false
}

// leads reports whether the path is a beginning of what the pattern names.
func leads(pattern, path []string) bool {
	if len(path) > len(pattern) {
		return false
	}
	for i, key := range path {
		if pattern[i] != "*" && pattern[i] != key {
			return false
		}
	}
	return true
}

// spell writes a key path for people. A key is text from a file: one that is not
// a plain word is quoted, and one that could be a secret itself is not repeated.
func spell(path []string) string {
	words := make([]string, len(path))
	for i, key := range path {
		switch {
		case looksSecret(key):
			words[i] = "…"
		case isWord(key):
			words[i] = key
		default:
			words[i] = strconv.Quote(key)
		}
	}
	return strings.Join(words, ".")
}

func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !wordRune(r) }) < 0
}

func wordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
