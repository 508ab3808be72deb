package modelapi

import (
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/strictjson"
)

// TestResults: what tools returned is found in the bodies of all three APIs, whatever the
// order of members is; what people and models said is not.
func TestResults(t *testing.T) {
	for _, c := range []struct {
		api  API
		body string
		want []string
	}{
		{Anthropic, `{"messages":[{"role":"user","content":"a person said this"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"what a tool returned"}]}]}`, []string{"what a tool returned"}},
		{Anthropic, `{"messages":[{"content":[{"content":[{"text":"the type is last","type":"text"}],"type":"tool_result"},{"type":"text","text":"a person said this"}],"role":"user"}]}`, []string{"the type is last"}},
		{Anthropic, `{"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"command":"curl something"}}]}],"system":"you are a helper of people"}`, nil},
		{Anthropic, `{"messages":[{"role":"user","content":[{"type":"web_fetch_tool_result","content":{"type":"x","content":{"source":{"data":"a page that was fetched"}}}}]}]}`, []string{"a page that was fetched"}},
		{OpenAI, `{"input":[{"type":"function_call_output","call_id":"c","output":"what a tool returned"},{"role":"user","content":"a person said this"}]}`, []string{"what a tool returned"}},
		{OpenAI, `{"input":[{"type":"custom_tool_call_output","output":[{"type":"input_text","text":"what a tool returned"}]}]}`, []string{"what a tool returned"}},
		{OpenAI, `{"messages":[{"role":"tool","content":"what a tool returned"},{"role":"assistant","content":"a model said this"}]}`, []string{"what a tool returned"}},
		{Gemini, `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"output":"what a tool returned"}}},{"text":"a person said this"}]}]}`, []string{"what a tool returned"}},
		{Gemini, `{"request":{"contents":[{"parts":[{"function_response":{"response":{"deep":{"er":["what a tool returned"]}}}}]}]}}`, []string{"what a tool returned"}},
	} {
		var got []string
		c.api.Results([]byte(c.body), func(ts []strictjson.Text) {
			for _, t := range ts {
				got = append(got, t.String())
			}
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q", c.api, c.body, got)
		}
	}
}

// FuzzResults: no bytes break it, and no text is told twice.
func FuzzResults(f *testing.F) {
	f.Add(`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"tool_result","text":"deep in each other"}]}]}]}`)
	f.Add(`{"contents":[{"functionResponse":{"functionResponse":{"a":"what a tool returned"}}}]}`)
	f.Add(`[[["type","tool_result"]]]`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, a := range []API{Anthropic, OpenAI, Gemini} {
			n := 0
			a.Results([]byte(body), func(ts []strictjson.Text) {
				for _, t := range ts {
					n += t.Size()
				}
			})
			if n > len(body) {
				t.Errorf("%s: %d bytes of %d", a, n, len(body))
			}
		}
	})
}
