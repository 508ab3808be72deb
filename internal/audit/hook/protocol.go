package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/strictjson"
)

// maxCall bounds what an agent may tell of one call. A file that it writes is in
// there whole.
const maxCall = 32 << 20

// Call is what an agent is about to do.
type Call struct {
	Event   string // PreToolUse, BeforeTool, UserPromptSubmit, SessionStart, …
	Tool    string
	Command string // of a tool that runs a command line
	Dir     string
	// Results are the texts that a tool returned, of a call that has happened.
	Results []string
}

// ReadCall reads what an agent sends.
func ReadCall(r io.Reader) (Call, error) {
	data, err := file.ReadAll(r, maxCall)
	if err != nil {
		return Call{}, fmt.Errorf("read the call: %w", err)
	}
	var c collector
	if err := strictjson.Walk(data, &c); err != nil {
		if call, ok := loose(data); ok {
			return call, nil
		}
		return Call{}, fmt.Errorf("read the call: %w", err)
	}
	if c.call.Event == "" {
		return Call{}, errors.New("read the call: it has no hook_event_name")
	}
	return c.call, nil
}

// resultName is the member with what a tool returned.
const resultName = "tool_response"

// collector takes the few texts out of a call that matter.
type collector struct {
	call   Call
	depth  int
	input  bool // inside of tool_input
	result int  // the depth below tool_response, 0 outside of it
}

func (c *collector) Enter(name strictjson.Text, kind strictjson.Kind) (bool, error) {
	if c.depth == 0 {
		if kind != strictjson.Object {
			return false, errors.New("not an object")
		}
		c.depth++
		return true, nil
	}
	if c.result > 0 || c.depth == 1 && name.Size() < 64 && name.String() == resultName {
		c.depth++
		c.result++
		return true, nil
	}
	if c.depth == 1 && name.Size() < 64 && name.String() == "tool_input" && kind == strictjson.Object {
		c.depth++
		c.input = true
		return true, nil
	}
	if c.input && name.Size() < 64 && name.String() == "command" {
		return false, errors.New("the command is not a text, and cannot be judged")
	}
	return false, nil
}

func (c *collector) Leave() {
	c.depth--
	c.input = false
	c.result = max(0, c.result-1)
}

func (c *collector) Scalar(name strictjson.Text, value strictjson.Scalar) error {
	if c.depth == 0 {
		return errors.New("not an object")
	}
	if c.result > 0 || c.depth == 1 && name.Size() < 64 && name.String() == resultName {
		if value.Kind == strictjson.String {
			c.call.Results = append(c.call.Results, value.Text.String())
		}
		return nil
	}
	if name.Size() > 64 {
		return nil
	}
	var to *string
	switch key := name.String(); {
	case c.input && key == "command":
		to = &c.call.Command
	case c.input:
		return nil
	case key == "hook_event_name":
		to = &c.call.Event
	case key == "tool_name":
		to = &c.call.Tool
	case key == "cwd":
		to = &c.call.Dir
	default:
		return nil
	}
	if value.Kind != strictjson.String {
		return fmt.Errorf("%q is not a text", name.String())
	}
	*to = value.Text.String()
	return nil
}

// Gate says whether an agent may work here at all.
type Gate struct {
	On     bool // it is asked for
	Inside bool // this is the inside of a sandbox
	Bare   bool // the administrator lets agents run without one
}

// closed holds where nothing may happen.
func (g Gate) closed() bool { return g.On && !g.Inside && !g.Bare }

const gateReason = "This machine lets agents work in a sandbox only, and this is not one. " +
	"Leave, and start with `ringfence claude`; or let the administrator make " + BarePath + "."

// Answer judges a call and returns what the agent is to be told; "" is nothing, and
// lets its own rules decide.
func Answer(agent string, c Call, where Where, g Gate) (string, Verdict) {
	switch c.Event {
	case "UserPromptSubmit":
		if g.closed() {
			return encode(map[string]any{"decision": "block", "reason": gateReason}), Verdict{Deny, "gate", gateReason}
		}
	case "SessionStart":
		if g.closed() {
			return encode(map[string]any{"continue": false, "stopReason": gateReason, "systemMessage": gateReason}), Verdict{Deny, "gate", gateReason}
		}
	case "PreToolUse", "BeforeTool":
		if g.closed() {
			v := Verdict{Deny, "gate", gateReason}
			return tell(agent, v), v
		}
		if c.Command == "" {
			break
		}
		v := Judge(c.Command, where)
		return tell(agent, v), v
	case "PostToolUse", "AfterTool": // see happened
		return warn(c), Verdict{}
	}
	return "", Verdict{}
}

// tell is a verdict in the words of the agent. One that knows no questions is told no.
func tell(agent string, v Verdict) string {
	if v.Decision == Pass {
		return ""
	}
	decision := v.Decision.String()
	reason := "ringfence: " + v.Reason
	if agent != "claude" && v.Decision == Ask {
		decision, reason = "deny", reason+" A person has to do that."
	}
	if agent == "gemini" {
		return encode(map[string]any{"decision": decision, "reason": reason})
	}
	return encode(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}})
}

func encode(v map[string]any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and truth values only
	}
	return string(out) + "\n"
}
