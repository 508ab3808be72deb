package hostexec

import "unicode/utf8"

// appendFold adds path to dst as a file system sees it that takes no notice of
// case: letters are lower case, characters without a form are gone. Slashes stay
// where they are among the names, so the n-th name is the n-th name.
func appendFold(dst []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c >= utf8.RuneSelf {
			return appendFoldRunes(dst, path[i:])
		}
		dst = append(dst, lower(c))
	}
	return dst
}

func appendFoldRunes(dst []byte, path string) []byte {
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		switch {
		case r < utf8.RuneSelf:
			dst = append(dst, lower(byte(r)))
		case r == '\u017f': // long s
			dst = append(dst, 's')
		case r == '\u212a': // the sign of Kelvin
			dst = append(dst, 'k')
		case !ignorable(r):
			dst = append(dst, path[i:i+n]...)
		}
		i += n
	}
	return dst
}

// fold is appendFold for a string, which is most often folded already.
func fold(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || lower(c) != c {
			return string(appendFold(make([]byte, 0, len(s)), s))
		}
	}
	return s
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// ignorable reports whether r is one of Unicode's default ignorable characters,
// which file systems that fold case drop from names.
func ignorable(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x3164, r == 0xfeff, r == 0xffa0,
		0x115f <= r && r <= 0x1160, 0x17b4 <= r && r <= 0x17b5, 0x180b <= r && r <= 0x180f,
		0x200b <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f,
		0xfe00 <= r && r <= 0xfe0f, 0xfff0 <= r && r <= 0xfff8, 0x1bca0 <= r && r <= 0x1bca3,
		0x1d173 <= r && r <= 0x1d17a, 0xe0000 <= r && r <= 0xe0fff:
		return true
	}
	return false
}
