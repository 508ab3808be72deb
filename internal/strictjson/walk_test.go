package strictjson

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// teller writes down what it is told.
type teller struct {
	out  strings.Builder
	shut string // a name that is not entered
	stop string // a name at which to stop
}

var errStop = errors.New("stop")

func (t *teller) Enter(name Text, kind Kind) (bool, error) {
	fmt.Fprintf(&t.out, "%s%c ", name, kind)
	return t.shut == "" || name.String() != t.shut, nil
}

func (t *teller) Leave() { t.out.WriteString(". ") }

func (t *teller) Scalar(name Text, v Scalar) error {
	fmt.Fprintf(&t.out, "%s=%c%s ", name, v.Kind, v.Text)
	if t.stop != "" && name.String() == t.stop {
		return errStop
	}
	return nil
}

func TestWalkTellsWhatIsThere(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`null`, `=nnull `},
		{" \t\r\n-0.5e+10 ", `=0-0.5e+10 `},
		{`{}`, `{ . `},
		{`[ ]`, `[ . `},
		{`{"a":[1,true,false,"x"],"b":{"":null}}`, `{ a[ =01 =ttrue =ffalse ="x . b{ =nnull . . `},
		{`{"\u0061\/":"\ud83d\ude00\n\u0000"}`, "{ a/=\"\U0001F600\n\x00 . "},
		{`"ü€😀"`, `="ü€😀 `},
	} {
		v := &teller{}
		if err := Walk([]byte(tt.text), v); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		if got := v.out.String(); got != tt.want {
			t.Errorf("%s: told %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestWalkRefuses(t *testing.T) {
	var many strings.Builder
	for i := range MaxMembers + 1 {
		fmt.Fprintf(&many, `"%d":0,`, i)
	}
	for name, tt := range map[string]struct{ text, reason string }{
		"nothing":                 {``, "no value"},
		"white space alone":       {` `, "no value"},
		"byte order mark":         {"\ufeff{}", "no value"},
		"two values":              {`{} {}`, "something follows"},
		"a comma behind":          {`[1,]`, "no value"},
		"a comma behind a member": {`{"a":1,}`, "no name"},
		"a comment":               {`[/**/]`, "no value"},
		"single quotes":           {`{'a':1}`, "no name"},
		"a bare name":             {`{a:1}`, "no name"},
		"no colon":                {`{"a" 1}`, "no colon"},
		"no comma":                {`["a" "b"]`, "neither a comma"},
		"wrong end":               {`["a"}`, "neither a comma"},
		"cut":                     {`{"a":`, "no value"},
		"cut string":              {`"abc`, "without an end"},
		"cut escape":              {`"abc\`, "means nothing"},
		"cut code":                {`"\u12"`, "means nothing"},
		"bad escape":              {`"\x41"`, "means nothing"},
		"control character":       {"\"a\nb\"", "control character in a string"},
		"NUL":                     {"\"a\x00b\"", "control character in a string"},
		"NUL behind the value":    {"{}\x00", "something follows"},
		"not UTF-8":               {"\"\xff\"", "not UTF-8"},
		"overlong":                {"\"\xc0\xaf\"", "not UTF-8"},
		"surrogate in UTF-8":      {"\"\xed\xa0\x80\"", "not UTF-8"},
		"cut character":           {"\"\xe2\x82\"", "not UTF-8"},
		"lone high surrogate":     {`"\ud83d"`, "surrogate"},
		"lone low surrogate":      {`"\ude00"`, "surrogate"},
		"surrogates turned":       {`"\ude00\ud83d"`, "surrogate"},
		"high and a letter":       {`"\ud83d\u0041"`, "surrogate"},
		"leading zero":            {`01`, "something follows"},
		"plus":                    {`+1`, "no value"},
		"no digit":                {`-`, "no value"},
		"point":                   {`1.`, "after a point"},
		"exponent":                {`1e+`, "exponent"},
		"NaN":                     {`NaN`, "no value"},
		"half a word":             {`nul`, "no value"},
		"a word in capitals":      {`True`, "no value"},
		"twice":                   {`{"a":1,"a":2}`, "there before"},
		"twice, escaped":          {`{"a":1,"\u0061":2}`, "there before"},
		"twice, deep":             {`[{"x":{"ü":1,"\u00fc":2}}]`, "there before"},
		"empty name twice":        {`{"":1,"":2}`, "there before"},
		"escaped NUL in a name":   {`{"a\u0000":1}`, "control character in a name"},
		"escaped line in a name":  {`{"a\n":1}`, "control character in a name"},
		"too deep":                {strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), "too deeply"},
		"too many members":        {"{" + strings.TrimSuffix(many.String(), ",") + "}", "too many"},
	} {
		err := Walk([]byte(tt.text), &teller{})
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(bad.Reason, tt.reason) {
			t.Errorf("%s: %v, want one about %q", name, err, tt.reason)
		}
		if alone := Walk([]byte(tt.text), nil); fmt.Sprint(alone) != fmt.Sprint(err) {
			t.Errorf("%s: %v, without a visitor %v", name, err, alone)
		}
	}
}

func TestNamesOfOthersMayBeTheSame(t *testing.T) {
	text := `{"a":{"a":[{"a":1},{"a":2}]},"A":{"b":0},"b":{"b":1}}`
	if err := Walk([]byte(text), &teller{}); err != nil {
		t.Error(err)
	}
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if err := Walk([]byte(deep), &teller{}); err != nil {
		t.Error(err)
	}
}

// Objects are told from small to large, around where names move into a set.
func TestTheLastNameIsComparedWithTheFirst(t *testing.T) {
	for n := 1; n < 4*fewNames; n++ {
		var b strings.Builder
		b.WriteString(`{"first":0`)
		for i := range n {
			fmt.Fprintf(&b, `,"%d":{"first":1}`, i)
		}
		if err := Walk([]byte(b.String()+`}`), &teller{}); err != nil {
			t.Fatalf("%d members: %v", n+1, err)
		}
		for _, name := range []string{"first", "0", fmt.Sprint(n - 1)} {
			if err := Walk([]byte(b.String()+`,"`+name+`":0}`), &teller{}); err == nil {
				t.Fatalf("%d members and %q again: no error", n+1, name)
			}
		}
	}
}

func TestWhatIsNotEnteredIsCheckedAndNotTold(t *testing.T) {
	v := &teller{shut: "a"}
	if err := Walk([]byte(`{"a":{"x":[1]},"b":2}`), v); err != nil {
		t.Fatal(err)
	}
	if got, want := v.out.String(), `{ a{ b=02 . `; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if err := Walk([]byte(`{"a":{"x":1,"x":1}}`), &teller{shut: "a"}); err == nil {
		t.Error("no error about a name that is there twice in what was not entered")
	}
}

func TestTheVisitorCanStop(t *testing.T) {
	v := &teller{stop: "b"}
	if err := Walk([]byte(`{"a":1,"b":2,"c":`), v); err != errStop {
		t.Errorf("got %v", err)
	}
}

func TestPrefix(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{`"https://x"`, 4, "http"},
		{`"ab"`, 4, "ab"},
		{`"\u0068ttps:"`, 3, "htt"},
		{`"\ud83d\ude00abc"`, 2, "\U0001F600a"},
		{`"\n"`, 9, "\n"},
		{`""`, 9, ""},
	} {
		v := &prefix{n: tt.n}
		if err := Walk([]byte(tt.text), v); err != nil || v.got != tt.want {
			t.Errorf("%s, %d: %q, %v", tt.text, tt.n, v.got, err)
		}
	}
}

type prefix struct {
	n   int
	got string
}

func (p *prefix) Enter(Text, Kind) (bool, error) { return true, nil }
func (p *prefix) Leave()                         {}
func (p *prefix) Scalar(_ Text, s Scalar) error {
	p.got = string(s.Text.Prefix(nil, p.n))
	return nil
}

func TestWalkHardlyAllocates(t *testing.T) {
	text := []byte(`{"model":"x","messages":[{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("line\\n", 10000) + `"}]}]}`)
	v := &count{}
	if n := testing.AllocsPerRun(10, func() {
		if err := Walk(text, v); err != nil {
			t.Fatal(err)
		}
	}); n > 8 {
		t.Errorf("%v allocations", n)
	}
}

type count struct{ n int }

func (c *count) Enter(Text, Kind) (bool, error) { c.n++; return true, nil }
func (c *count) Leave()                         {}
func (c *count) Scalar(Text, Scalar) error      { c.n++; return nil }

func BenchmarkWalk(b *testing.B) {
	for name, text := range map[string]string{
		"plain":   `{"text":"` + strings.Repeat("the quick brown fox ", 10000) + `"}`,
		"lines":   `{"text":"` + strings.Repeat(`	if err != nil {\n\t\treturn err\n`, 6000)[1:] + `"}`,
		"umlauts": `{"text":"` + strings.Repeat("größer, weiß, über ", 10000) + `"}`,
		"members": "[" + strings.TrimSuffix(strings.Repeat(`{"type":"text","id":12,"name":"some","ok":true},`, 4000), ",") + "]",
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.ReplaceAll(text, "\t", `\t`))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Walk(text, &count{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
