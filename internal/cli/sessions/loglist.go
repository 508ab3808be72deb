package sessions

import (
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

type logJSON struct {
	Session string    `json:"session"`
	Name    string    `json:"name,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Dir     plan.Raw  `json:"dir,omitempty"`
	Start   time.Time `json:"start"`
	Last    time.Time `json:"last"`
	Size    int64     `json:"size"`
	Running bool      `json:"running"`
	Chained bool      `json:"chained"`
}

// logList lists the journals there are.
func logList() *command.Command {
	cmd := &command.Command{Name: "log list", Args: "[--json]", Short: "list the sessions that have left a record",
		Long:     "Lists the sessions that have left a record, the newest first.",
		Examples: []string{"ringfence log list"}}
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		dirs, err := c.Dirs()
		if err != nil {
			return 2, err
		}
		list, err := journal.List(dirs.Journal())
		if err != nil {
			return 2, err
		}
		if *asJSON {
			rows := []logJSON{}
			for _, i := range list {
				rows = append(rows, logJSON{i.Session, i.Name, i.Agent, plan.Raw(i.Dir), i.Start, i.Mod, i.Size, i.Running, i.Chained})
			}
			return 0, c.JSONLine(rows)
		}
		if len(list) == 0 {
			c.Say("no session has left a record yet")
			return 0, nil
		}
		var rows [][]string
		for _, i := range list {
			state := ""
			switch {
			case i.Running:
				state = "running"
			case !i.Chained:
				state = "not chained"
			}
			rows = append(rows, []string{i.Session, i.Name, i.Start.Local().Format("2006-01-02 15:04"), plan.Size(i.Size), i.Agent, state, plan.Show(i.Dir)})
		}
		return 0, c.Table([]string{"SESSION", "NAME", "BEGAN", "SIZE", "AGENT", "STATE", "DIRECTORY"}, rows)
	}
	return cmd
}

// sessionsNamed finds the ids of sessions that are named in any way. One that has
// left nothing is taken by its id: whether it should have is for the register to say.
func sessionsNamed(dir string, names []string) ([]string, error) {
	var ids []string
	for _, name := range names {
		info, err := journal.Find(dir, name)
		if err == nil {
			ids = append(ids, info.Session)
			continue
		}
		if !journal.IsSession(name) || fault.KindOf(err) == fault.Usage {
			return nil, err
		}
		ids = append(ids, name)
	}
	return ids, nil
}
