// Package shell reads command lines as a POSIX shell or bash would, without running
// anything: quotes, escapes, expansions, substitutions, here-documents, pipelines and
// compound commands become a tree. It knows nothing of what commands do.
//
// # What is left at risk
//
//   - It reads what is written. What a variable of the environment, a file or a
//     program holds is not known here, and neither are aliases and functions that a
//     shell has from its start-up files.
//   - Where shells differ it follows bash. zsh has expansions that are read as plain
//     text here.
//   - Bounded in length, depth and words: what goes beyond is an error, and whoever
//     asks has to decide without a tree.
package shell

// List is commands in the order they are written.
type List []Item

// Item is a pipeline, and whether the shell waits for it.
type Item struct {
	Pipe       []Command
	Background bool
}

// Command is a simple command, or a compound one if Body is set.
type Command struct {
	Assign []Assign
	Words  []Word
	Redirs []Redir
	Body   *Compound
}

// Kind tells compound commands apart, as far as it matters to a reader.
type Kind int

const (
	Group    Kind = iota // { }, if, while, until: lists that may run
	Subshell             // ( ): what is set in there stays in there
	For                  // for and select: Lists[0] with Name set to each of Words
	Func                 // Lists[0] is what Name does
	Case                 // Words[0] is compared with Words[1:]; Lists are what may follow
	Test                 // [[ ]] and (( )): Words are only looked at
)

// Compound is a command made of commands.
type Compound struct {
	Kind   Kind
	Name   string
	Words  []Word
	Lists  []List
	InArgs bool // a for without "in": it goes over the arguments
}

// Assign is NAME=VALUE, NAME+=VALUE or NAME=(VALUES).
type Assign struct {
	Name   string
	Append bool
	Array  bool
	Values []Word // one, if it is no array
}

// Redir is a redirection. Doc is the text of a here-document.
type Redir struct {
	FD     string // as written; "" if the operator's own
	Op     string // < > >> >| <> << <<- <<< <& >& &> &>>
	Target Word
	Doc    Word
}

// Word is what lies between blanks.
type Word []Part

// PartKind tells the pieces of a word apart.
type PartKind int

const (
	Text    PartKind = iota // as it is
	Var                     // $NAME, ${NAME…}
	Cmd                     // $(…) and `…`
	ProcIn                  // <(…)
	ProcOut                 // >(…)
	Arith                   // $((…)): Arg holds what is inside
	Doc                     // the text of a here-document, in Arg
)

// Part is a piece of a word. What is not quoted is split and globbed by the shell.
type Part struct {
	Kind   PartKind
	Quoted bool
	Text   string // of Text, and the name of Var
	List   List   // of Cmd, ProcIn and ProcOut
	Param  *Param // of Var in braces
	Arg    Word   // of Arith and Doc
}

// Param is what stands in ${…} besides the name.
type Param struct {
	Length, Indirect bool
	Index            string // "@", "*", or as written; "" if there is none
	Op               string // :- - := = :+ + :? ? # ## % %% / // /# /% : ^ ^^ , ,, @
	Arg, Arg2        Word
}

// Plain returns the text of a word that is nothing but text.
func (w Word) Plain() (string, bool) {
	s := ""
	for _, p := range w {
		if p.Kind != Text {
			return "", false
		}
		s += p.Text
	}
	return s, true
}

// bare returns the text of a word in which nothing is quoted: only such a word can
// be a reserved one.
func (w Word) bare() string {
	if len(w) == 1 && w[0].Kind == Text && !w[0].Quoted {
		return w[0].Text
	}
	return ""
}
