package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/torture-harness/torture/workloads/point"
)

// FenceMemory keeps the numbers in the memory of a process before the table
// (see Keeper), which compares and raises them before the row is written by id
// alone. What that process forgets when it ends counts as 0.
type FenceMemory struct {
	Plain
	addr string
}

// NewFenceMemory asks the keeper at an address, host:port.
func NewFenceMemory(addr string) (FenceMemory, error) {
	if addr == "" {
		return FenceMemory{}, errors.New("the guard fence-memory needs a process that keeps the numbers, and there is none")
	}
	return FenceMemory{addr: addr}, nil
}

// Write raises the number and replaces the document.
func (f FenceMemory) Write(ctx context.Context, q Queryer, u Update) error {
	last, err := f.raise(ctx, u.ID, u.Token)
	if err != nil {
		return fmt.Errorf("%w: the number could not be compared: %v", ErrRolledBack, err)
	}
	if last >= u.Token {
		return ErrRejected
	}
	point.Reach(ctx, point.Between)
	return write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 RETURNING id`, u, u.ID)
}

// Last is the number of a row as the keeper has it, 0 if it has none.
func (f FenceMemory) Last(ctx context.Context, id int64) (int64, error) { return f.raise(ctx, id, 0) }

func (f FenceMemory) raise(ctx context.Context, id, token int64) (last int64, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", f.addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := fmt.Fprintf(conn, "%d %d\n", id, token); err != nil {
		return 0, err
	}
	_, err = fmt.Fscanf(bufio.NewReader(conn), "%d\n", &last)
	return last, err
}

// Keeper keeps the highest number of each row, in memory and nowhere else.
type Keeper struct {
	mu   sync.Mutex
	last map[int64]int64
}

// Serve answers until the listener is closed: "id token" on a line asks for the
// row's number, which is answered on a line, and is the token from then on if
// that is higher.
func (k *Keeper) Serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go k.answer(conn)
		}
	}
}

func (k *Keeper) answer(conn net.Conn) {
	defer conn.Close()
	var id, token int64
	if _, err := fmt.Fscanf(bufio.NewReader(conn), "%d %d\n", &id, &token); err == nil {
		fmt.Fprintf(conn, "%d\n", k.raise(id, token))
	}
}

func (k *Keeper) raise(id, token int64) (last int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last = k.last[id]
	if token > last {
		if k.last == nil {
			k.last = map[int64]int64{}
		}
		k.last[id] = token
	}
	return last
}
