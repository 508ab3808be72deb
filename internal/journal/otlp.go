package journal

import (
	"encoding/json"
	"io"
	"strconv"
)

// The messages of OTLP in their JSON form: names in lowerCamelCase, 64-bit numbers as
// strings of digits, enums as numbers.
type (
	otlpLogs struct {
		ResourceLogs []otlpResourceLogs `json:"resourceLogs"`
	}
	otlpResourceLogs struct {
		Resource  otlpResource    `json:"resource"`
		ScopeLogs []otlpScopeLogs `json:"scopeLogs"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeLogs struct {
		Scope      otlpScope    `json:"scope"`
		LogRecords []otlpRecord `json:"logRecords"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	otlpRecord struct {
		TimeUnixNano         string          `json:"timeUnixNano"`
		ObservedTimeUnixNano string          `json:"observedTimeUnixNano"`
		SeverityNumber       int             `json:"severityNumber"`
		SeverityText         string          `json:"severityText"`
		EventName            string          `json:"eventName"`
		Body                 otlpValue       `json:"body"`
		Attributes           []otlpAttribute `json:"attributes"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string    `json:"stringValue,omitempty"`
		Bool   *bool      `json:"boolValue,omitempty"`
		Int    *string    `json:"intValue,omitempty"`
		Array  *otlpArray `json:"arrayValue,omitempty"`
	}
	otlpArray struct {
		Values []otlpValue `json:"values"`
	}
)

// Severities of OTLP.
const (
	severityInfo = 9
	severityWarn = 13
)

// Exported tells of the session whose records are exported.
type Exported struct {
	Session  string
	Version  string // of ringfence that exports
	Redacted bool
	Records  int
}

// OTLP writes records as OTLP logs in JSON, some hundred to a line: each line is a
// complete message that a collector's file receiver, or its HTTP endpoint, takes.
type OTLP struct {
	to    io.Writer
	about Exported
	batch []otlpRecord
}

// otlpBatch is how many records one message holds at most.
const otlpBatch = 500

// NewOTLP writes to w.
func NewOTLP(w io.Writer, about Exported) *OTLP {
	return &OTLP{to: w, about: about}
}

// Write adds a record.
func (o *OTLP) Write(r Record) error {
	o.batch = append(o.batch, otlpOf(r))
	if len(o.batch) < otlpBatch {
		return nil
	}
	return o.Flush()
}

// Flush writes what is left.
func (o *OTLP) Flush() error {
	if len(o.batch) == 0 {
		return nil
	}
	resource := otlpResource{[]otlpAttribute{text("service.name", "ringfence"), text("ringfence.session.id", o.about.Session),
		{"ringfence.redacted", otlpValue{Bool: &o.about.Redacted}}, number("ringfence.records", int64(o.about.Records))}}
	logs := otlpLogs{[]otlpResourceLogs{{resource, []otlpScopeLogs{{otlpScope{"ringfence.journal", o.about.Version}, o.batch}}}}}
	o.batch = nil
	b, err := json.Marshal(logs)
	if err != nil {
		return err
	}
	_, err = o.to.Write(append(escape(b), '\n'))
	return err
}

// escape makes ASCII of JSON, in which anything else stands in strings: also what is
// exported can be shown on a terminal as it is.
func escape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		out = appendRune(out, r)
	}
	return out
}

func text(key, s string) otlpAttribute { return otlpAttribute{key, otlpValue{String: &s}} }

func number(key string, n int64) otlpAttribute {
	s := strconv.FormatInt(n, 10)
	return otlpAttribute{key, otlpValue{Int: &s}}
}

func otlpOf(r Record) otlpRecord {
	at := strconv.FormatInt(r.Time.UnixNano(), 10)
	out := otlpRecord{TimeUnixNano: at, ObservedTimeUnixNano: at, SeverityNumber: severityInfo, SeverityText: "INFO",
		EventName: "ringfence." + r.Kind + "." + r.Event}
	if r.Verdict == Deny || r.Kind == Decoy || r.Event == Suspect || r.Event == Lost {
		out.SeverityNumber, out.SeverityText = severityWarn, "WARN"
	}
	body := r.Kind + " " + r.Event
	out.Body = otlpValue{String: &body}
	out.Attributes = append(out.Attributes, number("ringfence.seq", int64(r.Seq)))
	if r.Prev != (Hash{}) {
		out.Attributes = append(out.Attributes, text("ringfence.prev", r.Prev.String()))
	}
	for _, f := range []struct{ key, value string }{{"via", r.Via}, {"protocol", r.Protocol}, {"name", r.Name}, {"addr", r.Addr}, {"method", r.Method},
		{"secret", r.Secret}, {"verdict", r.Verdict}, {"rule", r.Rule}, {"source", r.Source}, {"reason", r.Reason}, {"command", r.Command},
		{"state", r.State}, {"mode", r.Mode}, {"agent", r.Agent}, {"version", r.Version}, {"digest", r.Digest}} {
		if f.value != "" {
			out.Attributes = append(out.Attributes, text("ringfence."+f.key, f.value))
		}
	}
	for _, f := range []struct {
		key   string
		value int64
	}{{"conn", int64(r.Conn)}, {"port", int64(r.Port)}, {"sent", r.Sent}, {"received", r.Received}, {"pid", int64(r.PID)}, {"count", int64(r.Count)}, {"code", int64(r.Code)}} {
		if f.value != 0 || f.key == "code" && r.Kind == Session && r.Event == Exit {
			out.Attributes = append(out.Attributes, number("ringfence."+f.key, f.value))
		}
	}
	if list := r.List.All(); len(list) > 0 {
		values := make([]otlpValue, len(list))
		for i := range list {
			values[i].String = &list[i]
		}
		out.Attributes = append(out.Attributes, otlpAttribute{"ringfence.list", otlpValue{Array: &otlpArray{values}}})
	}
	return out
}
