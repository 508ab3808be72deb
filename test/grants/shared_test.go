package grants

import "ringfence.dev/ringfence/internal/session/control"

type pending = control.Pending
