package hostexec

import "testing"

// TestFitsState: state that git takes up again executes nothing and writes nowhere
// else, and what git itself writes passes.
func TestFitsState(t *testing.T) {
	for _, c := range []struct {
		path, content string
		fits          bool
	}{
		{"rebase-merge/strategy", "ort\n", true},
		{"rebase-merge/strategy", "x/run\n", false},
		{"rebase-merge/strategy", "mine\n", false},
		{"rebase-apply/strategy", "../run", false},
		{"rebase-merge/strategy", "", false},
		{"sequencer/opts", "[options]\n\tmainline = 1\n\tstrategy = recursive\n\tstrategy-option = ours\n\tgpg-sign = ABCD\n", true},
		{"sequencer/opts", "[options]\n\tstrategy = x/run\n", false},
		{"sequencer/opts", "[Options]\n\tStrategy = x/run\n", false},
		{"sequencer/opts", "[options]\n\tstrategy = ort\n\tstrategy = x/run\n", false},
		{"sequencer/opts", "[include]\n\tpath = x\n", false},
		{"sequencer/opts", "[options]\n\tgpg-sign = /etc/key\n", false},
		{"rebase-apply/apply-opt", "\n", true},
		{"rebase-apply/apply-opt", " '-p1' '-C3' '--whitespace=fix' '--ignore-whitespace'\n", true},
		{"rebase-apply/apply-opt", " '--build-fake-ancestor=/tmp/x'\n", false},
		{"rebase-apply/apply-opt", " '--build-fake-anc' '/tmp/x'\n", false},
		{"rebase-apply/apply-opt", " '--directory=x'\n", false},
		{"rebase-merge/gpg_sign_opt", "-S\n", true},
		{"rebase-merge/gpg_sign_opt", "-Sa@b.test\n", true},
		{"rebase-merge/gpg_sign_opt", "-S/home/x/key\n", false},
		{"BISECT_START", "main\n", true},
		{"BISECT_START", "feature/x", true},
		{"BISECT_START", commit + "\n", true},
		{"BISECT_START", "--force\n", false},
	} {
		s, form := shapeOf(c.path, false)
		if err := Fits(form, []byte(c.content), nil); s != known || (err == nil) != c.fits {
			t.Errorf("%s with %q: shape %v, %v", c.path, c.content, s, err)
		}
	}
}
