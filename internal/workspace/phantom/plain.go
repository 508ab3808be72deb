package phantom

import (
	"net/netip"
	"strings"
)

// wordy reports whether a text is a word of the dictionary, or looks like one: few
// letters in the order of a language, then no more than four digits.
func wordy(s string) bool {
	if words[strings.ToLower(s)] {
		return true
	}
	body := strings.TrimRight(s, digits)
	if len(s)-len(body) > 4 || len(body) > 12 || !allIn(body, letters) {
		return false
	}
	return len(body) < 3 && len(s) < 5 || cased(body) && spoken(body)
}

// cased: all small, all large, or each hump of three letters or more.
func cased(s string) bool {
	if s == strings.ToUpper(s) || s == strings.ToLower(s) {
		return true
	}
	hump := 3
	for i := range len(s) {
		if isUpper(s[i]) {
			if hump < 3 {
				return false
			}
			hump = 0
		}
		hump++
	}
	return hump >= 3
}

// spoken: a vowel, and no more than four consonants in a row.
func spoken(s string) bool {
	vowels, row := 0, 0
	for i := range len(s) {
		row++
		if strings.IndexByte("aeiouyAEIOUY", s[i]) >= 0 {
			vowels, row = vowels+1, 0
		}
		if row > 4 {
			return false
		}
	}
	return vowels > 0
}

// compound reports whether all parts of a text are good, between any of seps.
func compound(s, seps string, good func(string) bool) bool {
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(seps, r) }) {
		if !good(part) {
			return false
		}
	}
	return len(s) <= maxName && strings.Trim(s, seps) != ""
}

func inDictionary(s string) bool { return words[strings.ToLower(s)] || len(s) <= 2 && allIn(s, digits) }

var (
	scalarForm  = lazily(`^(v?\d{1,4}(\.\d{1,4}){1,3}|\d{4}-\d\d-\d\d|\d{1,2}:\d\d(:\d\d)?|\d{1,6} ?(ns|us|ms|s|m|h|d|k|kb|mb|gb|kib|mib|gib|K|M|G|KB|MB|GB|Ki|Mi|Gi|%)|[a-z]{2}[-_][A-Z]{2}(\.UTF-8|\.utf8)?)$`)
	reference   = lazily(`^\$\{[A-Z][A-Z0-9_]{0,63}\}$|^\{\{-? *[$.A-Za-z][A-Za-z0-9_.$| ]{0,120}-?\}\}$`)
	cipher      = lazily(`^ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*,iv:[A-Za-z0-9+/=]+,tag:[A-Za-z0-9+/=]+,type:[a-z]+\]$`)
	switches    = lazily(`^(?i:true|false|yes|no|on|off|null|none|nil|enabled|disabled)$`)
	numberForm  = lazily(`^[-+]?\d+(\.\d+)?([eE][-+]?\d{1,3})?$`)
	keyFilePath = lazily(`^[A-Za-z0-9_./~-]+\.(pem|key|p8|p12|pfx|jks|json|crt|cer|pub)$`)
)

// isPath: parts that are words, after a slash or a dot or with two of them at least.
func isPath(v string) bool {
	rest := strings.TrimPrefix(v, "~")
	if !strings.Contains(rest, "/") || len(v) > maxName || strings.Contains(rest, "//") {
		return false
	}
	return compound(rest, "/", segment)
}

// segment is one part of a path: words and small numbers, of these not many.
func segment(s string) bool { return s == "*" || allIn(s, ".") || few(s) && compound(s, "-_.", wordy) }

// few: a serial number is made of many short parts that hold digits.
func few(s string) bool {
	row := 0
	for i := range len(s) {
		if isDigit(s[i]) && (i == 0 || !isDigit(s[i-1])) {
			row++
		}
	}
	return row <= 2
}

// isHost: a name of labels that are words, or an address; with a port if need be.
func isHost(v string) bool {
	host, port, found := strings.Cut(strings.TrimPrefix(v, "tcp:"), ":")
	if !found {
		host, port, found = strings.Cut(host, ",") // as SQL Server has it
	}
	if found && (len(port) > 5 || !only(port, digits)) || !found && !strings.Contains(host, ".") {
		return isAddress(v)
	}
	return isAddress(host) || compound(host, ".", label) && domains[strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])] ||
		found && words[strings.ToLower(host)] && !people[strings.ToLower(host)] // db:5432
}

// people are words that a password follows, and no port.
var people = set("admin root user users guest login account")

// domains end the name of a host that has no port to tell it from other words.
var domains = set(`com org net io dev app local localhost internal lan home corp test example invalid cloud co ai de uk eu fr nl us ca ch at es it se no
	fi dk pl cz be au nz jp cn in br me sh so tv gg xyz tech info biz gov edu int svc`)

func label(s string) bool { return few(s) && compound(s, "-_", wordy) }

func isAddress(v string) bool {
	v, _, _ = strings.Cut(v, "/")
	_, err := netip.ParseAddr(v)
	if err != nil {
		_, err = netip.ParseAddrPort(v)
	}
	return err == nil && len(v) <= 47 && !strings.Contains(v, "%")
}

// plain reports whether a value under a key that names no secret can stay.
func plain(v string) bool {
	switch {
	case len(v) > maxName || !allIn(v, alnums+"_.-/:,~*+% "):
		return false
	case scalarForm().MatchString(v), isAddress(v):
		return true
	case !strings.ContainsAny(v, letters):
		return false
	case wordy(v), compound(v, "-_.,:+ /", inDictionary), isPath(v), isHost(v):
		return true
	}
	if strings.Contains(v, ",") {
		return compound(v, ", ", func(s string) bool { return wordy(s) || isHost(s) })
	}
	return false
}
