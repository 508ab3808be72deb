package sessions

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
)

// logExport writes a journal for others.
func logExport() *command.Command {
	cmd := &command.Command{Name: "log export", Args: "[SESSION] [flags]", Short: "write a record for other programs, or for other people",
		Long:     "Writes the record of a session to a file or to standard output. Nothing is sent\nanywhere. Without SESSION the newest.",
		Examples: []string{"ringfence log export demo --redact -o demo.jsonl", "ringfence log export --format otlp"},
		Takes:    command.Many}
	f := &cmd.Flags
	format := f.String("format", "jsonl", "`FORM`: jsonl, the lines as they are; or otlp, OTLP logs in JSON")
	redact := f.Bool("redact", false, "replace paths, hosts, users and the names of secrets by pseudonyms; the result cannot be verified")
	to := f.String("o", "", "write to `FILE`")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if len(args) > 1 || *format != "jsonl" && *format != "otlp" {
			return 2, fault.New(fault.Usage, "run `ringfence log export --help`", "log export takes one session, and --format jsonl or otlp")
		}
		dirs, err := c.Dirs()
		if err != nil {
			return 2, err
		}
		info, err := journal.Find(dirs.Journal(), strings.Join(args, ""))
		if err != nil {
			return 1, err
		}
		e := &export{dir: dirs.Journal(), about: journal.Exported{Session: info.Session, Version: command.VersionText(), Redacted: *redact}, otlp: *format == "otlp"}
		if *redact {
			e.redactor = redactor(c)
		}
		bad := 0
		write := func(w io.Writer) (err error) { bad, err = e.write(w); return err }
		if *to == "" {
			err = write(c.Out)
		} else {
			err = file.ReplaceWith(*to, 0o600, func(f *os.File) error { return write(f) })
		}
		if err != nil {
			return 2, err
		}
		if bad > 0 {
			c.Say("warning: %s left out: ringfence log verify %s", fmt.Sprintf("%d line%s no record%s, and %s", bad, command.Plural(bad, " is", "s are"), command.Plural(bad, "", "s"), command.Plural(bad, "was", "were")), info.Session)
			return 1, nil
		}
		return 0, nil
	}
	return cmd
}

// redactor knows what to hide on this machine. Hosts that ringfence's own groups name
// are everybody's; what only lies below one of them is not, it may be a tenant's.
func redactor(c *command.Console) *journal.Redactor {
	public := map[string]bool{}
	for _, g := range policy.Groups() {
		for _, h := range g.Hosts {
			public[h] = true
		}
	}
	host, _ := os.Hostname()
	home := c.Getenv("HOME")
	return journal.NewRedactor(home, []string{c.Getenv("USER"), c.Getenv("LOGNAME"), filepath.Base(home), host}, func(name string) bool { return public[name] })
}

// export is one export.
type export struct {
	dir      string
	about    journal.Exported
	otlp     bool
	redactor *journal.Redactor // nil: as it is
}

// each reads the journal, and returns how many lines are no records.
func (e *export) each(visit func(journal.Record) error) (bad int, err error) {
	r, err := journal.Open(e.dir, e.about.Session)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for rec, err := range r.All() {
		var line *journal.BadLine
		if errors.As(err, &line) {
			bad++
			continue
		}
		if e.redactor != nil {
			rec = e.redactor.Record(rec)
		}
		if err == nil {
			err = visit(rec)
		}
		if err != nil {
			return bad, err
		}
	}
	return bad, nil
}

func (e *export) write(to io.Writer) (bad int, err error) {
	// A session that runs may write more meanwhile: what is counted is what is written.
	count := 0
	if _, err := e.each(func(journal.Record) error { count++; return nil }); err != nil {
		return 0, err
	}
	e.about.Records = count
	w := bufio.NewWriter(to)
	put := func(r journal.Record) error { _, err := w.Write(append(r.AppendJSON(nil), '\n')); return err }
	flush := func() error { return nil }
	switch {
	case e.otlp:
		o := journal.NewOTLP(w, e.about)
		put, flush = o.Write, o.Flush
	case e.redactor != nil:
		line, err := json.Marshal(map[string]any{"export": "redacted", "session": e.about.Session, "records": count, "verifiable": false, "ringfence": e.about.Version})
		if err != nil {
			return 0, err
		}
		w.Write(append(line, '\n'))
	}
	left := count
	bad, err = e.each(func(r journal.Record) error {
		if left--; left < 0 {
			return nil
		}
		return put(r)
	})
	return bad, errors.Join(err, flush(), w.Flush())
}
