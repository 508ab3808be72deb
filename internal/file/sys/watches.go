package sys

import "os"

// CloseWatches closes an inotify instance beside the rest of what is to be done. Whoever
// closes one that has watches waits until the kernel has let go of them: 6 to 24 ms, for
// nothing that anybody needs. An end of the process waits for it still.
func CloseWatches(inotify *os.File) { go inotify.Close() }
