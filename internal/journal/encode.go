package journal

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const timeForm = "2006-01-02T15:04:05.000Z"

// AppendJSON appends the record as it stands in a journal, without the newline.
// There is one form of a record and no other: a reader compares.
//
// It is written by hand because every connection waits for it, and because the
// standard library leaves characters as they are that fool a terminal.
func (r *Record) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"v":`...), int64(r.V), 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), r.Seq, 10)
	b = r.Time.UTC().AppendFormat(append(b, `,"time":"`...), timeForm)
	b = appendString(append(b, `","session":`...), r.Session, maxWord)
	if r.V != unchained {
		b = append(r.Prev.appendHex(append(b, `,"prev":"`...)), '"')
	}
	b = appendString(append(b, `,"kind":`...), r.Kind, maxWord)
	b = appendString(append(b, `,"event":`...), r.Event, maxWord)

	b = appendNumber(b, `,"conn":`, r.Conn)
	b = appendField(b, `,"via":`, r.Via, maxWord)
	b = appendField(b, `,"protocol":`, r.Protocol, maxWord)
	b = appendField(b, `,"name":`, r.Name, maxText)
	b = appendField(b, `,"addr":`, r.Addr, maxText)
	b = appendNumber(b, `,"port":`, uint64(r.Port))
	b = appendField(b, `,"method":`, r.Method, maxWord)
	b = appendField(b, `,"secret":`, r.Secret, maxText)
	b = appendField(b, `,"verdict":`, r.Verdict, maxWord)
	b = appendField(b, `,"rule":`, r.Rule, maxText)
	b = appendField(b, `,"source":`, r.Source, maxText)
	b = appendField(b, `,"reason":`, r.Reason, maxText)
	if r.Event == End || r.Sent > 0 || r.Received > 0 {
		b = strconv.AppendInt(append(b, `,"sent":`...), max(r.Sent, 0), 10)
		b = strconv.AppendInt(append(b, `,"received":`...), max(r.Received, 0), 10)
	}
	b = appendNumber(b, `,"pid":`, uint64(max(r.PID, 0)))
	b = appendField(b, `,"command":`, r.Command, maxText)
	b = appendField(b, `,"state":`, r.State, maxWord)
	b = appendField(b, `,"mode":`, r.Mode, maxWord)
	b = appendNumber(b, `,"count":`, uint64(max(r.Count, 0)))
	b = appendField(b, `,"agent":`, r.Agent, maxText)
	b = appendField(b, `,"version":`, r.Version, maxText)
	b = appendField(b, `,"digest":`, r.Digest, maxText)
	if r.Kind == Session && r.Event == Exit || r.Code > 0 {
		b = strconv.AppendInt(append(b, `,"code":`...), int64(max(r.Code, 0)), 10)
	}
	b = appendNames(b, `,"list":`, r.List)
	return append(b, '}')
}

func appendNumber(b []byte, key string, n uint64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendUint(append(b, key...), n, 10)
}

func appendField(b []byte, key, s string, limit int) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s, limit)
}

// appendString appends s as a JSON string of printable ASCII.
func appendString(b []byte, s string, limit int) []byte {
	b = append(b, '"')
	s = bound(s, limit)
	if plain(s) {
		return append(append(b, s...), '"')
	}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		default:
			b = appendRune(b, r)
		}
	}
	return append(b, '"')
}

func appendRune(b []byte, r rune) []byte {
	switch {
	case ' ' <= r && r <= '~':
		return append(b, byte(r))
	case r <= 0xffff:
		return appendUnit(b, r)
	}
	high, low := utf16.EncodeRune(r)
	return appendUnit(appendUnit(b, high), low)
}

// plain holds for text that is in a record as it is, which nearly all is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func appendUnit(b []byte, u rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
}

const cutMark = "…"

// bound makes s valid UTF-8 of at most limit bytes. What was cut ends in a mark.
func bound(s string, limit int) string {
	if len(s) <= limit && utf8.ValidString(s) {
		return s
	}
	head := s[:min(len(s), limit+utf8.UTFMax)] // a rune that this splits is cut below
	clean := strings.ToValidUTF8(head, string(utf8.RuneError))
	if len(head) == len(s) && len(clean) <= limit {
		return clean
	}
	end := min(len(clean), limit-len(cutMark))
	for end < len(clean) && !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end] + cutMark
}
