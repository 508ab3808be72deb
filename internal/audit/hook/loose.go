package hook

import (
	"bytes"
	"encoding/json"
)

// happened holds for events after a call. Nothing can be allowed there any more.
func happened(event string) bool { return event == "PostToolUse" || event == "AfterTool" }

// loose reads the result of a call that is no strict JSON. Half of a character, or a name
// that is there twice, is what a stranger's server returned: that must not keep it from
// being judged. All texts in the result count, names too. What has not happened yet is
// read in one way, or refused.
func loose(data []byte) (Call, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return Call{}, false
	}
	var c Call
	if json.Unmarshal(members["hook_event_name"], &c.Event) != nil || !happened(c.Event) {
		return Call{}, false
	}
	for d := json.NewDecoder(bytes.NewReader(members[resultName])); ; {
		t, err := d.Token()
		if err != nil {
			return c, true // at its end: it was read before
		}
		if text, ok := t.(string); ok {
			c.Results = append(c.Results, text)
		}
	}
}
