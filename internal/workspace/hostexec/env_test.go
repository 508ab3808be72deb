package hostexec

import (
	"regexp"
	"testing"
)

// dotenvName finds some variables that count, as the dotenv of Gemini CLI 0.61 does: its
// blanks are those of JavaScript, and its lines end where those of JavaScript do.
var dotenvName = regexp.MustCompile("(?:^|[\\n\\r\u2028\u2029])[\\s\\v\u00a0\ufeff\\p{Zs}\u2028\u2029]*(?:export[\\s\\v\u00a0\ufeff\\p{Zs}\u2028\u2029]+)?(NODE_OPTIONS|PATH|LD_PRELOAD)(?:[\\s\\v\u00a0\ufeff\\p{Zs}\u2028\u2029]*=|:[\\s\\v\u00a0\ufeff\\p{Zs}\u2028\u2029]+)")

// TestEnvNames: what programs load by themselves is judged by content, at any depth, and
// a link there is held.
func TestEnvNames(t *testing.T) {
	r, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for rel, loaded := range map[string]bool{
		".env": true, "a/b/.env": true, ".ENV": true, ".env.local": true, "x/.env.production.local": true, ".flaskenv": true, ".rbenv-vars": true,
		".\u200benv": true, ".github/.env": true, "node_modules/x/.env": true, ".env.sh": true, ".env.json": true,
		".env.example": false, ".env.local.example": false, ".environment": false, "env": false, "a.env": false, ".env-x": false, "README.md": false,
	} {
		file, link, dir := r.JudgeIn(nil, rel, KindFile), r.JudgeIn(nil, rel, KindLink), r.JudgeIn(nil, rel, KindDir)
		if (file.Form == FormEnv) != loaded || file.Hold || link.Hold != loaded || dir.Form != FormAny || dir.Hold {
			t.Errorf("%q: a file %+v, a link %+v, a directory %+v", rel, file, link, dir)
		}
	}
	for _, held := range []string{".envrc", ".ringfence.env", ".claude/.env", ".gemini/.env", ".codex/.env", ".qwen/.env", ".git/.env"} {
		if v := r.Judge(held, false); !v.Hold && v.Form != FormEnv {
			t.Errorf("%q: %+v", held, v)
		}
	}
}

func TestEnvLinks(t *testing.T) {
	r, _ := Builtin()
	v := r.JudgeLink("a/.env")
	for target, passes := range map[string]bool{
		"../.env": true, ".env.local": true, "../b/.env": true,
		"x": false, "../x/": false, ".env/": false, ".env/..": false, "/etc/.env": false, ".env.example": false, "": false, ".": false,
	} {
		if r.Leads(v, target) != passes {
			t.Errorf("a link to %q: %v", target, !passes)
		}
	}
	if r.Leads(r.JudgeLink(".envrc"), ".env") || r.Leads(r.JudgeLink(".claude"), ".env") {
		t.Error("a link that another rule holds passes")
	}
	if Link(".env", "x.txt").Rank != Unasked || Link("a/.env", "../.env") != nil {
		t.Error(Link(".env", "x.txt"), Link("a/.env", "../.env"))
	}
}

func TestFitsEnv(t *testing.T) {
	for _, c := range []struct {
		old, new string
		fits     bool
	}{
		{"", "", true}, {"", "PORT=3000\n# a comment\n\nexport NAME='a b'\nKEY=\"x\ny\"\n", true}, {"", "PORT=1\r\nB=2\r\n", true},
		{"", "NODE_OPTIONS=--require ./x.js\n", false}, {"", "A=1\nexport\tNODE_OPTIONS = x\n", false}, {"", "'NODE_OPTIONS'=x", false},
		{"", "NODE_OPTIONS\n=x", false}, {"", "NODE_OPTIONS: x", false}, {"", "A='\nNODE_OPTIONS=x\n'", false}, {"", "RIPGREP_CONFIG_PATH=./rg\n", false},
		{"", "GEMINI_CLI_IDE_SERVER_STDIO_COMMAND=./x\n", false}, {"", "GEMINI_SYSTEM_MD=./x\n", false}, {"", "LD_PRELOAD=./x.so\n", false}, {"", "PATH=.\n", false},
		{"", "NODE\\_OPTIONS=x\n", false}, {"", "A=$(touch x)\n", false}, {"", "A=\"${B:-$(id)}\"\n", false}, {"", "A=$B\n", true},
		// As Ruby's dotenv reads them: it unescapes and puts in variables before it runs what is in $( ).
		{"", "A=$\\(touch x)\n", false}, {"", "A=\"$\\(touch x)\"\n", false}, {"", "B='$'\nA=${B}(touch x)\n", false}, {"", "A=\"\n# $(touch x)\n\"\n", false}, {"", "A=\"\n; $\\(touch x)\n\"\n", false},
		{"", "B='$'\nC='(touch x)'\nA=$B$C\n", false}, {"", "C='(touch x)'\nA=$${C}\n", false},
		{"", "# made by $(openssl rand 8)\nA=1 (or 2)\nB=postgres://$C@host\n", true}, {"", "# (or not)\nA=${B}:${C}\n", true},
		{"", "GOOGLE_APPLICATION_CREDENTIALS=./x.json\n", false}, {"", "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1\n", false}, {"", "AWS_CONFIG_FILE=./x\n", false}, {"", "DOCKER_CONFIG=./x\n", false}, {"", "MANPAGER=./x\n", false},
		{"", "GOOGLE_CLOUD_PROJECT=x\nAWS_REGION=y\nDATABASE_URL=z\nFLASK_APP=a\n", true},
		{"", "A=1\rB=2\n", false}, {"", "# hi\u2028NODE_OPTIONS=x\n", false}, {"", "A=1\u00a0\n", false}, {"", "A=\xff\n", false}, {"", "A=1\x00\n", false}, {"", "\ufeffA=1\n", false},
		// What was there in the same way was a person's.
		{"OPENAI_API_KEY=x\nA=1\n", "A=2\nOPENAI_API_KEY=x\nB=3\n", true}, {"OPENAI_API_KEY=x\n", "A=2\n", true},
		{"PATH='a b'\n", "PATH='a b'\nB=1\n", true},
		{"OPENAI_API_KEY=x\n", "OPENAI_API_KEY=y\n", false}, {"OPENAI_API_KEY=x\n", "OPENAI_API_KEY=x\nOPENAI_API_KEY=x\n", false},
		{"PATH=a\nPATH=b\n", "PATH=b\nPATH=a\n", false}, {"PATH=a\nPATH=b\n", "PATH=a\n", false},
		{"A='\nPATH=x\n'\n", "A='\n'\nPATH=x\n", false}, {"A='\nPATH=x\n'\n", "A=''\nPATH=x\n", false}, {"A=1\nPATH=$A\n", "A=2\nPATH=$A\n", false},
		{"A=$(id)\n", "A=$(id)\nB=1\n", false}, {"A=\\\nPATH=x\n", "A=\nPATH=x\n", false},
	} {
		err := FitsAfter(FormEnv, []byte(c.old), []byte(c.new), nil)
		if (err == nil) != c.fits {
			t.Errorf("%q, then %q: %v", c.old, c.new, err)
		}
		if c.old == "" && (Fits(FormEnv, []byte(c.new), nil) == nil) != c.fits {
			t.Errorf("%q alone: not %v", c.new, c.fits)
		}
	}
	if Fits(FormEnv, make([]byte, maxLook+1), nil) == nil {
		t.Error("a file of any size fits")
	}
}

// FuzzEnv: whatever a simple reader of NAME=VALUE finds, at any kind of line end, is seen.
func FuzzEnv(f *testing.F) {
	for _, s := range []string{"A=1\n", "NODE_OPTIONS=x", "A='\nNODE_OPTIONS=x'", "export\u00a0NODE_OPTIONS=x", "#\u2028PATH=x", "A=1\rPATH=x", "PATH\n=x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if Fits(FormEnv, b, nil) != nil {
			return
		}
		if name := dotenvName.FindSubmatch(b); name != nil {
			t.Errorf("%q sets %q, and fits", b, name[1])
		}
	})
}
