package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// errLocked is what one who does not want to wait is told.
var errLocked = errors.New("another process renews it")

// poll is how often a lock is asked for: flock cannot be waited for with a limit.
const poll = 25 * time.Millisecond

// lock keeps every other process, and every other caller in this one, from renewing
// the same file. It ends with the process that holds it.
func (l *Login) lock(ctx context.Context, once bool) (release func(), err error) {
	select {
	case l.busy <- struct{}{}:
	default:
		if once {
			return nil, errLocked
		}
		select {
		case l.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", errLocked, ctx.Err())
		}
	}
	if err := os.MkdirAll(l.c.State, 0o700); err != nil {
		<-l.busy
		return nil, err
	}
	path := filepath.Join(l.c.State, string(l.c.Agent)+"-"+fingerprint(l.c.Path)[:16]+".lock")
	f, err := lockFile(ctx, path, once)
	if err != nil {
		<-l.busy
		return nil, err
	}
	return func() {
		f.Close()
		<-l.busy
	}, nil
}

// lockFile takes a flock on a file that is made when missing and never removed.
func lockFile(ctx context.Context, path string, once bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := file.Lock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || once {
			f.Close()
			return nil, fmt.Errorf("%w: %w", errLocked, err)
		}
		if err := pause(ctx, poll); err != nil {
			f.Close()
			return nil, fmt.Errorf("%w: %w", errLocked, err)
		}
	}
}

const (
	touch     = 3 * time.Second
	abandoned = 10 * time.Second // so the client counts it too
)

// lockAsking keeps the client from renewing, if it can be kept from it. The locks are
// taken in its own order; one that cannot be made is left out, as the client does.
func (l *Login) lockAsking(ctx context.Context) (release func(), err error) {
	var held []func()
	release = func() {
		for i := len(held) - 1; i >= 0; i-- {
			held[i]()
		}
	}
	if l.format.asking == nil {
		return release, nil
	}
	for _, dir := range l.format.asking(l.c.Path) {
		free, err := lockDir(ctx, dir)
		switch {
		case err == nil:
			held = append(held, free)
		case ctx.Err() != nil:
			release()
			return nil, fmt.Errorf("wait for the lock of %s: %w", l.c.Agent, err)
		}
	}
	return release, nil
}

// lockSaving keeps the client from writing. What was issued has to be written, so
// this waits a while even when the caller no longer does. A lock file made by root
// belongs to whom the directory belongs to, so that the client can open it.
func (l *Login) lockSaving(ctx context.Context) (release func(), err error) {
	if l.format.saving == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	path := l.format.saving(l.c.Path)
	f, err := lockFile(ctx, path, false)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if os.Geteuid() == 0 && unix.Stat(filepath.Dir(path), &st) == nil {
		f.Chown(int(st.Uid), int(st.Gid))
	}
	return func() { f.Close() }, nil
}

// lockDir makes a directory and keeps its time new until it is released.
func lockDir(ctx context.Context, path string) (release func(), err error) {
	for {
		err := os.Mkdir(path, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		if fi, err := os.Lstat(path); err == nil && time.Since(fi.ModTime()) > abandoned {
			if err := unix.Rmdir(path); err != nil && !errors.Is(err, unix.ENOENT) {
				return nil, err
			}
			continue
		}
		if err := pause(ctx, 4*poll); err != nil {
			return nil, err
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(touch)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				os.Chtimes(path, now, now)
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		unix.Rmdir(path)
	}, nil
}

// pause waits, and ends with ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
