// Package link carries everything between a supervisor and a far end over one stream
// of bytes: a pipe, a socket, a serial line of a guest, the standard streams of ssh.
// It is the transport and its messages, and decides nothing.
//
// The near end is the supervisor. The far end is hostile: whoever took over the
// machine where the agent runs can send any bytes. So the near end reads strictly. Whatever an
// honest far end would never send ends the link, with a [Violation] that names it, and
// the end of the link is the end of every stream on it.
//
// # Frames
//
// Each side begins with eight bytes that name its role and the version. Then there are
// frames, of 64 KiB at most: one byte for the type, one that is zero, two for the length
// of the body, four for the number of the stream, and the body. Numbers are big-endian
// and have one form. The near end numbers its streams 1, 3, 5 and so on, the far end
// 2, 4, 6: each the next one, and none twice.
//
// On each stream each side sends open (if it begins it), then data and credit in any order, then
// fin (no more data), then one last frame: done if fin went both ways, else reset.
// Credit may still follow fin. A side forgets a stream when it has sent and received the
// last frame, so a frame for a stream that it does not know is never a late one.
//
// # Bounds
//
// At most [MaxStreams] are open, and [MaxConns] of them by the far end: there is always room
// for the supervisor's. One more is refused with a reset.
//
// A receiver gives credit only for what was read. A reader that stalls fills its own
// window and nothing else. Windows begin at [Window] and double where the reader keeps
// up, to [MaxWindow]; the growth of all of them together is bounded by [Growth]. No
// length that the peer claims is allocated: frames are read into one fixed buffer, and
// a stream holds only bytes that came. A link holds at most [MaxMemory].
//
// # What is left at risk
//
// A far end can be silent: only the near end's pings (Options.Alive) end such a link. It
// can give no credit: a Write then waits for as long as its deadline says. It can open
// and reset streams without end, which costs the near end time and no memory. It can
// refuse, delay or forge everything that it reports: the link carries its word, and does
// not make it true.
package link
