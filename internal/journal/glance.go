package journal

import (
	"bytes"
	"encoding/json"
	"time"
)

// A glance takes a few fields out of a line without reading all of it, for lists of
// thousands of sessions. It trusts the form that is written, in which a quote inside of
// a text is escaped: so a key is found only where it is one.

// glanceRecord takes what tells of a session out of its first line.
func glanceRecord(line []byte, session string) (r Record, ok bool) {
	switch {
	case bytes.HasPrefix(line, []byte(`{"v":2,"seq":`)):
		r.V = Version
	case bytes.HasPrefix(line, []byte(`{"v":1,"seq":`)):
		r.V = unchained
	default:
		return r, false
	}
	at, err := time.Parse(timeForm, field(line, `,"time":"`))
	if r.Session = field(line, `,"session":"`); err != nil || r.Session != session || line[len(line)-1] != '}' || !printable(line) {
		return Record{}, false
	}
	r.Time, r.Kind, r.Event = at, field(line, `,"kind":"`), field(line, `,"event":"`)
	if r.Kind == Session && r.Event == Begin {
		r.Name, r.Agent = field(line, `,"name":"`), field(line, `,"agent":"`)
		r.List, _ = MakeNames([]string{field(line, `,"list":["`)})
	}
	return r, known(r.Kind)
}

func printable(line []byte) bool {
	for _, c := range line {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// field is the text that follows the first key. It is empty where there is none.
func field(line []byte, key string) string {
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return ""
	}
	text := line[i+len(key):]
	escaped := false
	for end, c := range text {
		switch {
		case c == '\\':
			escaped = true
		case c == '"' && (end == 0 || !odd(text[:end])):
			if !escaped {
				return string(text[:end])
			}
			var s string
			if json.Unmarshal(line[i+len(key)-1:i+len(key)+end+1], &s) != nil {
				return ""
			}
			return s
		}
	}
	return ""
}

// odd reports whether b ends in an odd number of backslashes.
func odd(b []byte) bool { return (len(b)-len(bytes.TrimRight(b, `\`)))%2 == 1 }

// glanceEntry takes event and session out of a line of the register.
func glanceEntry(line []byte) (event, session string, ok bool) {
	session = field(line, `,"session":"`)
	return field(line, `,"event":"`), session, isSession(session)
}
