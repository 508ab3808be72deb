package rules

import (
	"context"
	"io"
	"os"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/session"
)

// maxPlayed bounds what a player may answer.
const maxPlayed = 64 << 20

// Play starts the session between two pipes.
func Play(ctx context.Context, c *command.Console, s *session.Session, stdin []byte) (res session.Result, out []byte, err error) {
	var pipes [2][2]*os.File // what goes in, what comes out
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			return res, nil, err
		}
		defer pipes[i][0].Close()
		defer pipes[i][1].Close()
	}
	go func() {
		pipes[0][1].Write(stdin)
		pipes[0][1].Close()
	}()
	read := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(pipes[1][0], maxPlayed))
		io.Copy(io.Discard, pipes[1][0]) // who writes more must not wait for us
		read <- b
	}()
	res, err = s.Start(ctx, [3]*os.File{pipes[0][0], pipes[1][1], c.Err}, session.Talk{
		Before: func(cgroup.Report) error { return ctx.Err() },
		Warn:   c.Warn})
	pipes[1][1].Close()
	return res, <-read, err
}
