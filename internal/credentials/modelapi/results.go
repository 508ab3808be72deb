package modelapi

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/strictjson"
)

// shortestResult is how long a text is at least that could be an order.
const shortestResult = 12

// Results calls each with what a tool returned, one call for one result with all of its
// texts, in a body that was judged: what strangers wrote comes to a model by them. What a
// person and the model said is not among them. The texts are each's to keep.
func (a API) Results(body []byte, each func([]strictjson.Text)) {
	if err := strictjson.Walk(body, &results{api: a, each: each}); err != nil {
		return // it was judged, and read to its end
	}
}

// results collects texts until it is known whether what holds them is a result: a block
// may say so at its end.
type results struct {
	api   API
	each  func([]strictjson.Text)
	texts []strictjson.Text
	open  []resultFrame
}

type resultFrame struct {
	from   int  // the texts that it holds
	object bool // or an array
	result bool
}

func (r *results) Enter(name strictjson.Text, kind strictjson.Kind) (bool, error) {
	f := resultFrame{from: len(r.texts), object: kind == strictjson.Object}
	if r.api == Gemini && name.Size() < 64 {
		n := strings.ToLower(strings.ReplaceAll(name.String(), "_", ""))
		f.result = n == "functionresponse" || n == "codeexecutionresult"
	}
	r.open = append(r.open, f)
	return true, nil
}

// Leave hands on what a result holds. What lies in no result is forgotten with the
// outermost thing that could have been one.
func (r *results) Leave() {
	f := r.open[len(r.open)-1]
	r.open = r.open[:len(r.open)-1]
	if f.result && len(r.texts) > f.from {
		r.each(slices.Clone(r.texts[f.from:]))
	}
	if f.result || len(r.open) <= 2 { // the body, and its list of messages
		r.texts = r.texts[:f.from]
	}
}

func (r *results) Scalar(name strictjson.Text, s strictjson.Scalar) error {
	if s.Kind != strictjson.String || len(r.open) == 0 {
		return nil
	}
	if top := &r.open[len(r.open)-1]; top.object && name.Size() < 16 && s.Text.Size() < 64 && r.api.marksResult(strings.ToLower(name.String()), s.Text.String()) {
		top.result = true
		return nil
	}
	if s.Text.Size() >= shortestResult {
		r.texts = append(r.texts, s.Text)
	}
	return nil
}

// marksResult holds for the member by which an object says that it is what a tool
// returned.
func (a API) marksResult(name, value string) bool {
	switch a {
	case Anthropic:
		return name == "type" && strings.HasSuffix(value, "tool_result")
	case OpenAI:
		return name == "type" && strings.HasSuffix(value, "_output") || name == "role" && (value == "tool" || value == "function")
	}
	return false
}
