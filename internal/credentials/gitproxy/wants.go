package gitproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/git/object"
)

// wish is what is asked of the server: these objects, without what those have.
// Nothing else comes with them: no trees with a commit, nothing below a tree.
type wish struct {
	want, have []object.ID
	alone      bool // commits without their parents
}

// maxAnswer bounds what the server may send for a wish.
const maxAnswer = 256 << 20

func (r *remote) args(w wish) ([]string, error) {
	args := []string{"no-progress", "ofs-delta"}
	if slices.Contains(r.features, "filter") { // without it more comes than is needed
		args = append(args, "filter tree:0")
	}
	if w.alone {
		if !slices.Contains(r.features, "shallow") {
			return nil, errors.New("the server does not give out commits without their parents")
		}
		args = append(args, "deepen 1")
	}
	for _, id := range w.want {
		args = append(args, "want "+id.String())
	}
	for _, id := range w.have {
		args = append(args, "have "+id.String())
	}
	return args, nil
}

// fetch returns the pack that answers a wish.
func (r *remote) fetch(ctx context.Context, w wish) (io.ReadCloser, error) {
	args, err := r.args(w)
	if err != nil {
		return nil, err
	}
	resp, err := r.command(ctx, "fetch", append(args, "done"))
	if err != nil {
		return nil, err
	}
	pr := newPacketReader(resp.Body)
	for range 1_000_000 { // the sections before the pack are not for us
		line, err := answerLine(pr)
		if err != nil {
			resp.Body.Close()
			return nil, fmt.Errorf("fetch: %w", err)
		}
		if line == "packfile" {
			return &band{pr: pr, Closer: resp.Body}, nil
		}
	}
	resp.Body.Close()
	return nil, errors.New("the server's answer has no pack")
}

// band reads the first side band: the pack.
type band struct {
	pr *packetReader
	io.Closer
	rest []byte
}

func (b *band) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		kind, data, err := b.pr.Next()
		switch {
		case err == io.EOF:
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		case kind != packetData:
			return 0, io.EOF
		case data[0] == 1:
			b.rest = data[1:]
		case data[0] == 3:
			return 0, fmt.Errorf("the server says: %s", clean(string(data[1:])))
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// none reports whether the answer to a wish is an empty pack: all that is wanted
// is reached from what is had.
func (r *remote) none(ctx context.Context, w wish) (bool, error) {
	answer, err := r.fetch(ctx, w)
	if err != nil {
		return false, err
	}
	defer answer.Close()
	var head [12]byte
	if _, err := io.ReadFull(answer, head[:]); err != nil {
		return false, fmt.Errorf("fetch: %w", err)
	}
	n, err := object.PackCount(head[:])
	return n == 0, err
}

// objects visits the objects that answer a wish.
func (r *remote) objects(ctx context.Context, w wish, visit object.Visit) error {
	answer, err := r.fetch(ctx, w)
	if err != nil {
		return err
	}
	defer answer.Close()
	file, err := newSpool(r.f.Spool, answer, maxAnswer)
	if err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	defer file.Close()
	if _, err := object.ReadPack(ctx, file, file.size, object.UsualLimits(), visit); err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	return nil
}

// common returns which of the given commits the server has. That it has them does
// not say that one of its branches does.
func (r *remote) common(ctx context.Context, want object.ID, have []object.ID) ([]object.ID, error) {
	args, err := r.args(wish{want: []object.ID{want}, have: have})
	if err != nil {
		return nil, err
	}
	if slices.Contains(r.features, "wait-for-done") {
		args = append(args, "wait-for-done")
	}
	resp, err := r.command(ctx, "fetch", args)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var out []object.ID
	for pr := newPacketReader(resp.Body); ; {
		line, err := answerLine(pr)
		if err != nil {
			return nil, fmt.Errorf("fetch: %w", err)
		}
		if line == "" {
			return out, nil
		}
		if name, ok := strings.CutPrefix(line, "ACK "); ok {
			id, err := object.ParseSHA1(name)
			if err != nil {
				return nil, fmt.Errorf("fetch: %w", err)
			}
			out = append(out, id)
		}
	}
}
