package stage

import (
	"os"
	"os/signal"
	"syscall"
)

// heedKeys lets what the tests start heed Ctrl-C and Ctrl-\ as if a person had started
// it. A shell that runs the tests in the background has them ignored, which every program
// inherits that is started by who ignores them.
func heedKeys() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
