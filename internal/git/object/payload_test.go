package object

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	tree1  = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	tree2  = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	parent = "1111111111111111111111111111111111111111"
	person = "A U Thor <a@example.test> 1700000000 +0100"
	commit = "tree " + tree1 + "\nauthor " + person + "\ncommitter " + person + "\n\nsubject\n"
	tag    = "object " + tree1 + "\ntype tree\ntag v1.0\ntagger " + person + "\n\nsubject\n"
)

var payloads = []struct {
	name, in string
	taken    bool
	git      bool // whether git takes it too; only looked at if we do
}{
	{"commit", commit, true, true},
	{"tag", tag, true, true},
	{"parents", replace(commit, "author", "parent "+parent+"\nparent "+parent+"\nauthor"), true, true},
	{"SHA-256", replace(commit, tree1, tree2), true, false},
	{"mixed ids", replace(commit, "author", "parent "+tree2+"\nauthor"), false, false},
	{"empty message", replace(commit, "subject\n", ""), true, true},
	{"no newline at the end", replace(commit, "subject\n", "subject"), true, true},
	{"CRLF message", replace(commit, "subject\n", "subject\r\nbody\r\n"), true, true},
	{"lone CR", replace(commit, "subject\n", "subject\rbody\n"), false, false},
	{"CR at the end", replace(commit, "subject\n", "subject\r"), false, false},
	{"UTF-8", replace(commit, "A U", "Ä Ü"), true, true},
	{"latin-1 undeclared", replace(commit, "subject", "s\xfcbject"), false, false},
	{"latin-1 author undeclared", replace(commit, "A U", "\xc4 U"), false, false},
	{"latin-1", replace(commit, "\n\nsubject", "\nencoding ISO-8859-1\n\ns\xfcbject"), true, true},
	{"UTF-7", replace(commit, "\n\nsubject", "\nencoding UTF-7\n\nsubject"), false, false},
	{"UTF-16LE", replace(commit, "\n\nsubject", "\nencoding utf_16le\n\nsubject"), false, false},
	{"encoding with a newline trick", replace(commit, "\n\nsubject", "\nencoding a b\n\nsubject"), false, false},
	{"encoding twice", replace(commit, "\n\nsubject", "\nencoding a\nencoding b\n\nsubject"), false, false},
	{"empty name", replace(commit, "author A U Thor <", "author  <"), true, true},
	{"mergetag", replace(commit, "\n\nsubject", "\nmergetag object "+tree1+"\n type commit\n tag v1\n tagger "+person+"\n \n a\tb\n -----BEGIN PGP SIGNATURE-----\n\nsubject"), true, true},
	{"header of Mercurial", replace(commit, "\n\nsubject", "\nHG:extra branch:x\nchange-id abc\n\nsubject"), true, true},

	{"nothing", "", false, false},
	{"text", "please sign this contract\n\nor else\n", false, false},
	{"blank line first", "\n" + commit, false, false},
	{"BOM", "\ufeff" + commit, false, false},
	{"blank line early", replace(commit, "author", "\nauthor"), false, false},
	{"blank line before the committer", replace(commit, "committer", "\ncommitter"), false, false},
	{"two blank lines", replace(commit, "\n\n", "\n\n\n"), false, false},
	{"no blank line", replace(commit, "\n\nsubject\n", "\n"), false, false},
	{"CRLF headers", strings.ReplaceAll(commit, "\n", "\r\n"), false, false},
	{"CR in a header", replace(commit, "Thor", "Th\ror"), false, false},
	{"ESC in a header", replace(commit, "Thor", "Th\x1bor"), false, false},
	{"NUL", replace(commit, "subject", "sub\x00ject"), false, false},
	{"upper case id", replace(commit, tree1, strings.ToUpper(tree1)), false, false},
	{"short id", replace(commit, tree1, tree1[:39]), false, false},
	{"long id", replace(commit, tree1, tree1+"0"), false, false},
	{"two trees", replace(commit, "tree", "tree "+tree1+"\ntree"), false, false},
	{"no tree", replace(commit, "tree "+tree1+"\n", ""), false, false},
	{"no author", replace(commit, "author "+person+"\n", ""), false, false},
	{"two authors", replace(commit, "author", "author "+person+"\nauthor"), false, false},
	{"two committers", replace(commit, "committer", "committer "+person+"\ncommitter"), false, false},
	{"late committer", replace(commit, "\n\nsubject", "\nx y\ncommitter "+person+"\n\nsubject"), false, false},
	{"late parent", replace(commit, "\n\nsubject", "\nparent "+tree1+"\n\nsubject"), false, false},
	{"late Parent", replace(commit, "\n\nsubject", "\nParent "+tree1+"\n\nsubject"), false, false},
	{"committer before author", "tree " + tree1 + "\ncommitter " + person + "\nauthor " + person + "\n\nx\n", false, false},
	{"gpgsig", replace(commit, "\n\nsubject", "\ngpgsig -----BEGIN\n x\n\nsubject"), false, false},
	{"gpgsig-sha256", replace(commit, "\n\nsubject", "\ngpgsig-sha256 -----BEGIN\n x\n\nsubject"), false, false},
	{"GpgSig", replace(commit, "\n\nsubject", "\nGpgSig x\n\nsubject"), false, false},
	{"gpgsig alone", replace(commit, "\n\nsubject", "\ngpgsig\n\nsubject"), false, false},
	{"continued committer", replace(commit, "\n\nsubject", "\n more\n\nsubject"), false, false},
	{"header without a value", replace(commit, "\n\nsubject", "\nword\n\nsubject"), false, false},
	{"two addresses", replace(commit, "<a@example.test>", "<b@example.test> <a@example.test>"), false, false},
	{"address in the name", replace(commit, "A U Thor", "A <b@x.test> U"), false, false},
	{"nested address", replace(commit, "<a@", "<<a@"), false, false},
	{"no date", replace(commit, " 1700000000 +0100", ""), false, false},
	{"negative date", replace(commit, "1700000000", "-1"), false, false},
	{"padded date", replace(commit, "1700000000", "01700000000"), false, false},
	{"far date", replace(commit, "1700000000", "18446744073709551615"), false, false},
	{"two spaces before the date", replace(commit, "> 17", ">  17"), false, false},
	{"zone by name", replace(commit, "+0100", "UTC"), false, false},
	{"zone of three digits", replace(commit, "+0100", "+100"), false, false},
	{"after the zone", replace(commit, "+0100", "+0100 "), false, false},
	{"push certificate", "certificate version 0.1\npusher k " + person + "\nnonce x\n\n" + tree1 + " " + tree1 + " refs/heads/main\n", false, false},
	{"SSH challenge", "\x00\x00\x00\x20" + strings.Repeat("x", 32) + "2\x00\x00\x00\x04root", false, false},

	{"tag of a tag of what", replace(tag, "type tree", "type branch"), false, false},
	{"tag without a tagger", replace(tag, "tagger "+person+"\n", ""), false, false},
	{"tag with a header", replace(tag, "\n\nsubject", "\nencoding x\n\nsubject"), false, false},
	{"tag that is signed", replace(tag, "subject\n", "subject\n-----BEGIN SSH SIGNATURE-----\nx\n"), false, false},
	{"tag that quotes", replace(tag, "subject\n", "subject\n> -----BEGIN SSH SIGNATURE-----\nx\n"), true, true},
	{"tag with a space", replace(tag, "v1.0", "v1 0"), false, false},
	{"tag like an option", replace(tag, "v1.0", "-v1"), false, false},
	{"tag that climbs", replace(tag, "v1.0", "../v1"), false, false},
	{"tag in a directory", replace(tag, "v1.0", "rel/v1"), true, true},
	{"tag lock", replace(tag, "v1.0", "v1.lock"), false, false},
}

func replace(s, from, to string) string { return strings.Replace(s, from, to, 1) }

// TestParse: what we take git takes, and calls by the same name.
func TestParse(t *testing.T) {
	w := newWorld(t)
	w.git(".", "init", "-q", "r")
	for _, tt := range payloads {
		o, err := Parse([]byte(tt.in))
		if (err == nil) != tt.taken {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil && tt.git {
			if out, err := w.try("r", tt.in, "hash-object", "--stdin", "-t", string(o.Type)); err != nil {
				t.Errorf("%s: git does not take it: %v %s", tt.name, err, out)
			}
		}
		if strings.Contains(strings.ToLower(tt.name), "gpgsig") && !errors.Is(err, ErrSigned) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestParseFields(t *testing.T) {
	o, err := Parse([]byte("tree " + tree1 + "\nparent " + tree1 + "\nauthor Ä <b@x.test> 0 -1130\ncommitter " + person + "\nencoding latin1\nmergetag x\n y\nHG:x z\n\n s\x1b\xfcbject \nbody"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(o.Type, o.Tree, o.Parents, o.Author.Name, o.Author.Email, o.Author.Time.Unix(), o.Author.Zone, o.Maker.Name, o.Maker.Email,
		o.Encoding, o.Headers, o.Subject(100), o.Subject(4))
	want := "commit " + tree1 + " [" + tree1 + "] Ä b@x.test 0 -1130 A U Thor a@example.test latin1 [mergetag HG:x] s??bject s??b\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if o, err = Parse([]byte(tag)); err != nil || o.Type != Tag || o.Target.String() != tree1 || o.TargetType != Tree || o.Name != "v1.0" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestParseBounds(t *testing.T) {
	for name, in := range map[string]string{
		"long":     commit + strings.Repeat("x", MaxPayload),
		"parents":  replace(commit, "author", strings.Repeat("parent "+tree1+"\n", maxParents+1)+"author"),
		"headers":  replace(commit, "\n\nsubject", strings.Repeat("\na b", maxHeaders+1)+"\n\nsubject"),
		"name":     replace(commit, "Thor", strings.Repeat("x", maxName)),
		"tag name": replace(tag, "v1.0", strings.Repeat("x", maxName+1)),
	} {
		if _, err := Parse([]byte(in)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestParseLikeGit builds payloads from pieces: what we take, git's own check of
// objects takes.
func TestParseLikeGit(t *testing.T) {
	w := newWorld(t)
	w.git(".", "init", "-q", "r")
	piece := rapid.SampledFrom([]string{"tree " + tree1 + "\n", "parent " + parent + "\n", "author " + person + "\n", "committer " + person + "\n",
		"object " + tree1 + "\n", "type commit\n", "tag v1\n", "tagger " + person + "\n", "\n", "encoding x\n", "gpgsig x\n", " x\n", "a b\n", "m\n", "<", ">", " ", "\t"})
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		start := rapid.SampledFrom([]string{"", strings.TrimSuffix(commit, "\nsubject\n"), strings.TrimSuffix(tag, "\nsubject\n"), "tree " + tree1 + "\n"}).Draw(rt, "start")
		head, message := rapid.SliceOfN(piece, 0, 2).Draw(rt, "headers"), rapid.SliceOfN(piece, 0, 4).Draw(rt, "message")
		in := start + strings.Join(head, "") + "\n" + strings.Join(message, "")
		o, err := Parse([]byte(in))
		if err != nil {
			return
		}
		taken++
		if _, err := w.try("r", in, "hash-object", "--stdin", "-t", string(o.Type)); err != nil {
			rt.Errorf("%q is a %s to us and not to git", in, o.Type)
		}
	})
	if taken == 0 {
		t.Error("not one was taken")
	}
}

// FuzzParse: what is taken has exactly the headers that were understood, in
// git's form, and there is no place left for a signature or another person.
func FuzzParse(f *testing.F) {
	for _, tt := range payloads {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Parse(b)
		if err != nil {
			if o != nil {
				t.Errorf("both %+v and %v", o, err)
			}
			return
		}
		in := string(b)
		var head string
		switch o.Type {
		case Commit:
			head = "tree " + o.Tree.String() + "\n"
			for _, p := range o.Parents {
				head += "parent " + p.String() + "\n"
			}
			head += "author " + o.Author.line() + "\ncommitter " + o.Maker.line() + "\n"
			if o.Encoding != "" {
				head += "encoding " + o.Encoding + "\n"
			}
		case Tag:
			head = "object " + o.Target.String() + "\ntype " + string(o.TargetType) + "\ntag " + o.Name + "\ntagger " + o.Maker.line() + "\n"
		default:
			t.Fatalf("type %q", o.Type)
		}
		rest, ok := strings.CutPrefix(in, head)
		if !ok {
			t.Fatalf("%q does not start with %q", in, head)
		}
		others, ok := strings.CutSuffix(rest, "\n"+o.Message)
		if !ok || others != "" && !strings.HasSuffix(others, "\n") || strings.Contains(others, "\n\n") || strings.ContainsAny(others, "\x00\r\x1b") {
			t.Fatalf("%q before the message %q", others, o.Message)
		}
		for line := range strings.Lines(others) {
			name, _, _ := strings.Cut(strings.ToLower(line), " ")
			if strings.HasPrefix(name, "gpgsig") || ours[name] {
				t.Errorf("header %q", line)
			}
		}
		if s := o.Subject(72); len(s) > 72 || strings.ContainsAny(s, "\n\r\x1b\x00") {
			t.Errorf("subject %q", s)
		}
	})
}

func (p Person) line() string {
	return fmt.Sprintf("%s <%s> %d %s", p.Name, p.Email, p.Time.Unix(), p.Zone)
}
