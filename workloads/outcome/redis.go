package outcome

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/torture-harness/torture/harness/history"
)

// Redis is the outcome of a command that ended with err, with MaxRetries -1.
//
//	nil                                     ok
//	redis.Nil                               ok: the server's answer was "nothing"
//	an error reply of the server            fail
//	dial refused; no connection of the pool fail: nothing was sent
//	network error, end of a context         info
func Redis(err error) history.Outcome {
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		return history.OK
	case refusedDial(err), errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout):
		return history.Fail
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		return history.Fail
	}
	return history.Info
}
